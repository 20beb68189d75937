package sluice

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// Wait waits for a permit of the key. It returns nil when it has one, a RejectedError when it
// would wait longer than Config.Wait or than its context, else the error of the context.
//
// At a token or leaky bucket callers of a key are served in their order: each takes its
// permits ahead, as by Reserve, and one that gives up returns those on which no later caller
// depends. The other algorithms reserve nothing: a caller asks again when its permits are to
// be free, and callers have no order.
func (l *KeyedLimiter) Wait(ctx context.Context, key string) error { return l.WaitN(ctx, key, 1) }

// WaitN is Wait for n permits.
func (l *KeyedLimiter) WaitN(ctx context.Context, key string, n uint32) error {
	return l.wait(ctx, key, key, n)
}

// wait is WaitN. name is the key in events.
func (l *KeyedLimiter) wait(ctx context.Context, key, name string, n uint32) error {
	switch {
	case l.settings == nil:
		return errZeroKeyed
	case ctx.Err() != nil:
		return runner.Cancelled(ctx, nil)
	}
	began := l.settings.Now()
	bounds := l.bounds(ctx, began)
	for now := began; ; now = l.settings.Now() {
		r, answer := l.ask(key, n, bounds.latest, now)
		turn := clock.Never
		switch at, told := answer.RetryAt(); {
		case answer.Verdict == reducer.Admit:
			turn = r.turn
		case told && answer.Reason == reducer.ReasonRate && at <= bounds.latest && !bounds.blocks:
			turn = at // of permits that cannot be reserved
		default:
			return l.refuse(ctx, name, n, answer, bounds, now)
		}
		if now == began && turn > now {
			l.events.queued(ctx, name, n, bounds.ends, now)
		}
		if l.settings.shadow {
			l.events.admitted(ctx, name, n, now)
			return nil
		}
		runner.Pause(ctx, turn.Sub(now))
		if now = l.settings.Now(); now < turn && ctx.Err() != nil {
			Reservation{r}.Cancel()
			l.events.emit(ctx, now, &Event{Kind: decision.End, Key: name, Cost: n, Wait: now.Sub(began), Elapsed: now.Sub(began), Outcome: reducer.Cancelled, Err: context.Cause(ctx)})
			return runner.Cancelled(ctx, nil)
		}
		if r != nil {
			if turn > began {
				l.events.emit(ctx, now, &Event{Kind: decision.Granted, Key: name, Cost: n, Wait: now.Sub(began), Elapsed: now.Sub(began)})
			}
			l.events.admitted(ctx, name, n, now)
			return nil
		}
	}
}

// waitBounds are the marks that bound a wait.
type waitBounds struct {
	ends, deadline clock.Mark
	latest         clock.Mark // the last turn that is in time: a turn at ends is, a turn at the deadline is not
	blocks         bool
}

func (l *KeyedLimiter) bounds(ctx context.Context, began clock.Mark) waitBounds {
	c := l.config.Load()
	b := waitBounds{ends: clock.Never, deadline: clock.Never, blocks: c.blocks}
	switch {
	case c.blocks:
		b.ends = began
	case c.wait > 0:
		b.ends = began.Add(c.wait)
	}
	if at, ok := ctx.Deadline(); ok {
		b.deadline = began.Add(time.Until(at))
	}
	b.latest = max(began, min(b.ends, b.deadline.Add(-1)))
	return b
}

// refuse returns the error of a caller that is not admitted in time.
func (l *KeyedLimiter) refuse(ctx context.Context, name string, n uint32, answer reducer.Answer, b waitBounds, now clock.Mark) error {
	why, after := answer.Reason, time.Duration(-1)
	if turn, told := answer.RetryAt(); told {
		after = max(0, turn.Sub(now))
		if why == reducer.ReasonRate && !b.blocks {
			after = turn.Sub(max(now, b.latest))
			if why = reducer.ReasonWait; turn <= b.ends {
				why = reducer.ReasonDeadline
			}
		}
	}
	l.events.rejected(ctx, name, n, why, after, now)
	if l.settings.shadow {
		return nil
	}
	return &RejectedError{Step: "limit", Reason: why, RetryAfter: after}
}

// Reserve takes n permits of the key that may be used after at most wait, as
// Limiter.Reserve does. A reservation of a key that was evicted since returns nothing.
func (l *KeyedLimiter) Reserve(key string, n uint32, wait time.Duration) (Reservation, error) {
	return l.reserve(key, key, n, wait)
}

// reserve is Reserve. name is the key in events.
func (l *KeyedLimiter) reserve(key, name string, n uint32, wait time.Duration) (Reservation, error) {
	if l.settings == nil {
		return Reservation{}, errZeroKeyed
	}
	now := l.settings.Now()
	r, answer := l.ask(key, n, now.Add(wait), now)
	if l.events.on() {
		l.events.answered(noContext, name, n, answer, now)
	}
	switch {
	case answer.Verdict == reducer.Admit:
		return Reservation{r}, nil
	case l.settings.shadow:
		return Reservation{}, nil
	}
	after, told := answer.RetryAfter(now)
	if !told {
		after = -1
	}
	return Reservation{}, &RejectedError{Step: "limit", Reason: answer.Reason, RetryAfter: after}
}

// ask reserves n permits of a key whose turn is at the latest at a mark. It returns nil where
// they are not admitted.
func (l *KeyedLimiter) ask(key string, n uint32, latest, now clock.Mark) (*reservation, reducer.Answer) {
	r, at, _ := l.cells.Use(key, now)
	a := r.Acquire(reducer.Action{Kind: reducer.Reserve, Cost: n, Permit: reducer.Permit{Mark: latest}})
	answer := r.Cell().Step(a, at, r.Out())
	r.Answered(&a, &answer)
	var made *reservation
	if answer.Verdict == reducer.Admit {
		made = &reservation{limiter: keyedReserver{l, r.Handle()}, permit: answer.Permit, cost: n, turn: now}
		if n > 0 {
			made.turn = max(now, r.ReadyAt(answer.Permit))
		}
	}
	r.Unlock()
	l.evicted(at)
	return made, answer
}

// keyedReserver gives the permits of a key back.
type keyedReserver struct {
	*KeyedLimiter
	handle keyed.Handle
}

// now implements reserver.
func (k keyedReserver) now() clock.Mark { return k.settings.Now() }

// giveBack implements reserver.
func (k keyedReserver) giveBack(x *reservation, now clock.Mark) {
	r, ok := k.cells.Resolve(k.handle)
	if !ok {
		return
	}
	if now = max(now, r.Last()); now < x.turn {
		r.Cell().Step(reducer.Action{Kind: reducer.Cancel, Cost: x.cost, Permit: x.permit}, now, r.Out())
	}
	r.Unlock()
}
