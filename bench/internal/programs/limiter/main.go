// Command limiter has one limiter, for its size.
package main

import (
	"time"

	"github.com/sluice-go/sluice"
)

func main() {
	l, err := sluice.NewLimiter(sluice.LimiterConfig{Count: 100, Period: time.Second})
	if err != nil {
		panic(err)
	}
	println(l.Allow())
}
