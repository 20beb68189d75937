package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
)

// A mechanism alone guards a function with a value.
func ExampleExecute() {
	b, err := sluice.NewBreaker(sluice.BreakerConfig{Window: sluice.WindowConsecutive, Count: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	price := func(context.Context) (int, error) { return 42, nil }
	fmt.Println(sluice.Execute(context.Background(), b, price))
	fail := func(context.Context) (int, error) { return 0, errors.New("no route to host") }
	fmt.Println(sluice.Execute(context.Background(), b, fail))
	_, err = sluice.Execute(context.Background(), b, price)
	fmt.Println(errors.Is(err, sluice.ErrRejected), b.Mode())
	// Output:
	// 42 <nil>
	// 0 no route to host
	// true open
}

// A limiter has the function wait for a permit where it has a Wait; without one it refuses at once.
func ExampleLimiter_Do() {
	l, err := sluice.NewLimiter(sluice.LimiterConfig{Count: 1, Period: time.Millisecond, Wait: time.Second, Queue: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 3 {
		if err := l.Do(context.Background(), func(context.Context) error { fmt.Println("request", i); return nil }); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// request 0
	// request 1
	// request 2
}

// Keys of a limiter may be values of any comparable type.
func ExampleKeyedLimiterOf() {
	type account struct {
		tenant string
		user   int
	}
	l, err := sluice.NewKeyedLimiterOf[account](sluice.LimiterConfig{Count: 1, Period: time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.Allow(account{"acme", 1}), l.Allow(account{"acme", 1}), l.Allow(account{"acme", 2}))
	// Output: true false true
}
