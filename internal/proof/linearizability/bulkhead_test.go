package linearizability

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// bulkheads are the operations of a bulkhead that the histories use.
type bulkheads struct {
	try     func(n uint32) (sluice.Place, bool)
	acquire func(ctx context.Context, n uint32) (sluice.Place, error)
	release func(p sluice.Place) bool
	renew   func(p sluice.Place) bool
	do      func(ctx context.Context, fn func(context.Context) error) error
}

func bulkheadsOf(b *sluice.Bulkhead) *bulkheads {
	return &bulkheads{b.TryAcquireN, b.AcquireN, sluice.Place.Release, sluice.Place.Renew, b.Do}
}

// bulkheading plays a bulkhead, with a defect or without.
func bulkheading(defect func(*bulkheads)) scenario {
	return func(h *history) *model {
		c := bulkhead.Config{Concurrent: 1 + h.rng.Uint32N(3)}
		if h.marks == nil && h.rng.IntN(4) > 0 {
			c.Queue, c.Wait, c.Order = 1+h.rng.Uint32N(2), time.Duration(h.rng.IntN(4))*unit, limiter.Order(h.rng.IntN(2))
		}
		if h.rng.IntN(2) == 0 {
			c.Lease = time.Duration(1+h.rng.IntN(4)) * unit
		}
		h.config = c
		b, err := sluice.NewBulkhead(c, sluice.WithClock(h))
		if err != nil {
			panic(err)
		}
		runner := bulkheadsOf(b)
		if defect != nil {
			defect(runner)
		}
		h.play(runner.client)
		return &model{cells: []cell{bulkheadCell(c)}}
	}
}

// place is a place of a client, which it may have released already.
type place struct {
	place   sluice.Place
	request int
}

func (b *bulkheads) client(c *client) {
	var mine []place
	for range 5 {
		c.rest()
		n := 1 + c.rng.Uint32N(3)
		i := max(0, len(mine)-1-c.rng.IntN(2))
		switch what := c.rng.IntN(12); {
		case what < 2 || what < 6 && c.marks != nil:
			s := c.enter()
			p, ok := b.try(n)
			c.exit(&s)
			req := c.request()
			c.record(s, asks(0, req, reducer.TryAcquire, n, seen{verdict: verdict(ok)}))
			if ok {
				mine = append(mine, place{p, req})
			}
		case what < 6:
			ctx, settled := c.context(true)
			s := c.enter()
			p, err := b.acquire(ctx, n)
			c.exit(&s)
			settled()
			req := c.request()
			c.record(s, waited(0, req, n, err)...)
			if err == nil {
				mine = append(mine, place{p, req})
			}
		case what < 10 && len(mine) > 0:
			// Perhaps for the second time.
			s := c.enter()
			done := b.release(mine[i].place)
			c.exit(&s)
			c.record(s, gives(0, mine[i].request, reducer.Action{Kind: reducer.Release}, seen{told: true, done: done}))
		case what < 11 && len(mine) > 0:
			s := c.enter()
			done := b.renew(mine[i].place)
			c.exit(&s)
			c.record(s, gives(0, mine[i].request, reducer.Action{Kind: reducer.Renew}, seen{told: true, done: done}))
		default:
			b.does(c)
		}
	}
}

// does runs a function in a place.
func (b *bulkheads) does(c *client) {
	ctx, settled := c.context(true)
	defer settled()
	req, ran := c.request(), false
	s := c.enter()
	err := b.do(ctx, func(context.Context) error {
		ran = true
		c.exit(&s)
		c.record(s, waited(0, req, 1, nil)...)
		c.rest()
		s = c.enter()
		return errBoom
	})
	c.exit(&s)
	if !ran {
		c.record(s, waited(0, req, 1, err)...)
		return
	}
	if !errors.Is(err, errBoom) {
		panic(err)
	}
	c.record(s, gives(0, req, reducer.Action{Kind: reducer.Release}, seen{}))
}

func TestBulkhead(t *testing.T) {
	t.Run("bubble", func(t *testing.T) { linearizable(t, bubbles, 1_000, bulkheading(nil)) })
	t.Run("clock", func(t *testing.T) { linearizable(t, virtual, 600, bulkheading(nil)) })
}

// TestBulkheadDefects plants defects in the runner.
func TestBulkheadDefects(t *testing.T) {
	for name, plant := range map[string]func(b *bulkheads){
		"has a place too many": func(b *bulkheads) {
			try, spare := b.try, &once{}
			b.try = func(n uint32) (sluice.Place, bool) {
				p, ok := try(n)
				return p, ok || spare.first()
			}
		},
		"takes one place for many": func(b *bulkheads) {
			try := b.try
			b.try = func(uint32) (sluice.Place, bool) { return try(1) }
		},
		"lets a caller wait for one place at a time": func(b *bulkheads) {
			acquire, release := b.acquire, b.release
			b.acquire = func(ctx context.Context, n uint32) (sluice.Place, error) {
				first, err := acquire(ctx, 1)
				if err != nil || n == 1 {
					return first, err
				}
				release(first)
				return acquire(ctx, n)
			}
		},
		"loses a release": func(b *bulkheads) {
			release, lost := b.release, &once{}
			b.release = func(p sluice.Place) bool { return lost.first() || release(p) }
		},
		"frees a place when it has time": func(b *bulkheads) {
			release := b.release
			b.release = func(p sluice.Place) bool {
				go release(p)
				return true
			}
		},
		"renews nothing": func(b *bulkheads) { b.renew = func(sluice.Place) bool { return true } },
		"keeps the place of a caller that leaves": func(b *bulkheads) {
			acquire := b.acquire
			b.acquire = func(ctx context.Context, n uint32) (sluice.Place, error) {
				type result struct {
					place sluice.Place
					err   error
				}
				done := make(chan result, 1)
				go func() {
					far, cancel := context.WithTimeout(context.Background(), 50*unit)
					defer cancel()
					p, err := acquire(far, n)
					done <- result{p, err}
				}()
				select {
				case r := <-done:
					return r.place, r.err
				case <-ctx.Done():
					return sluice.Place{}, ctx.Err()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) { caught(t, bubbles, 3_000, bulkheading(plant)) })
	}
}
