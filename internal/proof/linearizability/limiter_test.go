package linearizability

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// limits are the operations of a limiter that the histories use.
type limits struct {
	allow   func(n uint32) bool
	wait    func(ctx context.Context, n uint32) error
	reserve func(n uint32, wait time.Duration) (sluice.Reservation, error)
	cancel  func(r *sluice.Reservation)
	peek    func(n uint32) (uint32, time.Duration)
	drain   func()
}

func limitsOf(l *sluice.Limiter) *limits {
	return &limits{l.AllowN, l.WaitN, l.Reserve, (*sluice.Reservation).Cancel, l.Peek, l.Drain}
}

// algorithms of limiters.
var algorithms = []limiter.Algorithm{limiter.TokenBucket, limiter.FixedWindow, limiter.SlidingCounter, limiter.SlidingLog, limiter.LeakyBucket}

// limiting plays a limiter of an algorithm, with a defect or without.
func limiting(algorithm limiter.Algorithm, defect func(*limits)) scenario {
	return func(h *history) *model {
		c := limiter.Config{Algorithm: algorithm, Count: 1 + h.rng.Uint32N(3), Period: time.Duration(1+h.rng.IntN(4)) * unit}
		c.Period *= time.Duration(c.Count) // so that tokens come on the grid
		if algorithm == limiter.TokenBucket {
			c.Burst = 1 + h.rng.Uint32N(3)
		}
		if h.marks == nil && h.rng.IntN(3) > 0 {
			c.Wait, c.Queue, c.Order = time.Duration(1+h.rng.IntN(6))*unit, 1+h.rng.Uint32N(3), limiter.Order(h.rng.IntN(2))
		}
		if h.marks != nil && h.rng.IntN(3) == 0 {
			c.Block = limiter.Block{After: 1 + h.rng.Uint32N(2), For: backoff.Config{Kind: backoff.Linear, Base: unit}}
		}
		if h.marks != nil && algorithm == limiter.TokenBucket && h.rng.IntN(3) == 0 {
			c.WarmUp = limiter.WarmUp{Over: time.Duration(1+h.rng.IntN(9)) * unit, Factor: 2}
		}
		h.config = c
		l, err := sluice.NewLimiter(c, sluice.WithClock(h))
		if err != nil {
			panic(err)
		}
		runner := limitsOf(l)
		if defect != nil {
			defect(runner)
		}
		h.play(runner.client)
		if c.Wait == 0 && c.Block.After == 0 {
			// Without bounds a caller waits until its context is over.
			c.Wait, c.Queue = math.MaxInt64, limiter.MaxQueue
		}
		m := &model{cells: []cell{loneCell(c)}}
		if h.marks == nil {
			m.cells[0] = queuedCell(c)
		}
		return m
	}
}

// reserved is a reservation of a client.
type reserved struct {
	reservation sluice.Reservation
	request     int
	cost        uint32
}

func (l *limits) client(c *client) {
	var mine []reserved
	for range 4 {
		c.rest()
		n := 1 + c.rng.Uint32N(3)
		switch what := c.rng.IntN(16); {
		case what < 5 || what < 9 && c.marks != nil:
			s := c.enter()
			ok := l.allow(n)
			c.exit(&s)
			c.record(s, asks(0, c.request(), reducer.TryAcquire, n, seen{verdict: verdict(ok)}))
		case what < 9:
			l.waits(c, n)
		case what < 12:
			if r, ok := l.reserves(c, n); ok {
				mine = append(mine, r)
			}
		case what < 14 && len(mine) > 0:
			r := mine[len(mine)-1]
			mine = mine[:len(mine)-1]
			s := c.enter()
			l.cancel(&r.reservation)
			c.exit(&s)
			c.record(s, gives(0, r.request, reducer.Action{Kind: reducer.Cancel, Cost: r.cost}, seen{}))
		case what < 15:
			s := c.enter()
			free, after := l.peek(n)
			c.exit(&s)
			c.record(s, looks(reducer.Action{Kind: reducer.Peek, Cost: n}, seen{free: free, after: after}))
		default:
			s := c.enter()
			l.drain()
			c.exit(&s)
			c.record(s, looks(reducer.Action{Kind: reducer.Drain}, seen{}))
		}
	}
}

func verdict(ok bool) reducer.Verdict {
	if ok {
		return reducer.Admit
	}
	return reducer.Reject
}

func (l *limits) waits(c *client, n uint32) {
	ctx, settled := c.context(false)
	s := c.enter()
	err := l.wait(ctx, n)
	c.exit(&s)
	settled()
	c.record(s, waited(0, c.request(), n, err)...)
}

// waited returns the steps of a caller that waits, by the error that it got.
func waited(cell, req int, n uint32, err error) []step {
	how := reducer.Acquire
	var refused *sluice.RejectedError
	switch {
	case err == nil:
		return []step{asks(cell, req, how, n, seen{verdict: either}), ends(cell, req, n, seen{fate: granted})}
	case !errors.As(err, &refused):
		return []step{asks(cell, req, how, n, seen{verdict: reducer.Wait}), ends(cell, req, n, seen{fate: left})}
	case refused.Waited:
		return []step{asks(cell, req, how, n, seen{verdict: reducer.Wait}), ends(cell, req, n, seen{fate: dropped, reason: refused.Reason})}
	}
	return []step{asks(cell, req, how, n, rejected(refused))}
}

func rejected(err *sluice.RejectedError) seen {
	return seen{verdict: reducer.Reject, told: true, reason: err.Reason, after: err.RetryAfter}
}

func (l *limits) reserves(c *client, n uint32) (reserved, bool) {
	wait := time.Duration(c.rng.IntN(5)) * unit
	s := c.enter()
	r, err := l.reserve(n, wait)
	delay := r.Delay()
	c.exit(&s)
	one := asks(0, c.request(), reducer.Reserve, n, seen{verdict: reducer.Admit, delay: delay})
	one.wait = wait
	var refused *sluice.RejectedError
	if errors.As(err, &refused) {
		one.seen = rejected(refused)
	}
	c.record(s, one)
	return reserved{r, one.req, n}, err == nil
}

func TestLimiter(t *testing.T) {
	for _, a := range algorithms {
		t.Run(a.String(), func(t *testing.T) {
			t.Run("bubble", func(t *testing.T) { linearizable(t, bubbles, 600, limiting(a, nil)) })
			t.Run("clock", func(t *testing.T) { linearizable(t, virtual, 600, limiting(a, nil)) })
		})
	}
}

// TestLimiterDefects plants defects in the runner.
func TestLimiterDefects(t *testing.T) {
	defects := map[string]struct {
		place where
		plant func(l *limits)
		// ahead: it concerns permits whose turn is later, which only two algorithms reserve.
		ahead bool
	}{
		"grants one permit too many": {place: virtual, plant: func(l *limits) {
			allow, spare := l.allow, &once{}
			l.allow = func(n uint32) bool { return allow(n) || spare.first() }
		}},
		"takes a permit and says no": {place: virtual, plant: func(l *limits) {
			allow := l.allow
			l.allow = func(n uint32) bool { return allow(n) && n != 3 }
		}},
		"ignores a cancel": {place: virtual, plant: func(l *limits) { l.cancel = func(*sluice.Reservation) {} }, ahead: true},
		"keeps the place of a caller that leaves": {place: bubbles, plant: func(l *limits) {
			wait := l.wait
			l.wait = func(ctx context.Context, n uint32) error {
				done := make(chan error, 1)
				go func() { done <- wait(context.Background(), n) }()
				select {
				case err := <-done:
					return err
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}},
		"checks and takes in two steps": {place: virtual, plant: func(l *limits) {
			peek, allow := l.peek, l.allow
			l.allow = func(n uint32) bool {
				if free, _ := peek(n); free < n {
					return false
				}
				allow(n)
				return true
			}
		}},
	}
	for name, d := range defects {
		t.Run(name, func(t *testing.T) {
			for _, a := range algorithms {
				if d.ahead && a != limiter.TokenBucket && a != limiter.LeakyBucket {
					continue
				}
				caught(t, d.place, 3_000, limiting(a, d.plant))
			}
		})
	}
}
