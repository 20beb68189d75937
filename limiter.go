package sluice

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// Limiter is a rate limiter alone. It is safe for concurrent use.
//
// While no caller waits at a token bucket, its state is one atomic word; otherwise
// a mutex guards it. NewLimiter makes one; a zero Limiter refuses every caller.
type Limiter struct {
	settings *settings
	events   emitter
	word     atomic.Pointer[word] // nil for other algorithms
	hasty    atomic.Bool          // Do refuses at once
	cell     *runner.LockedCell
	// users of the state in the cell: waiters and the caller that steps it. The state
	// also stays there until the turn of the last reservation, before which permits may
	// come back: one word is not enough for that. Guarded by cell.Lock.
	users int
	until clock.Mark
	// phantoms wait in shadow, without a caller. Guarded by cell.Lock.
	phantoms []*runner.Waiter
}

// word is the state of a token bucket. Another configuration has another word
// and leaves this one locked permanently.
type word struct {
	tat    atomic.Int64 // theoretical arrival time, or locked
	bucket *tokenbucket.Machine
}

// locked in a word says that the state is in the cell.
const locked = math.MinInt64

// NewLimiter makes a limiter. Config.Wait and Config.Queue bound Wait, Do and Execute.
// Without them Do and Execute refuse at once, as a step of a policy does, and Wait, which is
// called to wait, waits until its context is over. Beside Config.Block no caller waits: Wait
// refuses as Allow does.
func NewLimiter(c limiter.Config, options ...Option) (*Limiter, error) {
	s, err := newSettings("Limiter", optionClock|optionLogger|optionRequestID|optionShadow, options)
	if err != nil {
		return nil, err
	}
	maker, bucket, err := makeLimiter(c, s)
	if err != nil {
		return nil, err
	}
	l := &Limiter{settings: s, until: clock.Always}
	l.events.begin("limit", s)
	now := l.settings.Now()
	l.hasty.Store(c.Wait == 0)
	l.cell = runner.NewLockedCell(maker.New(now), l.settings.Now, false, nil)
	if bucket != nil {
		w := &word{bucket: bucket}
		w.tat.Store(int64(now))
		l.word.Store(w)
	}
	return l, nil
}

func makeLimiter(c limiter.Config, s *settings) (cell.Maker, *tokenbucket.Machine, error) {
	if err := checkAlone(c); err != nil {
		return nil, nil, err
	}
	c = dated(c.WithDefaults(), s)
	if c.Wait == 0 && c.Queue == 0 && c.Block.After == 0 {
		c.Wait, c.Queue = math.MaxInt64, limiter.MaxQueue
	}
	maker, err := limiter.Cells(c)
	if err != nil || !c.OneWord() {
		return maker, nil, err
	}
	bucket, err := tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: c.Burst})
	return maker, bucket, err
}

// dated returns the configuration with the wall time of mark 0 where it has windows of the
// calendar.
func dated(c limiter.Config, s *settings) limiter.Config {
	if c.Calendar.Unit != calendar.NoUnit && c.Calendar.Epoch == 0 {
		c.Calendar.Epoch = s.Epoch()
	}
	return c
}

// checkAlone returns an error for what only a step of a pipeline has.
func checkAlone(c limiter.Config) error {
	switch {
	case c.Cost != (limiter.Cost{}):
		return reducer.BadCount("cost", uint64(c.Cost.Permits), "in a pipeline alone; here AllowN and its like have the cost")
	case c.Charge != limiter.ChargeStart:
		return reducer.BadCount("charge", uint64(c.Charge), "in a pipeline alone; here calls have no end")
	case c.Counts != 0:
		return reducer.BadCount("counts", uint64(c.Counts), "in a pipeline alone; here calls have no outcome")
	}
	return nil
}

// Allow reports whether a permit is free now, and takes it.
func (l *Limiter) Allow() bool { return l.AllowN(1) }

// AllowN is Allow for n permits: all of them or none. 0 is always allowed; more
// than the burst, or than the count of a window, never.
func (l *Limiter) AllowN(n uint32) bool {
	if l.settings == nil {
		return false
	}
	now := l.settings.Now()
	if w := l.word.Load(); w != nil {
		if tat, ok := w.take(n, now); tat != locked {
			if l.events.on() {
				l.took(w, tat, n, ok, now)
			}
			return ok || l.settings.shadow
		}
	}
	return l.try(n, now) || l.settings.shadow
}

// take takes n permits. It returns the TAT that decided, which is locked where the state
// is in the cell.
func (w *word) take(n uint32, now clock.Mark) (tat int64, ok bool) {
	for tat = w.tat.Load(); tat != locked; tat = w.tat.Load() {
		next, admits := w.bucket.Take(clock.Mark(tat), n, now)
		if !admits || n == 0 || w.tat.CompareAndSwap(tat, int64(next)) {
			return tat, admits
		}
	}
	return locked, false
}

// took emits what word.take decided.
func (l *Limiter) took(w *word, tat int64, n uint32, ok bool, now clock.Mark) {
	switch {
	case ok:
		if l.events.listeners.Hears(decision.Admit) {
			l.events.admitted(noContext, "", n, now)
		}
	case l.events.listeners.Hears(decision.Reject):
		l.events.answered(noContext, "", n, peekBucket(w.bucket, clock.Mark(tat), n, now), now)
	}
}

// try asks the state in the cell for n permits.
func (l *Limiter) try(n uint32, now clock.Mark) bool {
	if l.events.on() {
		answer := l.step(reducer.Action{Kind: reducer.TryAcquire, Cost: n}, now)
		l.events.answered(noContext, "", n, answer, now)
		return answer.Verdict == reducer.Admit
	}
	b := l.cell
	b.Lock()
	if m, state := limiter.Of(b.Cell); l.stays(now) && state.Waiting() == 0 && n > 0 && m.Config().Block.After == 0 {
		// What Enter does not admit where no caller waits is refused.
		_, ok := m.Enter(state, n, 0, clock.Never, now)
		b.Unlock()
		return ok
	}
	return l.stepLocked(reducer.Action{Kind: reducer.TryAcquire, Cost: n}, now).Verdict == reducer.Admit
}

// Wait waits for a permit. It returns nil when it has one, a RejectedError when
// it would wait longer than Config.Wait or the queue is full, else the error of
// the context.
func (l *Limiter) Wait(ctx context.Context) error { return l.WaitN(ctx, 1) }

// WaitN is Wait for n permits.
func (l *Limiter) WaitN(ctx context.Context, n uint32) error {
	if l.settings == nil {
		return errZeroLimiter
	}
	if ctx.Err() != nil {
		return runner.Cancelled(ctx, nil)
	}
	if w := l.word.Load(); w != nil {
		now := l.settings.Now()
		if tat, ok := w.take(n, now); ok && tat != locked {
			if l.events.on() {
				l.events.admitted(ctx, "", n, now)
			}
			return nil
		}
	}
	l.enter()
	defer l.exit()
	now := l.settings.Now()
	a := reducer.Action{Kind: reducer.Acquire, Cost: n}
	if at, ok := ctx.Deadline(); ok {
		a = a.WithDeadline(now.Add(time.Until(at)))
	}
	answer, w := l.cell.Acquire(a, now, nil)
	if l.events.on() {
		l.events.answered(ctx, "", n, answer, now)
	}
	switch {
	case w == nil:
		return l.refusal(answer)
	case l.settings.shadow:
		l.phantom(w)
		return nil
	}
	select {
	case <-w.Ready:
	case <-ctx.Done():
		switch {
		case w.Leave(l.settings.Now()):
			w.Free()
		case w.Effect.Kind == reducer.Grant:
			l.cell.Step(reducer.Action{Kind: reducer.Cancel, Cost: n, Permit: w.Effect.Permit}, l.settings.Now())
		}
		l.events.waited(ctx, n, reducer.Effect{}, now, l.settings.Now())
		return runner.Cancelled(ctx, nil)
	}
	effect := w.Effect
	w.Free()
	if l.events.on() {
		l.events.waited(ctx, n, effect, now, l.settings.Now())
	}
	if effect.Kind == reducer.Grant {
		return nil
	}
	return &RejectedError{Step: "limit", Reason: effect.Reason, RetryAfter: -1, Waited: true}
}

// phantom leaves a waiter in the queue whose caller runs, in shadow. The state stays in the
// cell until its wait is over.
func (l *Limiter) phantom(w *runner.Waiter) {
	l.cell.Lock()
	l.phantoms = append(l.phantoms, w)
	l.cell.Unlock()
}

// enterCall is Wait for a function: without Config.Wait it refuses at once.
func (l *Limiter) enterCall(ctx context.Context) error {
	if l.settings == nil || !l.hasty.Load() {
		return l.Wait(ctx)
	}
	if ctx.Err() != nil {
		return runner.Cancelled(ctx, nil)
	}
	now := l.settings.Now()
	if w := l.word.Load(); w != nil {
		if tat, ok := w.take(1, now); tat != locked {
			if l.events.on() {
				l.took(w, tat, 1, ok, now)
			}
			if ok {
				return nil
			}
			return l.refusal(peekBucket(w.bucket, clock.Mark(tat), 1, now))
		}
	}
	answer := l.step(reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, now)
	if l.events.on() {
		l.events.answered(ctx, "", 1, answer, now)
	}
	return l.refusal(answer)
}

func (l *Limiter) refusal(a reducer.Answer) error {
	if a.Verdict == reducer.Admit || l.settings.shadow {
		return nil
	}
	after, ok := a.RetryAfter(l.settings.Now())
	if !ok {
		after = -1
	}
	return &RejectedError{Step: "limit", Reason: a.Reason, RetryAfter: after}
}

// Peek returns how many permits are free, and after what time n of them are;
// negative for never.
func (l *Limiter) Peek(n uint32) (free uint32, after time.Duration) {
	if l.settings == nil {
		return 0, -1
	}
	now := l.settings.Now()
	answer := l.peek(n, now)
	if answer.Verdict == reducer.Admit {
		return answer.Free, 0
	}
	if wait, ok := answer.RetryAfter(now); ok {
		return answer.Free, wait
	}
	return answer.Free, -1
}

func (l *Limiter) peek(n uint32, now clock.Mark) reducer.Answer {
	if w := l.word.Load(); w != nil {
		if tat := w.tat.Load(); tat != locked {
			return peekBucket(w.bucket, clock.Mark(tat), n, now)
		}
	}
	return l.step(reducer.Action{Kind: reducer.Peek, Cost: n}, now)
}

// peekBucket answers a Peek as a limiter of the bucket without waiters does.
func peekBucket(b *tokenbucket.Machine, tat clock.Mark, n uint32, now clock.Mark) reducer.Answer {
	answer := reducer.Admitted(reducer.Permit{Mark: now})
	if _, ok := b.Take(tat, n, now); !ok {
		answer = reducer.Rejected(reducer.ReasonRate, b.Turn(tat, n, now))
		if n > b.Capacity() {
			answer.Reason = reducer.ReasonCapacity
		}
	}
	answer.Free = b.Free(tat, now)
	return answer
}

// Drain discards the free permits, because the service asked for a pause.
func (l *Limiter) Drain() {
	if l.settings != nil {
		now := l.settings.Now()
		l.step(reducer.Action{Kind: reducer.Drain}, now)
		l.events.emit(noContext, now, &Event{Kind: decision.Drained})
	}
}

// Reserve takes n permits of a token or leaky bucket that may be used after at most wait; of
// the other algorithms only permits that are free now. After an error, a
// RejectedError, nothing is taken.
func (l *Limiter) Reserve(n uint32, wait time.Duration) (Reservation, error) {
	if l.settings == nil {
		return Reservation{}, errZeroLimiter
	}
	b := l.cell
	b.Lock()
	now := l.settings.Now()
	l.lock()
	if b.Busy() {
		b.CatchUp(now)
	}
	answer, turn := reserve(b.Cell, n, wait, now, &b.Out)
	if turn > now {
		l.until = max(l.until, turn)
	}
	l.unlock(now)
	b.Settle(now)
	if l.events.on() {
		l.events.answered(noContext, "", n, answer, now)
	}
	if answer.Verdict != reducer.Admit {
		return Reservation{}, l.refusal(answer) // none in shadow, where the permits may be used at once
	}
	return reserved(l, n, answer.Permit, turn), nil
}

// now implements reserver.
func (l *Limiter) now() clock.Mark { return l.settings.Now() }

// giveBack implements reserver.
func (l *Limiter) giveBack(x *reservation, now clock.Mark) {
	l.cell.Step(reducer.Action{Kind: reducer.Cancel, Cost: x.cost, Permit: x.permit}, now)
}

// Configure changes the active limiter, as the policy reference says. An
// error changes nothing.
func (l *Limiter) Configure(c limiter.Config) error {
	if l.settings == nil {
		return errZeroLimiter
	}
	maker, bucket, err := makeLimiter(c, l.settings)
	if err != nil {
		return err
	}
	b := l.cell
	b.Lock()
	now := l.settings.Now()
	l.hasty.Store(c.Wait == 0)
	l.lock()
	b.CatchUp(now)
	b.Cell = cell.Adopt(maker, b.Cell, now, &b.Out)
	if bucket == nil {
		l.word.Store(nil)
	} else {
		w := &word{bucket: bucket}
		w.tat.Store(locked)
		l.word.Store(w)
	}
	l.unlock(now)
	b.Settle(now)
	l.events.configured(now)
	return nil
}

// step steps the state for a caller that does not wait.
func (l *Limiter) step(a reducer.Action, now clock.Mark) reducer.Answer {
	l.cell.Lock()
	return l.stepLocked(a, now)
}

// stepLocked is step for a caller that holds the mutex, and unlocks it.
func (l *Limiter) stepLocked(a reducer.Action, now clock.Mark) reducer.Answer {
	b := l.cell
	l.lock()
	if b.Busy() {
		b.CatchUp(now)
	}
	answer := b.Cell.Step(a, now, &b.Out)
	l.unlock(now)
	b.Settle(now)
	return answer
}

// enter is lock for a caller without the mutex.
func (l *Limiter) enter() {
	l.cell.Lock()
	defer l.cell.Unlock()
	l.lock()
}

// exit is unlock for a caller without the mutex.
func (l *Limiter) exit() {
	l.cell.Lock()
	defer l.cell.Unlock()
	l.unlock(l.settings.Now())
}

// stays reports whether the state is in the cell, and is not to be moved to the word at a
// mark. The caller holds the mutex.
func (l *Limiter) stays(now clock.Mark) bool {
	w := l.word.Load()
	return w == nil || l.until > now && w.tat.Load() == locked
}

// lock moves the state from the word to the cell, where it stays until unlock.
// The caller holds the mutex.
func (l *Limiter) lock() {
	l.users++
	w := l.word.Load()
	if w == nil {
		return
	}
	if tat := w.tat.Swap(locked); tat != locked {
		_, state := limiter.Of(l.cell.Cell)
		state.SetBucket(tokenbucket.State{TAT: clock.Mark(tat)})
	}
}

// unlock moves it back when it is not needed there. The caller holds the mutex.
func (l *Limiter) unlock(now clock.Mark) {
	l.users--
	w := l.word.Load()
	if len(l.phantoms) > 0 {
		l.phantoms = slices.DeleteFunc(l.phantoms, (*runner.Waiter).Over)
	}
	if l.users > 0 || w == nil || l.until > now || len(l.phantoms) > 0 {
		return
	}
	_, state := limiter.Of(l.cell.Cell)
	w.tat.Store(int64(state.Bucket().TAT))
}
