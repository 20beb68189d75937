package sluice_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-go/sluice"
)

// Fallbacks are tried in order: by a target, by a type of error, and for all else.
func ExampleOrElse() {
	ctx := context.Background()
	price, err := sluice.Do(ctx, one("bulkhead: 1"), func(context.Context) (int, error) { return 0, errors.New("no stock") })
	price, err = sluice.OrElse(ctx, price, err,
		sluice.FallbackOn(sluice.ErrRejected, func(context.Context, error) (int, error) { return 41, nil }), // from a cache
		sluice.FallbackAs(func(_ context.Context, e *sluice.TimeoutError) (int, error) { return 40, nil }),
		sluice.FallbackTo(-1),
	)
	fmt.Println(price, err)
	// Output: -1 <nil>
}

// A function with its fallbacks has the same signature.
func ExampleWrapFallback() {
	greet := sluice.Wrap(one("limit: 1/1h"), func(context.Context) (string, error) { return "hello", nil })
	greet = sluice.WrapFallback(greet, sluice.FallbackTo("later"))
	fmt.Println(greet(context.Background()))
	fmt.Println(greet(context.Background()))
	// Output:
	// hello <nil>
	// later <nil>
}

// The fallback of a policy is an HTTP answer; FallbackOf makes a value of it.
func ExampleFallbackOf() {
	set, err := sluice.Parse("policy.yaml", []byte(`{"version": 1, "policies": {"p": {"steps": [{"limit": "1/1h"}], "fallback": {"body": "try later"}}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p := set.Pipeline("p")
	greet := sluice.WrapFallback(
		sluice.Wrap(p, func(context.Context) (string, error) { return "hello", nil }),
		sluice.FallbackOf(p, func(c sluice.FallbackConfig) (string, error) { return c.Body, nil }),
	)
	fmt.Println(greet(context.Background()))
	fmt.Println(greet(context.Background()))
	// Output:
	// hello <nil>
	// try later <nil>
}

// The result of a call becomes the caller's own.
func ExampleMapResult() {
	read := sluice.MapResult(sluice.Wrap(one("limit: 1/1h"), func(context.Context) (int, error) { return 42, nil }),
		func(n int, err error) (string, error) {
			if errors.Is(err, sluice.ErrRejected) {
				return "too many", nil
			}
			return fmt.Sprint(n, " degrees"), err
		})
	fmt.Println(read(context.Background()))
	fmt.Println(read(context.Background()))
	// Output:
	// 42 degrees <nil>
	// too many <nil>
}

// A value without an error is retried, and the breaker named strict counts what the retry
// does not repeat.
func ExampleWithClassifyResult() {
	type answer struct{ status int }
	classify := sluice.ClassifyAs(func(step string, a answer, err error) sluice.Outcome {
		switch {
		case err != nil:
			return 0 // as without this function
		case a.status >= 500, step == "strict" && a.status == 404:
			return sluice.OutcomeFail
		}
		return sluice.OutcomeOK
	})
	set, err := sluice.Parse("policy.yaml", []byte(`
version: 1
policies:
  p:
    steps:
      - retry: {attempts: 3, backoff: {constant: 1ms}}
      - breaker: {name: strict, window: {consecutive: 3}}
`), sluice.WithClassifyResult(classify))
	if err != nil {
		fmt.Println(err)
		return
	}
	p := set.Pipeline("p")
	call := func(statuses ...int) func(context.Context) (answer, error) {
		return func(context.Context) (answer, error) {
			next := statuses[0]
			statuses = statuses[1:]
			return answer{next}, nil
		}
	}
	fmt.Println(sluice.Do(context.Background(), p, call(503, 200)))
	for range 3 {
		fmt.Println(sluice.Do(context.Background(), p, call(404)))
	}
	fmt.Println(p.State()[0].Mode)
	// Output:
	// {200} <nil>
	// {404} <nil>
	// {404} <nil>
	// {404} <nil>
	// open
}

// The last value is returned in place of the error that says how often it was tried.
func ExampleLastValue() {
	p := one("retry: {attempts: 2, backoff: {constant: 1ms}}", sluice.WithClassifyResult(sluice.ClassifyAs(
		func(_ string, status int, _ error) sluice.Outcome {
			if status == 503 {
				return sluice.OutcomeFail
			}
			return 0
		})))
	busy := func(context.Context) (int, error) { return 503, nil }
	fmt.Println(sluice.Do(context.Background(), p, busy))
	fmt.Println(sluice.LastValue(sluice.Do(context.Background(), p, busy)))
	// Output:
	// 503 sluice: p.retry: gave up after 2 attempts (attempts): sluice: the value was classified as fail
	// 503 <nil>
}
