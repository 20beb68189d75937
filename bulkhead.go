package sluice

import (
	"context"
	"math"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// Bulkhead bounds how many run at once. It is safe for concurrent use. NewBulkhead
// makes one; a zero Bulkhead refuses every caller.
type Bulkhead struct {
	settings *settings
	events   emitter
	cell     *runner.LockedCell
	// phantoms wait in shadow, while their callers run. Guarded by cell.Lock.
	phantoms map[uint64]*runner.Waiter
	phantom  uint64 // the latest one
}

// NewBulkhead makes a bulkhead whose places are free.
func NewBulkhead(c bulkhead.Config, options ...Option) (*Bulkhead, error) {
	c, maker, err := bulkheadAlone(c)
	if err != nil {
		return nil, err
	}
	s, err := newSettings("Bulkhead", optionClock|optionLogger|optionRequestID|optionShadow, options)
	if err != nil {
		return nil, err
	}
	b := &Bulkhead{settings: s}
	b.events.begin("bulkhead", s)
	b.cell = runner.NewLockedCell(maker.New(b.settings.Now()), b.settings.Now, c.Lease > 0, func(e Event) { b.events.emit(noContext, e.At, &e) })
	return b, nil
}

// bulkheadAlone returns the configuration with its defaults, and the maker of its cell.
func bulkheadAlone(c bulkhead.Config) (bulkhead.Config, cell.Maker, error) {
	if c.Cost != (limiter.Cost{}) {
		return c, nil, reducer.BadCount("cost", uint64(c.Cost.Permits), "in a pipeline alone; here AcquireN and TryAcquireN have the cost")
	}
	c = c.WithDefaults()
	maker, err := bulkhead.Cells(c)
	return c, maker, err
}

// Place is a place in a bulkhead, or as many as were acquired together. Releasing it twice
// is noticed and does nothing.
type Place struct {
	bulkhead *Bulkhead
	permit   reducer.Permit // its mark is clock.Always where the time was not read
}

// TryAcquire takes a place if one is free and no caller waits for it.
func (b *Bulkhead) TryAcquire() (Place, bool) { return b.TryAcquireN(1) }

// TryAcquireN is TryAcquire for n places: all of them or none. 0 counts as 1; more than
// the bulkhead has are never free.
func (b *Bulkhead) TryAcquireN(n uint32) (Place, bool) {
	if b.settings == nil {
		return Place{}, false
	}
	if b.events.on() {
		return b.tryAcquire(n)
	}
	x := b.cell
	x.Lock()
	if x.Busy() {
		x.Unlock()
		answer := x.Step(reducer.Action{Kind: reducer.TryAcquire, Cost: n}, b.settings.Now())
		return b.place(answer.Permit, answer.Verdict == reducer.Admit)
	}
	// While there are no waiters and no leases, time does not change the answer.
	permit, ok := x.Cell.Enter(n, 0, clock.Never, clock.Always)
	x.Unlock()
	permit.Mark = clock.Always
	return b.place(permit, ok)
}

// place returns the place of a caller that does not wait. In shadow one that is refused runs
// without a place.
func (b *Bulkhead) place(p reducer.Permit, ok bool) (Place, bool) {
	if !ok {
		return Place{}, b.settings.shadow
	}
	return Place{b, p}, true
}

// tryAcquire is TryAcquireN of a bulkhead with a listener.
func (b *Bulkhead) tryAcquire(n uint32) (Place, bool) {
	now := b.settings.Now()
	answer := b.cell.Step(reducer.Action{Kind: reducer.TryAcquire, Cost: n}, now)
	b.events.answered(noContext, "", max(1, n), answer, now)
	return b.place(answer.Permit, answer.Verdict == reducer.Admit)
}

// Acquire takes a place, waiting for one where the configuration has a queue.
// The error is a RejectedError, or the error of the context; then no place is held.
func (b *Bulkhead) Acquire(ctx context.Context) (Place, error) { return b.AcquireN(ctx, 1) }

// AcquireN is Acquire for n places, which are granted together. 0 counts as 1; for more
// than the bulkhead has the reason is ReasonCapacity. A caller that waits for many
// places is not overtaken by one that needs few, except with OrderNewest by a newcomer.
func (b *Bulkhead) AcquireN(ctx context.Context, n uint32) (Place, error) {
	if b.settings == nil {
		return Place{}, errZeroBulkhead
	}
	if ctx.Err() != nil {
		return Place{}, runner.Cancelled(ctx, nil)
	}
	began := clock.Always
	if b.events.on() {
		began = b.settings.Now()
	}
	permit, ok, answer, w := b.cell.EnterOrAcquire(n, began)
	if began != clock.Always {
		if ok {
			answer.Verdict = reducer.Admit
		}
		b.events.answered(ctx, "", max(1, n), answer, began)
	}
	if ok {
		if began == clock.Always {
			permit.Mark = clock.Always
		}
		return Place{b, permit}, nil
	}
	switch {
	case b.settings.shadow:
		return b.passed(w), nil
	case w == nil:
		return Place{}, &RejectedError{Step: "bulkhead", Reason: answer.Reason, RetryAfter: -1}
	}
	select {
	case <-w.Ready:
	case <-ctx.Done():
		switch {
		case w.Leave(b.settings.Now()):
			w.Free()
		case w.Effect.Kind == reducer.Grant:
			b.cell.ExitOrRelease(w.Effect.Permit, clock.Always)
		}
		if began != clock.Always {
			b.events.waited(ctx, max(1, n), reducer.Effect{}, began, b.settings.Now())
		}
		return Place{}, runner.Cancelled(ctx, nil)
	}
	effect := w.Effect
	w.Free()
	if began != clock.Always {
		b.events.waited(ctx, max(1, n), effect, began, b.settings.Now())
	}
	if effect.Kind == reducer.Grant {
		return Place{b, effect.Permit}, nil
	}
	return Place{}, &RejectedError{Step: "bulkhead", Reason: effect.Reason, RetryAfter: -1, Waited: true}
}

// Release returns the place, or all that were acquired together. It returns false when it was returned before:
// by another call, or because its lease ran out.
func (p Place) Release() bool {
	if p.bulkhead == nil {
		return false
	}
	if p.permit.Generation == phantom {
		return p.leave()
	}
	if p.bulkhead.events.on() {
		return p.release()
	}
	return p.bulkhead.cell.ExitOrRelease(p.permit, clock.Always)
}

// phantom is the generation of the permit of a caller that runs in shadow, while its waiter is
// in the queue. Its ID names the waiter.
const phantom = math.MaxUint64

// passed returns the place of a caller that runs in shadow, of which w waits; nil for none.
func (b *Bulkhead) passed(w *runner.Waiter) Place {
	if w == nil {
		return Place{}
	}
	b.cell.Lock()
	defer b.cell.Unlock()
	if b.phantoms == nil {
		b.phantoms = map[uint64]*runner.Waiter{}
	}
	b.phantom++
	b.phantoms[b.phantom] = w
	return Place{b, reducer.Permit{Generation: phantom, ID: b.phantom}}
}

// leave is Release of a phantom: it leaves the queue, or gives back the place that it has.
func (p Place) leave() bool {
	b := p.bulkhead
	b.cell.Lock()
	w := b.phantoms[p.permit.ID]
	delete(b.phantoms, p.permit.ID)
	b.cell.Unlock()
	switch {
	case w == nil:
		return false
	case w.Leave(b.settings.Now()):
		w.Free()
	case w.Effect.Kind == reducer.Grant:
		return b.cell.ExitOrRelease(w.Effect.Permit, clock.Always)
	}
	return true
}

// release is Release of a bulkhead with a listener.
func (p Place) release() bool {
	ok := p.bulkhead.cell.ExitOrRelease(p.permit, clock.Always)
	if ok {
		p.bulkhead.released(p.permit.Mark)
	}
	return ok
}

// released emits that a place was released which was acquired at a mark, clock.Always where
// that is not known.
func (b *Bulkhead) released(since clock.Mark) {
	now, held := b.settings.Now(), time.Duration(0)
	if since != clock.Always {
		held = now.Sub(since)
	}
	b.events.call(noContext, decision.End, "", 0, 0, held, now)
}

// Renew restarts the lease of the place. It returns false when the place is
// no longer held.
func (p Place) Renew() bool {
	return p.step(reducer.Renew)
}

func (p Place) step(kind reducer.Kind) bool {
	return p.bulkhead != nil && p.permit.Generation != phantom && p.bulkhead.cell.Step(reducer.Action{Kind: kind, Permit: p.permit}, p.bulkhead.settings.Now()).Verdict == reducer.Done
}

// Do runs fn in a place. A panic releases the place and continues.
func (b *Bulkhead) Do(ctx context.Context, fn func(context.Context) error) error {
	place, err := b.Acquire(ctx)
	if err != nil {
		return err
	}
	defer place.Release()
	return fn(ctx)
}

// Configure changes the active bulkhead: holders keep their places. An error
// changes nothing.
func (b *Bulkhead) Configure(c bulkhead.Config) error {
	if b.settings == nil {
		return errZeroBulkhead
	}
	c, maker, err := bulkheadAlone(c)
	if err != nil {
		return err
	}
	b.cell.Adopt(maker, c.Lease > 0)
	b.events.configured(b.settings.Now())
	return nil
}
