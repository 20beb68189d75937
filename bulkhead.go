package sluice

import (
	"context"
	"sync"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// Bulkhead bounds how many run at once. It is safe for concurrent use.
type Bulkhead struct {
	*settings
	box *box
}

// NewBulkhead makes a bulkhead that nobody holds.
func NewBulkhead(c bulkhead.Config, options ...Option) (*Bulkhead, error) {
	maker, err := cell.ForBulkhead(c)
	if err != nil {
		return nil, err
	}
	b := &Bulkhead{settings: newSettings(options)}
	b.box = newBox(maker.New(b.now()), new(sync.Mutex), b.now, nil)
	b.box.leased = c.Lease > 0
	return b, nil
}

// Place is a place in a bulkhead. Giving it back twice is noticed and does
// nothing.
type Place struct {
	bulkhead *Bulkhead
	permit   reducer.Permit
}

// TryAcquire takes a place if one is free and nobody waits for it.
func (b *Bulkhead) TryAcquire() (Place, bool) {
	x := b.box
	x.mu.Lock()
	if x.busy() {
		x.mu.Unlock()
		answer := x.step(reducer.Action{Kind: reducer.TryAcquire}, b.now())
		return Place{b, answer.Permit}, answer.Verdict == reducer.Admit
	}
	// While nobody waits and there are no leases, no time changes the answer.
	permit, ok := x.cell.Enter(1, 0, clock.Always)
	x.mu.Unlock()
	return Place{b, permit}, ok
}

// Acquire takes a place, waiting for one where the configuration has a queue.
// The error is a RejectedError, or that of the context; then no place is held.
func (b *Bulkhead) Acquire(ctx context.Context) (Place, error) {
	if err := ctx.Err(); err != nil {
		return Place{}, err
	}
	if permit, ok := b.box.enter(1, clock.Always); ok {
		return Place{b, permit}, nil
	}
	answer, w := b.box.acquire(1, b.now())
	if w == nil {
		if answer.Verdict == reducer.Admit {
			return Place{b, answer.Permit}, nil
		}
		return Place{}, &RejectedError{Step: "bulkhead", Reason: answer.Reason, RetryAfter: -1}
	}
	select {
	case <-w.ready:
	case <-ctx.Done():
		if !w.leave(b.now()) && w.effect.Kind == reducer.Grant {
			Place{b, w.effect.Permit}.Release()
		}
		return Place{}, ctx.Err()
	}
	if w.effect.Kind == reducer.Grant {
		return Place{b, w.effect.Permit}, nil
	}
	return Place{}, &RejectedError{Step: "bulkhead", Reason: w.effect.Reason, RetryAfter: -1, Waited: true}
}

// Release gives the place back. It returns false when it was back already: by
// another call, or because its lease ran out.
func (p Place) Release() bool {
	if p.bulkhead == nil {
		return false
	}
	return p.bulkhead.box.exit(p.permit, clock.Always) || p.step(reducer.Release)
}

// Renew starts the lease of the place anew. It returns false when the place is
// no longer held.
func (p Place) Renew() bool {
	return p.step(reducer.Renew)
}

func (p Place) step(kind reducer.Kind) bool {
	return p.bulkhead != nil && p.bulkhead.box.step(reducer.Action{Kind: kind, Permit: p.permit}, p.bulkhead.now()).Verdict == reducer.Done
}

// Do runs fn in a place. A panic gives the place back and goes on.
func (b *Bulkhead) Do(ctx context.Context, fn func(context.Context) error) error {
	place, err := b.Acquire(ctx)
	if err != nil {
		return err
	}
	defer place.Release()
	return fn(ctx)
}

// Configure changes the bulkhead in force: holders keep their places. An error
// changes nothing.
func (b *Bulkhead) Configure(c bulkhead.Config) error {
	maker, err := cell.ForBulkhead(c)
	if err != nil {
		return err
	}
	b.box.adopt(maker, c.Lease > 0)
	return nil
}
