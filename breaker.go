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
	settings *settings
	events   emitter
	mu       sync.Mutex
	cell     cell.Cell
	core     *breaker.Core // of the cell
	out      reducer.Out
	timed    bool // every step needs the time
	// slowOver is SlowOver of the configuration. It holds since the mark of the latest change,
	// clock.Always before.
	slowOver time.Duration
	since    clock.Mark
	// measured is how many calls were measured, took the time of all of them.
	measured uint64
	took     time.Duration
	// openUntil is the mark until which the breaker is open, so that a refusal takes
	// no lock; Always when it is not open, 0 for a zero Breaker.
	openUntil atomic.Int64
}

// NewBreaker makes a breaker, which starts in the Initial mode of the configuration.
func NewBreaker(c breaker.Config, options ...Option) (*Breaker, error) {
	c = c.WithDefaults()
	maker, err := breaker.Cells(c)
	if err != nil {
		return nil, err
	}
	s, err := newSettings("Breaker", optionClock|optionLogger|optionClassifies|optionRequestID|optionClassifyResult|optionShadow, options)
	if err != nil {
		return nil, err
	}
	b := &Breaker{settings: s, since: clock.Always}
	b.events.begin("breaker", s)
	b.openUntil.Store(int64(clock.Always))
	b.put(maker.New(b.settings.Now()), c)
	return b, nil
}

func (b *Breaker) put(c cell.Cell, config breaker.Config) {
	b.cell, b.core = c, breaker.CoreOf(c)
	b.timed, b.slowOver = config.Window == breaker.Time || config.SlowOver > 0, config.SlowOver
}

// step steps the cell at the present mark and returns the mode after it. A step that
// does not change the mode of the breaker emits no change: a listener may request the
// mode that it was called with.
func (b *Breaker) step(a reducer.Action) (after breaker.Mode) {
	b.mu.Lock()
	// Refusals without the lock end before the mark of the step is read.
	b.openUntil.Store(int64(clock.Always))
	now := b.settings.Now()
	b.cell.Step(reducer.Action{Kind: reducer.Tick}, now, &b.out)
	before, due := b.core.Mode, len(b.out)
	forgets := a.Kind == reducer.Reset && b.remembers()
	b.cell.Step(a, now, &b.out)
	if after = b.core.Mode; after == before {
		b.out = b.out[:due]
		if forgets {
			defer b.events.emit(noContext, now, &Event{Kind: decision.Manual, Action: ActionReset})
		}
	}
	if a.Kind != reducer.Tick && len(b.out) > due {
		b.unlock(cause{at: len(b.out), manual: true})
	} else {
		b.unlock(cause{})
	}
	return after
}

// remembers reports whether a reset would forget outcomes, openings or probes.
func (b *Breaker) remembers() bool {
	c, _, _ := breaker.At(b.cell, b.settings.Now())
	return c.Total > 0 || c.Failed > 0 || c.SlowRow > 0 || c.Openings > 0 || c.ProbesOut > 0
}

// cause is why a change happened, as its event has it.
type cause struct {
	at     int // the change, counted from 1; 0 for none
	manual bool
	slow   bool
	counts breaker.Counts
}

// unlock unlocks the mutex and emits what changed.
func (b *Breaker) unlock(why cause) {
	until := clock.Always
	if b.core.Mode == breaker.Open {
		until = b.core.OpenUntil
	}
	if int64(until) != b.openUntil.Load() {
		b.openUntil.Store(int64(until))
	}
	if len(b.out) == 0 {
		b.mu.Unlock()
		return
	}
	changes := append(reducer.Out(nil), b.out...)
	b.out, b.since = b.out[:0], changes[len(changes)-1].Permit.Mark
	b.mu.Unlock()
	for i, e := range changes {
		event := Event{Kind: decision.Change, Reason: e.Reason, Mode: breaker.Mode(e.Permit.ID)}
		if i+1 == why.at {
			event.Manual, event.Slow, event.Counts = why.manual, why.slow, why.counts
		}
		b.events.emit(noContext, e.Permit.Mark, &event)
	}
}

// Pass is the permit of a breaker. The caller ends it with Done once. It must not be
// copied: the outcome of each copy would count.
type Pass struct {
	_       [0]sync.Mutex // go vet reports copies
	breaker *Breaker
	// permit is zero after Done, guarded by the breaker's mutex. Its mark is when the call
	// began, clock.Always where the time was not read.
	permit reducer.Permit
}

// TryAcquire is Acquire without an error value; it does not allocate.
func (b *Breaker) TryAcquire() (Pass, bool) {
	permit, ok, why, after, at := b.enter()
	if at != clock.Always {
		b.entered(noContext, ok, why, after, at)
	}
	if !ok && !b.passes() {
		return Pass{}, false
	}
	return Pass{breaker: b, permit: permit}, true
}

// Acquire asks for a pass. The error is a RejectedError.
func (b *Breaker) Acquire() (Pass, error) {
	permit, ok, why, after, at := b.enter()
	if at != clock.Always {
		b.entered(noContext, ok, why, after, at)
	}
	if !ok && !b.passes() {
		return Pass{}, b.refusal(why, after)
	}
	return Pass{breaker: b, permit: permit}, nil
}

// passes reports whether the breaker is in shadow: a call that it refuses runs with a zero
// permit, and does not count.
func (b *Breaker) passes() bool { return b.settings != nil && b.settings.shadow }

// entered emits what enter answered at a mark.
func (b *Breaker) entered(ctx context.Context, ok bool, why reducer.Reason, after time.Duration, at clock.Mark) {
	if ok {
		b.events.call(ctx, decision.Admit, "", 0, 0, 0, at)
	} else {
		b.events.rejected(ctx, "", 0, why, after, at)
	}
}

func (b *Breaker) refusal(why reducer.Reason, after time.Duration) error {
	if b.settings == nil {
		return errZeroBreaker
	}
	return &RejectedError{Step: "breaker", Reason: why, RetryAfter: after}
}

// enter asks for a pass, and says why there is none and for how long. at is its mark where
// that is an event for a listener, else clock.Always.
func (b *Breaker) enter() (permit reducer.Permit, ok bool, why reducer.Reason, after time.Duration, at clock.Mark) {
	heard := b.events.listeners.HearsCalls()
	at = clock.Always
	if until := b.openUntil.Load(); until != int64(clock.Always) {
		if b.settings == nil {
			return reducer.Permit{}, false, reducer.ReasonCapacity, -1, at
		}
		// It was open until then at the mark that is read between the two loads.
		now := b.settings.Now()
		if now < clock.Mark(until) && b.openUntil.Load() == until {
			return reducer.Permit{}, false, reducer.ReasonOpen, clock.Mark(until).Sub(now), b.rejectedAt(now)
		}
	}
	b.mu.Lock()
	now := clock.Always
	if b.timed || heard {
		now = b.settings.Now()
	}
	if heard {
		at = now
	}
	if permit, ok = b.cell.Enter(0, 0, clock.Never, now); ok {
		b.mu.Unlock()
		if now == clock.Always {
			permit.Mark = clock.Always
		}
		return permit, true, reducer.NoReason, 0, at
	}
	if now == clock.Always {
		now = b.settings.Now()
	}
	if until, rejected := b.core.RejectOpen(now); rejected {
		b.mu.Unlock()
		return reducer.Permit{}, false, reducer.ReasonOpen, until.Sub(now), b.rejectedAt(now)
	}
	answer := b.cell.Step(reducer.Action{Kind: reducer.Acquire}, now, &b.out)
	b.unlock(cause{})
	if ok = answer.Verdict == reducer.Admit; !ok {
		at = b.rejectedAt(now)
	}
	after, told := answer.RetryAfter(now)
	if !told {
		after = -1
	}
	return answer.Permit, ok, answer.Reason, after, at
}

// rejectedAt returns the mark of a refusal for enter.
func (b *Breaker) rejectedAt(now clock.Mark) clock.Mark {
	if b.events.listeners.Hears(decision.Reject) {
		return now
	}
	return clock.Always
}

// Done says how the attempt ended. Passes issued before the last change of the
// breaker's state are ignored.
//
// Only the first call counts.
func (p *Pass) Done(o reducer.Outcome) { p.DoneRetryAfter(o, 0) }

// DoneRetryAfter is Done for an answer that says how long to wait, which opens the
// breaker where its ObeyRetryAfter is set. after of 0 or less is none.
func (p *Pass) DoneRetryAfter(o reducer.Outcome, after time.Duration) {
	b, m := p.breaker, meaning{o, after}
	if b == nil {
		return
	}
	b.mu.Lock()
	permit := p.permit
	p.permit = reducer.Permit{}
	switch {
	case permit.Generation == 0:
		b.mu.Unlock()
	case b.timed || b.events.listeners.HearsEnds():
		b.recordAt(noContext, permit, m, nil)
	default:
		b.record(permit, m)
	}
}

// record counts the outcome of a call whose time is not measured, and unlocks the mutex,
// which the caller holds.
func (b *Breaker) record(p reducer.Permit, m meaning) {
	if m.outcome == reducer.OK {
		// A success at a closed breaker needs the time where it may open it, when
		// one more outcome makes the minimum.
		now := clock.Always
		if b.core.Failed > 0 {
			now = b.settings.Now()
		}
		if b.cell.Exit(p, now) {
			b.mu.Unlock()
			return
		}
	}
	b.count(p, m, b.settings.Now(), -1)
}

// count steps the cell with an outcome and unlocks the mutex, which the caller holds. took
// is how long the call took, negative where that was not measured.
func (b *Breaker) count(p reducer.Permit, m meaning, now clock.Mark, took time.Duration) (counted bool) {
	o := m.outcome
	a, why, before := reducer.Action{Kind: reducer.Record, Outcome: o, Permit: p, Value: uint64(max(0, m.after))}, cause{}, len(b.out)
	if b.events.listeners.Hears(decision.Change) {
		why.counts, why.slow, _ = breaker.CountsAfter(b.cell, a, now)
	}
	counted = b.cell.Step(a, now, &b.out).Verdict == reducer.Done && (o == reducer.OK || o == reducer.Fail || o == reducer.Timeout)
	if counted {
		b.measure(took)
	}
	if after := len(b.out); after > before && b.core.Mode == breaker.Open {
		why.at = after
	}
	b.unlock(why)
	return counted
}

// measure adds the time of a call, negative for none. The caller holds the mutex.
func (b *Breaker) measure(took time.Duration) {
	if took >= 0 {
		b.measured++
		b.took += took
	}
}

// recordAt is record for a breaker that needs the time, or whose calls have a listener.
func (b *Breaker) recordAt(ctx context.Context, p reducer.Permit, m meaning, err error) {
	o, now, took := m.outcome, b.settings.Now(), time.Duration(-1)
	if p.Mark == clock.Always {
		p.Mark = now // a call whose beginning is not known is not slow
	} else {
		took = max(0, now.Sub(p.Mark))
	}
	slowOver, counted := b.slowOver, true
	if o == reducer.OK && b.cell.Exit(p, now) {
		b.measure(took)
		b.mu.Unlock()
	} else {
		counted = b.count(p, m, now, took)
	}
	if b.events.listeners.HearsEnds() {
		b.ended(ctx, o, now, took, counted && slowOver > 0 && took > slowOver, err)
	}
}

// ended emits the end of a call.
func (b *Breaker) ended(ctx context.Context, o reducer.Outcome, now clock.Mark, took time.Duration, slow bool, err error) {
	if !slow && err == nil {
		b.events.call(ctx, decision.End, "", 0, o, max(0, took), now)
		return
	}
	e := Event{Outcome: o, Elapsed: max(0, took), Err: err}
	if slow {
		e.Kind, e.Wait = decision.Slow, took
		b.events.emit(ctx, now, &e)
	}
	e.Kind, e.Wait = decision.End, 0
	b.events.emit(ctx, now, &e)
}

// Do runs fn unless the context is over or the breaker refuses, and records what
// fn returns. A panic counts as a failure and continues.
func (b *Breaker) Do(ctx context.Context, fn func(context.Context) error) error {
	permit, err := b.admit(ctx)
	if err != nil {
		return err
	}
	means := meaning{outcome: reducer.Fail}
	defer func() { b.settle(ctx, permit, means, err) }()
	failed := fn(ctx)
	means.outcome = runner.Unclassified(failed) // where a classifier panics
	means, err = b.result(ctx, nil, failed)
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

// Reset returns the breaker to its initial state. Where that is another mode, the event is a
// change; where it is the present one, and outcomes or openings are forgotten, a manual event
// with the action reset. The reset of a breaker that is as a new one has no event.
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
	now := b.settings.Now()
	b.put(cell.Adopt(maker, b.cell, now, &b.out), c)
	b.unlock(cause{})
	b.events.configured(now)
	b.step(reducer.Action{Kind: reducer.Tick})
	return nil
}
