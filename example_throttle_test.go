package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
)

// The dependency says when to come back: the next attempt waits for it, where the deadline
// allows that.
func ExampleThrottle() {
	set, err := sluice.Parse("policy.yaml", []byte(`{version: 1, policies: {vendor: {steps: [{timeout: 10s}, {retry: {attempts: 3, backoff: none}}]}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, wait := range []time.Duration{time.Nanosecond, time.Minute} {
		attempts := 0
		_, err = sluice.Do(context.Background(), set.Pipeline("vendor"), func(context.Context) (int, error) {
			if attempts++; attempts == 1 {
				return 0, sluice.Throttle(errors.New("429 Too Many Requests"), wait)
			}
			return 42, nil
		})
		fmt.Println("again in", wait, "takes", attempts, "attempts:", err)
	}
	// Output:
	// again in 1ns takes 2 attempts: <nil>
	// again in 1m0s takes 1 attempts: sluice: vendor.retry: gave up after 1 attempt (deadline): 429 Too Many Requests
}
