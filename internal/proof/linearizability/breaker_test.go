package linearizability

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

var errBoom = errors.New("boom")

// breakers are the operations of a breaker that the histories use.
type breakers struct {
	acquire    func() (*sluice.Pass, error)
	done       func(p *sluice.Pass, o reducer.Outcome)
	do         func(ctx context.Context, fn func(context.Context) error) error
	mode       func() breaker.Mode
	transition func(to breaker.Mode)
	reset      func()
}

func breakersOf(b *sluice.Breaker) *breakers {
	acquire := func() (*sluice.Pass, error) {
		p, err := b.Acquire()
		return &p, err
	}
	return &breakers{acquire, (*sluice.Pass).Done, b.Do, b.Mode, b.Transition, b.Reset}
}

// breakerConfig draws a breaker that opens soon.
func breakerConfig(h *history) breaker.Config {
	c := breaker.Config{
		Probes: 1 + h.rng.Uint32N(2),
		Open:   backoff.Config{Kind: backoff.Constant, Base: time.Duration(1+h.rng.IntN(3)) * unit},
	}
	switch h.rng.IntN(4) {
	case 0:
		c.Window, c.Count = breaker.Consecutive, 1+h.rng.Uint32N(2)
		if h.rng.IntN(2) == 0 {
			c.Count, c.Forget = 2, 2*unit
		}
	case 1:
		c.Window, c.Count, c.Minimum, c.FailureRate = breaker.Calls, 4, 2, reducer.Percent(50)
	case 2:
		c.Window, c.Count, c.Minimum, c.FailureRate = breaker.Time, 2, 2, reducer.Percent(50)
		c.Span = 4 * unit
	default:
		c.Window, c.Count, c.Minimum, c.FailureRate = breaker.Calls, 3, 2, reducer.Percent(100)
		c.SlowOver, c.SlowRate = unit, reducer.Percent(50)
	}
	if h.rng.IntN(2) == 0 {
		c.HalfOpenMax = 3 * unit
	}
	return c
}

// breaking plays a breaker, with a defect or without.
func breaking(defect func(*breakers)) scenario {
	return func(h *history) *model {
		c := breakerConfig(h)
		h.config = c
		b, err := sluice.NewBreaker(c, sluice.WithClock(h))
		if err != nil {
			panic(err)
		}
		runner := breakersOf(b)
		if defect != nil {
			defect(runner)
		}
		h.play(runner.client)
		return &model{cells: []cell{breakerCell(c)}, locked: h.marks != nil}
	}
}

// passed is a pass of a client.
type passed struct {
	pass    *sluice.Pass
	request int
}

func (b *breakers) client(c *client) {
	var mine []passed
	for range 5 {
		c.rest()
		switch what := c.rng.IntN(16); {
		case what < 5:
			if p, ok := b.acquires(c); ok {
				mine = append(mine, p)
			}
		case what < 10 && len(mine) > 0:
			i := c.rng.IntN(len(mine))
			p, o := mine[i], outcomes[c.rng.IntN(len(outcomes))]
			mine = append(mine[:i], mine[i+1:]...)
			s := c.enter()
			b.done(p.pass, o)
			c.exit(&s)
			c.record(s, gives(0, p.request, reducer.Action{Kind: reducer.Record, Outcome: o}, seen{}))
		case what < 13:
			b.does(c)
		case what < 14:
			to := breaker.Mode(c.rng.IntN(6))
			s := c.enter()
			b.transition(to)
			c.exit(&s)
			c.record(s, looks(reducer.Action{Kind: reducer.Transition, Cost: uint32(to)}, seen{}))
		case what < 15 || c.rng.IntN(4) > 0:
			s := c.enter()
			mode := b.mode()
			c.exit(&s)
			c.record(s, looks(reducer.Action{Kind: reducer.Tick}, seen{mode: mode}))
		default:
			s := c.enter()
			b.reset()
			c.exit(&s)
			c.record(s, looks(reducer.Action{Kind: reducer.Reset}, seen{}))
		}
	}
}

// outcomes of attempts. What a function returns means one of the first seven.
var outcomes = []reducer.Outcome{
	reducer.OK, reducer.OK, reducer.Fail, reducer.Fail, reducer.Fail, reducer.Timeout, reducer.Throttle,
	reducer.Ignore, reducer.Cancelled,
}

func (b *breakers) acquires(c *client) (passed, bool) {
	s := c.enter()
	p, err := b.acquire()
	c.exit(&s)
	one := asks(0, c.request(), reducer.Acquire, 0, seen{verdict: reducer.Admit})
	var refused *sluice.RejectedError
	if errors.As(err, &refused) {
		one.seen = rejected(refused)
	}
	c.record(s, one)
	return passed{p, one.req}, err == nil
}

// does guards a function that takes some time.
func (b *breakers) does(c *client) {
	outcome := outcomes[c.rng.IntN(7)]
	one := asks(0, c.request(), reducer.Acquire, 0, seen{verdict: reducer.Admit})
	s := c.enter()
	ran := false
	err := b.do(context.Background(), func(context.Context) error {
		ran = true
		c.exit(&s)
		c.record(s, one)
		c.rest()
		s = c.enter()
		return failure(outcome)
	})
	c.exit(&s)
	var refused *sluice.RejectedError
	if !ran && errors.As(err, &refused) {
		one.seen = rejected(refused)
		c.record(s, one)
		return
	}
	c.record(s, gives(0, one.req, reducer.Action{Kind: reducer.Record, Outcome: outcome}, seen{}))
}

// failure returns an error that means the outcome.
func failure(o reducer.Outcome) error {
	switch o {
	case reducer.OK:
		return nil
	case reducer.Fail:
		return errBoom
	case reducer.Throttle:
		return sluice.Throttle(errBoom, 0)
	}
	return meaning{o}
}

// meaning is an error that carries its outcome.
type meaning struct{ outcome reducer.Outcome }

func (m meaning) Error() string            { return m.outcome.String() }
func (m meaning) Outcome() reducer.Outcome { return m.outcome }

func TestBreaker(t *testing.T) {
	t.Run("bubble", func(t *testing.T) { linearizable(t, bubbles, 1_000, breaking(nil)) })
	t.Run("clock", func(t *testing.T) { linearizable(t, virtual, 1_000, breaking(nil)) })
}

// TestBreakerDefects plants defects in the runner.
func TestBreakerDefects(t *testing.T) {
	for name, plant := range map[string]func(b *breakers){
		"loses a vote": func(b *breakers) {
			done := b.done
			b.done = func(p *sluice.Pass, o reducer.Outcome) {
				if o == reducer.Fail {
					o = reducer.Ignore
				}
				done(p, o)
			}
		},
		"never releases a place without an outcome": func(b *breakers) {
			done := b.done
			b.done = func(p *sluice.Pass, o reducer.Outcome) {
				if o != reducer.Ignore && o != reducer.Throttle && o != reducer.Cancelled {
					done(p, o)
				}
			}
		},
		"admits while it is open": func(b *breakers) {
			acquire := b.acquire
			b.acquire = func() (*sluice.Pass, error) {
				p, err := acquire()
				var refused *sluice.RejectedError
				if errors.As(err, &refused) && refused.Reason == reducer.ReasonOpen && refused.RetryAfter == unit {
					return p, nil
				}
				return p, err
			}
		},
		"ignores a transition to half-open": func(b *breakers) {
			transition := b.transition
			b.transition = func(to breaker.Mode) {
				if to != breaker.HalfOpen {
					transition(to)
				}
			}
		},
		"counts a vote when it has time": func(b *breakers) {
			done := b.done
			b.done = func(p *sluice.Pass, o reducer.Outcome) { go done(p, o) }
		},
		"counts a success as a failure": func(b *breakers) {
			do := b.do
			b.do = func(ctx context.Context, fn func(context.Context) error) error {
				return do(ctx, func(ctx context.Context) error {
					if err := fn(ctx); err != nil {
						return err
					}
					return errBoom
				})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			caught(t, bubbles, 3_000, breaking(plant))
			caught(t, virtual, 3_000, breaking(plant))
		})
	}
}
