package limiter_test

import (
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/fixedwindow"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/slidingcounter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestTokenBucket(t *testing.T) {
	script.Run(t, "testdata/token-bucket", spec(func(a *script.Args) (*tokenbucket.Machine, error) {
		count, period := a.Rate("rate")
		return tokenbucket.New(tokenbucket.Config{Count: count, Period: period, Burst: a.Count32("burst", 0)})
	}))
}

func TestFixedWindow(t *testing.T) {
	script.Run(t, "testdata/fixed-window", spec(func(a *script.Args) (*fixedwindow.Machine, error) {
		count, period := a.Rate("rate")
		return fixedwindow.New(fixedwindow.Config{Count: count, Period: period})
	}))
}

func TestSlidingCounter(t *testing.T) {
	script.Run(t, "testdata/sliding-counter", spec(func(a *script.Args) (*slidingcounter.Machine, error) {
		count, period := a.Rate("rate")
		return slidingcounter.New(slidingcounter.Config{Count: count, Period: period})
	}))
}

// counter is an algorithm that takes over the state of another configuration.
type counter[S, C any] interface {
	limiter.Counter[S]
	Adopt(state S, from C, now clock.Mark) S
}

// spec reads wait=, queue= and newest beside the settings of the counter.
func spec[S any, C counter[S, C]](build func(*script.Args) (C, error)) script.Spec[limiter.State[S]] {
	type machine = limiter.Machine[S, C]
	return script.Spec[limiter.State[S]]{
		New: func(a *script.Args) (reducer.Cell[limiter.State[S]], error) {
			w := limiter.Waiting{Wait: a.Duration("wait", 0), Queue: a.Count32("queue", 0), Order: limiter.Order(a.Count32("order", 0))}
			if a.Is("newest") {
				w.Order = limiter.Newest
			}
			c, err := build(a)
			if err != nil {
				return nil, err
			}
			return limiter.New[S](c, w)
		},
		Adopt: func(s limiter.State[S], from, to reducer.Cell[limiter.State[S]], now clock.Mark, out *reducer.Out) limiter.State[S] {
			counter := to.(*machine).Counter.Adopt(s.Counter, from.(*machine).Counter, now)
			return to.(*machine).Adopt(counter, s.Queue, now, out)
		},
	}
}
