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
	word   atomic.Int64 // theoretical arrival time, or locked
	bucket atomic.Pointer[tokenbucket.Machine]
	box    *box
	config sync.Mutex
	maker  cell.Maker
	// users of the state in the box: waiters, reservations, for which one word
	// is not enough, and whoever is stepping it. Guarded by box.mu.
	users int
}

// locked in the word says that the state stands in the box.
const locked = math.MinInt64

// NewLimiter makes a limiter. Config.Wait and Config.Queue bound Wait alone;
// without them a caller waits for as long as its context lets it.
func NewLimiter(c limiter.Config, options ...Option) (*Limiter, error) {
	maker, bucket, err := makeLimiter(c)
	if err != nil {
		return nil, err
	}
	l := &Limiter{settings: newSettings(options), maker: maker}
	l.box = newBox(maker.New(l.now()), l.now, nil)
	l.word.Store(locked)
	if bucket != nil {
		l.bucket.Store(bucket)
		l.word.Store(int64(l.now()))
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
	for {
		tat := l.word.Load()
		bucket := l.bucket.Load()
		if tat == locked || bucket == nil {
			return l.step(reducer.Action{Kind: reducer.TryAcquire, Cost: n}, now).Verdict == reducer.Admit
		}
		next, ok := bucket.Take(clock.Mark(tat), n, now)
		if !ok || n == 0 {
			return ok
		}
		if l.word.CompareAndSwap(tat, int64(next)) {
			return true
		}
	}
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
	if l.word.Load() != locked && l.AllowN(n) {
		return nil
	}
	l.lock()
	defer l.unlock()
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
	answer := l.step(reducer.Action{Kind: reducer.Peek, Cost: n}, now)
	if answer.Verdict == reducer.Admit {
		return answer.Free, 0
	}
	if wait, ok := answer.RetryAfter(now); ok {
		return answer.Free, wait
	}
	return answer.Free, -1
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
	l.lock() // for good: the permit may come back
	now := l.now()
	answer := l.box.step(reducer.Action{Kind: reducer.Reserve, Cost: n, Permit: reducer.Permit{Mark: now.Add(wait)}}, now)
	if answer.Verdict != reducer.Admit {
		return Reservation{}, l.refusal(answer)
	}
	r := Reservation{limiter: l, permit: answer.Permit, cost: n, at: now}
	if bucket := l.bucket.Load(); bucket != nil {
		r.at = bucket.ReadyAt(answer.Permit)
	}
	return r, nil
}

// Delay returns how long to wait before the permits may be used, at least 0.
func (r Reservation) Delay() time.Duration { return max(0, r.at.Sub(r.limiter.now())) }

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
	l.config.Lock()
	defer l.config.Unlock()
	l.lock()
	l.box.adopt(maker, false)
	l.maker = maker
	l.bucket.Store(bucket)
	l.unlock()
	return nil
}

// step steps the box for a caller that does not wait.
func (l *Limiter) step(a reducer.Action, now clock.Mark) reducer.Answer {
	l.lock()
	defer l.unlock()
	return l.box.step(a, now)
}

// lock moves the state from the word to the box, where it stays until unlock.
func (l *Limiter) lock() {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	l.users++
	if tat := l.word.Swap(locked); tat != locked {
		state := l.bucket.Load().AppendState(nil, tokenbucket.State{TAT: clock.Mark(tat)})
		// What has just been encoded by this machine decodes.
		_ = cell.RestoreCounter(l.box.cell, state)
	}
}

// unlock moves it back when nobody needs it there.
func (l *Limiter) unlock() {
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	if l.users--; l.users > 0 || l.bucket.Load() == nil {
		return
	}
	if state, ok := cell.Counter(l.box.cell).(tokenbucket.State); ok {
		l.word.Store(int64(state.TAT))
	}
}
