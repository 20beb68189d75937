// Command core has one cell of a limiter, for its size.
package main

import (
	"time"

	"github.com/sluice-go/sluice/core/limiter"
)

func main() {
	maker, err := limiter.Cells(limiter.Config{Count: 100, Period: time.Second})
	if err != nil {
		panic(err)
	}
	println(maker.New(0) != nil)
}
