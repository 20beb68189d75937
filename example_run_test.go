package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
)

// one returns the pipeline of a policy with one step.
func one(step string, options ...sluice.Option) *sluice.Pipeline {
	set, err := sluice.Parse("policy.yaml", []byte("version: 1\npolicies: {p: {steps: ["+step+"]}}\n"), options...)
	if err != nil {
		panic(err)
	}
	return set.Pipeline("p")
}

// Run is Do for a function that returns no more than an error.
func ExampleRun() {
	p := one("limit: 1/1h")
	send := func(context.Context) error { fmt.Println("sent"); return nil }
	fmt.Println(sluice.Run(context.Background(), p, send))
	fmt.Println(errors.Is(sluice.Run(context.Background(), p, send), sluice.ErrRejected))
	// Output:
	// sent
	// <nil>
	// true
}

// A request has settings that hold for its own call.
func ExampleRunWith() {
	p := one("retry: {attempts: 5, backoff: {constant: 1ms}}")
	q := sluice.Request{Attempts: 2, Timeout: time.Minute}
	err := sluice.RunWith(context.Background(), p, q, func(context.Context) error { return errors.New("busy") })
	fmt.Println(err)
	// Output: sluice: p.retry: gave up after 2 attempts (attempts): busy
}

// The function of an attempt reads which one it is, and why the one before failed.
func ExampleAttemptInfoOf() {
	p := one("retry: {attempts: 3, backoff: {constant: 1ms}}", sluice.WithAttemptInfo())
	name, err := sluice.Do(context.Background(), p, func(ctx context.Context) (string, error) {
		info, _ := sluice.AttemptInfoOf(ctx)
		if info.Number == 1 {
			return "", errors.New("the first replica is down")
		}
		return fmt.Sprintf("replica %d, because %v", info.Number, info.LastError), nil
	})
	fmt.Println(name, err)
	// Output: replica 2, because the first replica is down <nil>
}
