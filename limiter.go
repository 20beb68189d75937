package sluice

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// Limiter is a rate limiter alone. It is safe for concurrent use.
//
// While nobody waits at a token bucket, its state is one atomic word; otherwise
// a mutex guards it.
type Limiter struct {
	*settings
	word atomic.Pointer[word] // nil for other algorithms
	box  *box
	// users of the state in the box: waiters, reservations, for which one word
	// is not enough, and whoever is stepping it. Guarded by box.mu.
	users int
}

// word is the state of a token bucket. Another configuration has another one,
// and leaves this one locked for good.
type word struct {
	tat    atomic.Int64 // theoretical arrival time, or locked
	bucket *tokenbucket.Machine
}

// locked in a word says that the state stands in the box.
const locked = math.MinInt64

// NewLimiter makes a limiter. Config.Wait and Config.Queue bound Wait alone;
// without them a caller waits for as long as its context lets it.
func NewLimiter(c limiter.Config, options ...Option) (*Limiter, error) {
	maker, bucket, err := makeLimiter(c)
	if err != nil {
		return nil, err
	}
	l := &Limiter{settings: newSettings(options)}
	now := l.now()
	l.box = newBox(maker.New(now), new(sync.Mutex), l.now, nil)
	if bucket != nil {
		w := &word{bucket: bucket}
		w.tat.Store(int64(now))
		l.word.Store(w)
	}
	return l, nil
}

func makeLimiter(c limiter.Config) (cell.Maker, *tokenbucket.Machine, error) {
	if c.Wait == 0 && c.Queue == 0 {
		c.Wait, c.Queue = math.MaxInt64, limiter.MaxQueue
	}
	maker, err := cell.ForLimit(c)
	if err != nil || c.Algorithm != limiter.TokenBucket {
		return maker, nil, err
	}
	bucket, err := tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: c.Burst})
	return maker, bucket, err
}

// Allow reports whether a permit is free now, and takes it.
func (l *Limiter) Allow() bool { return l.AllowN(1) }

// AllowN is Allow for n permits: all of them or none. 0 is always allowed; more
// than the burst, or than the count of a window, never.
func (l *Limiter) AllowN(n uint32) bool {
	now := l.now()
	if w := l.word.Load(); w != nil {
		for tat := w.tat.Load(); tat != locked; tat = w.tat.Load() {
			next, ok := w.bucket.Take(clock.Mark(tat), n, now)
			if !ok || n == 0 {
				return ok
			}
			if w.tat.CompareAndSwap(tat, int64(next)) {
				return true
			}
		}
	}
	return l.step(reducer.Action{Kind: reducer.TryAcquire, Cost: n}, now).Verdict == reducer.Admit
}

// Wait waits for a permit. It returns nil when it has one, a RejectedError when
// it would wait longer than Config.Wait or the queue is full, else the error of
// the context.
func (l *Limiter) Wait(ctx context.Context) error { return l.WaitN(ctx, 1) }

// WaitN is Wait for n permits.
func (l *Limiter) WaitN(ctx context.Context, n uint32) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w := l.word.Load(); w != nil && w.tat.Load() != locked && l.AllowN(n) {
		return nil
	}
	l.enter()
	defer l.exit()
	answer, w := l.box.acquire(n, l.now())
	if w == nil {
		return l.refusal(answer)
	}
	select {
	case <-w.ready:
	case <-ctx.Done():
		if !w.leave(l.now()) && w.effect.Kind == reducer.Grant {
			l.box.step(reducer.Action{Kind: reducer.Cancel, Cost: n, Permit: w.effect.Permit}, l.now())
		}
		return ctx.Err()
	}
	if w.effect.Kind == reducer.Grant {
		return nil
	}
	return &RejectedError{Step: "limit", Reason: w.effect.Reason, RetryAfter: -1, Waited: true}
}

func (l *Limiter) refusal(a reducer.Answer) error {
	if a.Verdict == reducer.Admit {
		return nil
	}
	after, ok := a.RetryAfter(l.now())
	if !ok {
		after = -1
	}
	return &RejectedError{Step: "limit", Reason: a.Reason, RetryAfter: after}
}

// Peek returns how many permits are free, and after what time n of them are;
// negative for never.
func (l *Limiter) Peek(n uint32) (free uint32, after time.Duration) {
	now := l.now()
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

// peekBucket answers as a limiter of the bucket does at which nobody waits.
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

// Drain gives up what is free now, because the service asked for a pause.
func (l *Limiter) Drain() {
	l.step(reducer.Action{Kind: reducer.Drain}, l.now())
}

// Reservation is permits taken ahead of their use.
type Reservation struct {
	limiter *Limiter
	permit  reducer.Permit
	cost    uint32
	at      clock.Mark
}

// Reserve takes n permits of a token bucket for use at the latest after wait;
// of a window those that are free now. The error is a RejectedError, and
// nothing is taken.
func (l *Limiter) Reserve(n uint32, wait time.Duration) (Reservation, error) {
	b := l.box
	b.mu.Lock()
	now := l.now()
	l.lock() // for good where permits may come back
	if b.busy() {
		b.catchUp(now)
	}
	answer := b.cell.Step(reducer.Action{Kind: reducer.Reserve, Cost: n, Permit: reducer.Permit{Mark: now.Add(wait)}}, now, &b.out)
	r := Reservation{limiter: l, permit: answer.Permit, cost: n, at: now}
	if m, state := cell.Limiter(b.cell); answer.Verdict == reducer.Admit {
		r.at = m.ReadyAt(state, n, now)
	}
	if n == 0 || answer.Verdict != reducer.Admit {
		l.unlock()
	}
	b.settle(now)
	if answer.Verdict != reducer.Admit {
		return Reservation{}, l.refusal(answer)
	}
	return r, nil
}

// Delay returns how long to wait before the permits may be used, at least 0.
func (r Reservation) Delay() time.Duration {
	if r.limiter == nil {
		return 0
	}
	return max(0, r.at.Sub(r.limiter.now()))
}

// Cancel gives back what nobody has built on since. Only the first call counts.
func (r *Reservation) Cancel() {
	if r.limiter == nil {
		return
	}
	l := r.limiter
	r.limiter = nil
	l.box.step(reducer.Action{Kind: reducer.Cancel, Cost: r.cost, Permit: r.permit}, l.now())
}

// Configure changes the limiter in force, as the policy reference says. An
// error changes nothing.
func (l *Limiter) Configure(c limiter.Config) error {
	maker, bucket, err := makeLimiter(c)
	if err != nil {
		return err
	}
	b := l.box
	b.mu.Lock()
	now := l.now()
	l.lock()
	b.catchUp(now)
	b.cell = maker.Adopt(b.cell, now, &b.out)
	if bucket == nil {
		l.word.Store(nil)
	} else {
		w := &word{bucket: bucket}
		w.tat.Store(locked)
		l.word.Store(w)
	}
	l.unlock()
	b.settle(now)
	return nil
}

// step steps the state for a caller that does not wait.
func (l *Limiter) step(a reducer.Action, now clock.Mark) reducer.Answer {
	b := l.box
	b.mu.Lock()
	l.lock()
	if b.busy() {
		b.catchUp(now)
	}
	answer := b.cell.Step(a, now, &b.out)
	l.unlock()
	b.settle(now)
	return answer
}

// enter is lock for a caller without the mutex.
func (l *Limiter) enter() {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	l.lock()
}

// exit is unlock for a caller without the mutex.
func (l *Limiter) exit() {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	l.unlock()
}

// lock moves the state from the word to the box, where it stays until unlock.
// The caller holds the mutex.
func (l *Limiter) lock() {
	l.users++
	w := l.word.Load()
	if w == nil {
		return
	}
	if tat := w.tat.Swap(locked); tat != locked {
		_, state := cell.Limiter(l.box.cell)
		state.SetBucket(tokenbucket.State{TAT: clock.Mark(tat)})
	}
}

// unlock moves it back when nobody needs it there. The caller holds the mutex.
func (l *Limiter) unlock() {
	l.users--
	w := l.word.Load()
	if l.users > 0 || w == nil {
		return
	}
	_, state := cell.Limiter(l.box.cell)
	w.tat.Store(int64(state.Bucket().TAT))
}
