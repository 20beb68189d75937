package sluice_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
)

// A limiter alone gets another rate. Free permits carry over, at most the new burst.
func ExampleLimiter_Configure() {
	now := &clock.Virtual{}
	l, err := sluice.NewLimiter(sluice.LimiterConfig{Count: 10, Period: time.Second, Burst: 5}, sluice.WithClock(now))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.AllowN(5), l.Allow())
	if err := l.Configure(sluice.LimiterConfig{Count: 1, Period: time.Minute, Burst: 2}); err != nil {
		fmt.Println(err)
		return
	}
	now.Advance(time.Second)
	fmt.Println(l.Allow())
	now.Advance(time.Minute)
	fmt.Println(l.Allow(), l.Allow())
	// Output:
	// true false
	// false
	// true false
}
