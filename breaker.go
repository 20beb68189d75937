package sluice

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// Breaker is a circuit breaker alone. It is safe for concurrent use. NewBreaker
// makes one; a zero Breaker refuses every call.
type Breaker struct {
	listeners runner.Listeners
	*settings
	mu    sync.Mutex
	cell  cell.Cell
	core  *breaker.Core // of the cell
	out   reducer.Out
	timed bool // every step needs the time
	// openUntil is the mark until which the breaker is open, so that a refusal takes
	// no lock; Always when it is not open, 0 for a zero Breaker.
	openUntil atomic.Int64
}

// NewBreaker makes a closed breaker.
func NewBreaker(c breaker.Config, options ...Option) (*Breaker, error) {
	c = c.WithDefaults()
	maker, err := breaker.Cells(c)
	if err != nil {
		return nil, err
	}
	s, err := newSettings("Breaker", optionClock|optionLogger|optionClassify, options)
	if err != nil {
		return nil, err
	}
	b := &Breaker{settings: s}
	if b.logger != nil {
		b.Listen(logs(b.logger))
	}
	b.openUntil.Store(int64(clock.Always))
	b.put(maker.New(b.Now()), c)
	return b, nil
}

// Listen calls f for every change of the breaker's state, on the goroutine that
// caused it, without any lock held: f may call back. stop ends it and touches no
// other listener.
func (b *Breaker) Listen(f func(Event)) (stop func()) {
	return b.listeners.Listen(func(e runner.Event) { f(Event(e)) })
}

func (b *Breaker) put(c cell.Cell, config breaker.Config) {
	b.cell, b.core = c, breaker.CoreOf(c)
	b.timed = config.Window == breaker.Time || config.SlowOver > 0
}

// step steps the cell at the present mark and returns the mode after it. A step that
// does not change the mode of the breaker emits no change: a listener may request the
// mode that it was called with.
func (b *Breaker) step(a reducer.Action) (after breaker.Mode) {
	b.mu.Lock()
	// Refusals without the lock end before the mark of the step is read.
	b.openUntil.Store(int64(clock.Always))
	now := b.Now()
	b.cell.Step(reducer.Action{Kind: reducer.Tick}, now, &b.out)
	before, due := b.core.Mode, len(b.out)
	b.cell.Step(a, now, &b.out)
	if after = b.core.Mode; after == before {
		b.out = b.out[:due]
	}
	b.unlock()
	return after
}

// unlock unlocks the mutex and emits what changed.
func (b *Breaker) unlock() {
	until := clock.Always
	if b.core.Mode == breaker.Open {
		until = b.core.Until
	}
	if int64(until) != b.openUntil.Load() {
		b.openUntil.Store(int64(until))
	}
	if len(b.out) == 0 {
		b.mu.Unlock()
		return
	}
	changes := append(reducer.Out(nil), b.out...)
	b.out = b.out[:0]
	b.mu.Unlock()
	for _, e := range changes {
		b.listeners.Emit(runner.Event{Kind: decision.Change, At: e.Permit.Mark, Step: "breaker", Reason: e.Reason, Mode: breaker.Mode(e.Permit.ID)})
	}
}

// Pass is the permit of a breaker. The caller ends it with Done once. It must not be
// copied: the outcome of each copy would count.
type Pass struct {
	_       [0]sync.Mutex // go vet reports copies
	breaker *Breaker
	permit  reducer.Permit // zero after Done, guarded by the breaker's mutex
}

// TryAcquire is Acquire without an error value; it does not allocate.
func (b *Breaker) TryAcquire() (Pass, bool) {
	permit, ok, _, _ := b.enter()
	if !ok {
		return Pass{}, false
	}
	return Pass{breaker: b, permit: permit}, true
}

// Acquire asks for a pass. The error is a RejectedError.
func (b *Breaker) Acquire() (Pass, error) {
	permit, ok, why, after := b.enter()
	if !ok {
		return Pass{}, b.refusal(why, after)
	}
	return Pass{breaker: b, permit: permit}, nil
}

func (b *Breaker) refusal(why reducer.Reason, after time.Duration) error {
	if b.settings == nil {
		return errZeroBreaker
	}
	return &RejectedError{Step: "breaker", Reason: why, RetryAfter: after}
}

// enter asks for a pass, and says why there is none and for how long.
func (b *Breaker) enter() (permit reducer.Permit, ok bool, why reducer.Reason, after time.Duration) {
	now := clock.Always
	if until := b.openUntil.Load(); until != int64(clock.Always) {
		if b.settings == nil {
			return reducer.Permit{}, false, reducer.ReasonCapacity, -1
		}
		// It was open until then at the mark that is read between the two loads.
		now = b.Now()
		if now < clock.Mark(until) && b.openUntil.Load() == until {
			return reducer.Permit{}, false, reducer.ReasonOpen, clock.Mark(until).Sub(now)
		}
		now = clock.Always
	}
	b.mu.Lock()
	if b.timed {
		now = b.Now()
	}
	if permit, ok = b.cell.Enter(0, 0, now); ok {
		b.mu.Unlock()
		return permit, true, reducer.NoReason, 0
	}
	if !b.timed {
		now = b.Now()
	}
	if until, rejected := b.core.RejectOpen(now); rejected {
		b.mu.Unlock()
		return reducer.Permit{}, false, reducer.ReasonOpen, until.Sub(now)
	}
	answer := b.cell.Step(reducer.Action{Kind: reducer.Acquire}, now, &b.out)
	b.unlock()
	if after, ok = answer.RetryAfter(now); !ok {
		after = -1
	}
	return answer.Permit, answer.Verdict == reducer.Admit, answer.Reason, after
}

// Done says how the attempt ended. Passes issued before the last change of the
// breaker's state are ignored.
//
// Only the first call counts.
func (p *Pass) Done(o reducer.Outcome) {
	b := p.breaker
	if b == nil {
		return
	}
	b.mu.Lock()
	permit := p.permit
	if p.permit = (reducer.Permit{}); permit.Generation != 0 {
		b.record(permit, o)
	} else {
		b.mu.Unlock()
	}
}

// record counts an outcome and unlocks the mutex, which the caller holds.
func (b *Breaker) record(p reducer.Permit, o reducer.Outcome) {
	if o == reducer.OK {
		// A success at a closed breaker needs the time where it may open it, when
		// one more outcome makes the minimum.
		now := clock.Always
		if b.timed || b.core.Failed > 0 {
			now = b.Now()
		}
		if b.cell.Exit(p, now) {
			b.mu.Unlock()
			return
		}
	}
	b.cell.Step(reducer.Action{Kind: reducer.Record, Outcome: o, Permit: p}, b.Now(), &b.out)
	b.unlock()
}

// Do runs fn unless the context is over or the breaker refuses, and records what
// fn returns. A panic counts as a failure and continues.
func (b *Breaker) Do(ctx context.Context, fn func(context.Context) error) error {
	if ctx.Err() != nil {
		return cancelled(ctx, nil)
	}
	permit, ok, why, after := b.enter()
	if !ok {
		return b.refusal(why, after)
	}
	outcome := reducer.Fail
	defer func() {
		b.mu.Lock()
		b.record(permit, outcome)
	}()
	err := fn(ctx)
	if err == nil {
		outcome = reducer.OK
	} else {
		outcome, _, _ = b.Classify(ctx, err)
	}
	return err
}

// Mode returns the state of the breaker at this moment.
func (b *Breaker) Mode() breaker.Mode {
	if b.settings == nil {
		return breaker.Closed
	}
	return b.step(reducer.Action{Kind: reducer.Tick})
}

// Transition moves the breaker by hand. In breaker.Open it stays for the open time
// of the configuration. A transition to the present mode restarts that mode, without
// an event.
func (b *Breaker) Transition(to breaker.Mode) {
	if b.settings != nil {
		// A mark in the permit would set the end of the open time.
		b.step(reducer.Action{Kind: reducer.Transition, Cost: uint32(to), Permit: reducer.Permit{Mark: clock.Always}})
	}
}

// Reset returns the breaker to its initial state.
func (b *Breaker) Reset() {
	if b.settings != nil {
		b.step(reducer.Action{Kind: reducer.Reset})
	}
}

// Configure changes the active breaker: state and deadline stay, a changed
// window starts without outcomes. An error changes nothing.
func (b *Breaker) Configure(c breaker.Config) error {
	if b.settings == nil {
		return errZeroBreaker
	}
	c = c.WithDefaults()
	maker, err := breaker.Cells(c)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.put(cell.Adopt(maker, b.cell, b.Now(), &b.out), c)
	b.unlock()
	b.step(reducer.Action{Kind: reducer.Tick})
	return nil
}
