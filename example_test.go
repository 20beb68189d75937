package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// A policy document and a call under one of its policies.
func Example() {
	set, err := sluice.Parse("policy.yaml", []byte(`
version: 1
policies:
  vendor:
    steps:
      - timeout: 30s
      - retry: {attempts: 3, backoff: {exponential: 1ms}}
      - breaker: {window: {calls: 100}, open: 30s}
      - limit: {rate: 50/1s, burst: 10}
      - timeout: 10s
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	attempts := 0
	price, err := sluice.Do(context.Background(), set.Pipeline("vendor"), func(ctx context.Context) (int, error) {
		if attempts++; attempts == 1 {
			return 0, errors.New("connection reset")
		}
		return 42, nil
	})
	fmt.Println(price, err, "after", attempts, "attempts")
	// Output: 42 <nil> after 2 attempts
}

func ExampleNew() {
	p, err := sluice.New(sluice.PolicyOf("vendor",
		sluice.TimeoutConfig{After: time.Second},
		sluice.LimiterConfig{Count: 1, Period: time.Minute},
		sluice.BulkheadConfig{Concurrent: 5},
	))
	if err != nil {
		fmt.Println(err)
		return
	}
	hello := func(context.Context) (string, error) { return "hello", nil }
	fmt.Println(sluice.Do(context.Background(), p, hello))
	_, err = sluice.Do(context.Background(), p, hello)
	var rejected *sluice.RejectedError
	if errors.As(err, &rejected) {
		fmt.Println(rejected.Step, rejected.Reason, rejected.RetryAfter.Round(time.Minute))
	}
	// Output:
	// hello <nil>
	// limit rate 1m0s
}

func ExampleLimiter() {
	l, err := sluice.NewLimiter(sluice.LimiterConfig{Count: 100, Period: time.Hour, Burst: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.Allow(), l.Allow(), l.Allow())
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	var rejected *sluice.RejectedError
	if errors.As(l.Wait(ctx), &rejected) {
		fmt.Println(rejected.Reason) // the turn comes after the deadline, so the call does not wait
	}
	// Output:
	// true true false
	// deadline
}

func ExampleKeyedLimiter() {
	l, err := sluice.NewKeyedLimiter(sluice.LimiterConfig{Count: 1, Period: time.Hour}, sluice.WithMaxKeys(1_000_000))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.Allow("ann"), l.Allow("ann"), l.Allow("ben"), l.Len())
	// Output: true false true 2
}

func ExampleBreaker() {
	b, err := sluice.NewBreaker(sluice.BreakerConfig{Window: sluice.WindowConsecutive, Count: 2, Probes: 1,
		Open: sluice.Constant(time.Minute)})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := func() error {
		return b.Do(context.Background(), func(context.Context) error { return errors.New("no route to host") })
	}
	fmt.Println(call(), b.Mode())
	fmt.Println(call(), b.Mode())
	var rejected *sluice.RejectedError
	if errors.As(call(), &rejected) {
		fmt.Println("not called:", rejected.Reason, "for another", rejected.RetryAfter.Round(time.Minute))
	}
	// Output:
	// no route to host closed
	// no route to host open
	// not called: open for another 1m0s
}

func ExampleRetry() {
	r, err := sluice.NewRetry(sluice.RetryConfig{Attempts: 3, Backoff: sluice.Constant(time.Millisecond)})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = sluice.Retry(context.Background(), r, func(context.Context) (int, error) { return 0, errors.New("busy") })
	fmt.Println(err)
	_, err = sluice.Retry(context.Background(), r, func(context.Context) (int, error) {
		return 0, sluice.Ignore(errors.New("no such user"))
	})
	fmt.Println(err)
	// Output:
	// sluice: retry: gave up after 3 attempts (attempts): busy
	// no such user
}

func ExampleBulkhead() {
	b, err := sluice.NewBulkhead(sluice.BulkheadConfig{Concurrent: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	place, free := b.TryAcquire()
	fmt.Println(free)
	_, err = b.Acquire(context.Background())
	fmt.Println(err)
	fmt.Println(place.Release(), place.Release())
	// Output:
	// true
	// sluice: bulkhead: rejected: full
	// true false
}

// Each tenant has a limit of its own; the size of a request is its cost.
func ExampleDoWith() {
	set, err := sluice.Parse("policy.yaml", []byte(`{version: 1, policies: {api: {steps: [{limit: {rate: 10/1h, per: key}}]}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range []sluice.Request{{Key: "ann", Cost: 8}, {Key: "ann", Cost: 8}, {Key: "ben", Cost: 8}} {
		_, err := sluice.DoWith(context.Background(), set.Pipeline("api"), q, func(context.Context) (int, error) { return 0, nil })
		fmt.Println(q.Key, errors.Is(err, sluice.ErrRejected))
	}
	// Output:
	// ann false
	// ann true
	// ben false
}

// Events are the lines of the decision log; metrics are counted from them.
func ExamplePipeline_Listen() {
	set, err := sluice.Parse("policy.yaml", []byte(`{version: 1, policies: {api: {steps: [{limit: 1/1h}]}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p := set.Pipeline("api")
	var m sluice.Metrics
	defer p.Listen(m.Observe)()
	stop := p.Listen(func(e sluice.Event) { fmt.Println("attempt", e.Attempt, e.Kind) })
	for range 2 {
		// The listener gets what became of them.
		_, _ = sluice.Do(context.Background(), p, func(context.Context) (int, error) { return 0, nil })
	}
	stop()
	for key, n := range m.Snapshot().Decisions {
		if key.Reason == reducer.ReasonRate {
			fmt.Println(n, "refused by", key.Step)
		}
	}
	// Output:
	// attempt 1 admit
	// attempt 1 end
	// attempt 0 reject
	// 1 refused by limit
}

// A trace in memory keeps the latest calls. `sluice explain` says why one was refused.
func ExamplePipeline_Trace() {
	set, err := sluice.Parse("policy.yaml", []byte(`{"version": 1, "policies": {"search": {"steps": [{"limit": "1/1h"}]}}}`), sluice.WithClock(&clock.Virtual{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	search := set.Pipeline("search")
	trace, err := search.Trace(sluice.TraceOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		_, _ = sluice.Do(context.Background(), search, func(context.Context) (int, error) { return 1, nil })
	}
	if err := trace.Stop(); err != nil {
		fmt.Println(err)
	}
	var out strings.Builder
	if _, err := trace.WriteTo(&out); err != nil {
		fmt.Println(err)
	}
	_, lines, _ := strings.Cut(out.String(), "\n") // behind the header
	fmt.Print(lines)
	// Output:
	// {"at":"0s","op":"call","id":1}
	// {"at":"0s","id":1,"decision":"admit","attempt":1}
	// {"at":"0s","op":"done","id":1,"outcome":"ok"}
	// {"at":"0s","id":1,"decision":"end","outcome":"ok","attempt":1}
	// {"at":"0s","op":"call","id":2}
	// {"at":"0s","id":2,"decision":"reject","step":"limit","reason":"rate","retry_after":"1h0m0s"}
	// {"trace":1,"end":"0s","calls":2,"lines":6,"lost_calls":0,"lost_lines":0}
}
