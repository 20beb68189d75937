// Command failsafe has one limiter of failsafe-go, for its size.
package main

import (
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
)

func main() {
	println(ratelimiter.NewBursty[any](100, time.Second).TryAcquirePermit())
}
