package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sluice-go/sluice"
)

// What is part of the program is made without an error to look at.
func ExampleMust() {
	limit := sluice.Must(sluice.NewLimiter(sluice.LimiterConfig{Count: 10, Period: time.Second, Burst: 1}))
	fmt.Println(limit.Allow(), limit.Allow())
	defer func() { fmt.Println(recover()) }()
	sluice.Must(sluice.NewLimiter(sluice.LimiterConfig{Count: 10, Period: -time.Second}))
	// Output:
	// true false
	// rate.period: found -1s; allowed more than 0
}

// A policy of mechanisms that need no names of their own, outermost first.
func ExamplePolicyOf() {
	prices := sluice.Must(sluice.New(sluice.PolicyOf("prices",
		sluice.RetryConfig{Attempts: 3, Backoff: sluice.Exponential(time.Millisecond, 10*time.Millisecond)},
		sluice.BreakerConfig{},
		sluice.TimeoutConfig{After: time.Second},
	)))
	attempts := 0
	fmt.Println(sluice.Do(context.Background(), prices, func(context.Context) (int, error) {
		if attempts++; attempts < 3 {
			return 0, errors.New("busy")
		}
		return 42, nil
	}))
	for _, s := range prices.State() {
		fmt.Println(s.Step, s.Mode)
	}
	// Output:
	// 42 <nil>
	// breaker closed
}

// Errors that are not named are no failures: the call returns them as they are.
func ExampleRetryOn() {
	r := sluice.Must(sluice.NewRetry(sluice.RetryConfig{Attempts: 3, Backoff: sluice.Constant(time.Millisecond)}, sluice.RetryOn(io.ErrUnexpectedEOF)))
	for _, failure := range []error{io.ErrUnexpectedEOF, io.EOF} {
		attempts := 0
		err := r.Do(context.Background(), func(context.Context) error { attempts++; return failure })
		fmt.Println(attempts, err, err == failure)
	}
	// Output:
	// 3 sluice: retry: gave up after 3 attempts (attempts): unexpected EOF false
	// 1 EOF true
}

// Errors that no attempt mends are named.
func ExampleAbortOn() {
	r := sluice.Must(sluice.NewRetry(sluice.RetryConfig{Attempts: 3, Backoff: sluice.Constant(time.Millisecond)}, sluice.AbortOn(errNoRows)))
	attempts := 0
	err := r.Do(context.Background(), func(context.Context) error { attempts++; return fmt.Errorf("user 7: %w", errNoRows) })
	fmt.Println(attempts, err)
	// Output: 1 user 7: no rows
}

// The errors of earlier attempts are in the error of a retry that gave up.
func ExampleRetryError() {
	r := sluice.Must(sluice.NewRetry(sluice.RetryConfig{Attempts: 2, Backoff: sluice.Constant(time.Millisecond)}))
	failures := []error{io.ErrUnexpectedEOF, errors.New("busy")}
	err := r.Do(context.Background(), func(context.Context) error {
		next := failures[0]
		failures = failures[1:]
		return next
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, io.ErrUnexpectedEOF))
	// Output:
	// sluice: retry: gave up after 2 attempts (attempts): busy
	// true
}

// A marked error has the text of the error itself, and a type by which its mark is read.
func ExampleOutcomeError() {
	r := sluice.Must(sluice.NewRetry(sluice.RetryConfig{Attempts: 3}))
	err := r.Do(context.Background(), func(context.Context) error { return sluice.Ignore(errNoRows) })
	var marked *sluice.OutcomeError
	fmt.Println(err, errors.As(err, &marked), marked.Err == errNoRows, marked.Result)
	// Output: no rows true true ignore
}

// The second replica answers before the first one.
func ExampleHedge() {
	h := sluice.Must(sluice.NewHedge(sluice.HedgeConfig{After: time.Millisecond}))
	fmt.Println(sluice.Hedge(context.Background(), h, func(ctx context.Context) (string, error) {
		if number, _, _ := sluice.AttemptOf(ctx); number > 1 {
			return fmt.Sprint("replica ", number), nil
		}
		<-ctx.Done() // the first replica does not answer
		return "", ctx.Err()
	}))
	// Output: replica 2 <nil>
}

// A factor is a number with a fraction.
func ExampleFactorOf() {
	backoff := sluice.Exponential(100*time.Millisecond, time.Second)
	backoff.Factor = sluice.FactorOf(1.5)
	fmt.Println(backoff.Factor)
	backoff.Factor = sluice.FactorOf(0.5)
	_, err := sluice.NewRetry(sluice.RetryConfig{Backoff: backoff})
	fmt.Println(err)
	// Output:
	// 1.5
	// backoff.factor: found 500000; allowed 1000000 to 1000000000 millionths, so that 2000000 doubles the delay
}
