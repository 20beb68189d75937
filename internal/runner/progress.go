package runner

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// next waits until the function is to run on the caller's goroutine (again), or the
// call is over.
func (r *run) next() (again bool, _ error) {
	for !r.running {
		if r.call.Phase == pipeline.Over {
			return false, r.result()
		}
		if r.answered && r.call.Phase == pipeline.Sleeping {
			r.abandon()
		}
		r.progress(r.rest())
	}
	return true, nil
}

// rest waits for whatever comes first, and returns the mark at which it came.
func (r *run) rest() clock.Mark {
	plan := r.layout.plan
	at := min(plan.EndsAt(&r.call), plan.ResumesAt(&r.call), plan.InjectsAt(&r.call), r.softAt())
	now := r.p.Now()
	if at <= now {
		return now
	}
	var due <-chan time.Time
	if at != clock.Never {
		timer := time.NewTimer(at.Sub(now))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-r.ready:
	case <-r.ctx.Done():
	case <-due:
		return max(r.p.Now(), at)
	}
	return r.p.Now()
}

// progress processes what is due up to a mark: at one mark ends come before starts,
// and nothing starts after the end.
func (r *run) progress(now clock.Mark) {
	now = r.until(now)
	r.soft(now)
	r.collect()
	if r.inject(now - 1); r.running {
		return
	}
	for r.ends(now) {
	}
	if r.call.Phase == pipeline.Over {
		return
	}
	r.now = max(r.now, now)
	if r.ctx.Err() != nil {
		r.giveUp()
		return
	}
	r.poll(reducer.Grant, reducer.Drop)
	// A hedge that is due at the mark at which its attempt was admitted comes before what is
	// injected there.
	for plan, again := r.layout.plan, true; again; again = r.call.Phase == pipeline.Racing && plan.ResumesAt(&r.call) <= r.now {
		switch {
		case plan.ResumesAt(&r.call) > r.now:
		case r.call.Phase == pipeline.Racing:
			plan.Hedge(r, &r.call, r.now)
		default:
			r.warned &= 1<<(plan.RetryIndex()+1) - 1 // the next attempt passes the steps below the retry again
			r.happen(pipeline.Event{Kind: pipeline.Resumed})
		}
	}
	r.sweep()
	r.inject(now)
}

// inject ends the injected latency that is over up to a mark, each at its own mark and
// after the timeouts that came before, until a function is to run on the caller's
// goroutine.
func (r *run) inject(now clock.Mark) {
	plan := r.layout.plan
	for !r.running {
		at := plan.InjectsAt(&r.call)
		if at > now || at == clock.Never {
			return
		}
		for r.ends(at) {
		}
		if plan.InjectsAt(&r.call) <= at {
			r.now = max(r.now, at)
			plan.Inject(r, &r.call, r.now)
			r.sweep()
		}
	}
}

// injected makes the error of an attempt that the chaos step ended the result of the call
// so far.
func (r *run) injected(d *decision.Decision) {
	r.last, r.returnValue = &api.InjectedError{Policy: r.p.name, Step: d.Step, Result: d.Outcome, After: max(0, d.RetryAfter)}, false
}

// giveUp ends a call whose caller cancelled while no function was running on its
// goroutine.
func (r *run) giveUp() {
	r.gaveUp, r.returnValue = true, false
	r.traced.Cancel(r.now)
	r.happen(pipeline.Event{Kind: pipeline.Abandoned})
	r.sweep()
}

// until returns the mark up to which timeouts have ended at a mark. The caller's
// deadline and the mark that was made of it may differ by the time between two
// clock reads.
func (r *run) until(now clock.Mark) clock.Mark {
	if at := r.call.Deadline; at != clock.Never && errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		return max(now, at)
	}
	return now
}

// poll takes the effects of these kinds that queues have for the waiters of the call.
func (r *run) poll(kinds ...reducer.EffectKind) {
	for {
		first := -1
		for n, w := range r.waits {
			if w.Over() && slices.Contains(kinds, w.Effect.Kind) && (first < 0 || w.before(r.waits[first])) {
				first = n
			}
		}
		if first < 0 {
			return
		}
		w := r.waits[first]
		r.waits = slices.Delete(r.waits, first, first+1)
		r.waitEnded(w)
		if w.Effect.Kind == reducer.Grant {
			r.granted(w)
		}
		event := pipeline.Event{Kind: pipeline.Dropped, Attempt: w.attempt, Step: w.step, Answer: reducer.Answer{Reason: w.Effect.Reason}}
		if w.Effect.Kind == reducer.Grant {
			event.Kind, event.Answer = pipeline.Granted, reducer.Admitted(w.Effect.Permit)
		}
		r.happen(event)
	}
}

// softAt returns the mark of the next soft limit that has a listener, clock.Never
// for none.
func (r *run) softAt() clock.Mark {
	next := clock.Never
	r.softs(func(_ uint8, _ int, at clock.Mark, _ *uint16) { next = min(next, at) })
	return next
}

// soft emits the soft limits that have passed.
func (r *run) soft(now clock.Mark) {
	r.softs(func(k uint8, i int, at clock.Mark, warned *uint16) {
		if at > now {
			return
		}
		*warned |= 1 << i
		e := api.Event{Kind: decision.Timeout, Step: r.layout.plan.StepName(i), Attempt: r.call.NumberOf(k), Soft: true}
		r.p.report(&e, r.ctx, &r.request, r.began, max(r.began, at))
	})
}

// softs calls f with the soft limits that have not been emitted: of the attempts
// that run or wait, and of the steps that the call itself has passed.
func (r *run) softs(f func(k uint8, i int, at clock.Mark, warned *uint16)) {
	if !r.layout.softens || !r.p.Hears(decision.Timeout) {
		return
	}
	plan := r.layout.plan
	var k uint8
	// Elsewhere the attempts of the round before are over.
	if phase := r.call.Phase; phase == pipeline.Running || phase == pipeline.Racing {
		k = min(r.attemptNo, r.call.Tries())
	}
	for i := range plan.Len() {
		if at := plan.SoftAt(&r.call, k, i); at != clock.Never && r.warned&(1<<i) == 0 {
			f(k, i, at, &r.warned)
		}
	}
	for _, t := range r.tries {
		for i := plan.HedgeIndex() + 1; i < plan.Len() && !t.settled; i++ {
			if at := plan.SoftAt(&r.call, t.k, i); at != clock.Never && t.warned&(1<<i) == 0 {
				f(t.k, i, at, &t.warned)
			}
		}
	}
}

// warner emits soft limits at their marks while a function runs. Until the warner is
// stopped, its timer may use those fields of the run that soft limits need.
type warner struct {
	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// warn starts a warner where a soft limit is ahead and has a listener.
func (r *run) warn() {
	if !r.layout.softens {
		return
	}
	at := r.softAt()
	if at == clock.Never {
		return
	}
	w := &warner{}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(max(0, at.Sub(r.p.Now())), func() { w.fire(r, at) })
	r.warner = w
}

// fire emits the soft limits that are due. The caller's goroutine waits for it to return.
func (w *warner) fire(r *run, at clock.Mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	r.soft(max(at, r.p.Now()))
	if at = r.softAt(); at != clock.Never {
		w.timer = time.AfterFunc(max(0, at.Sub(r.p.Now())), func() { w.fire(r, at) })
	}
}

// stop stops the warner. It emits nothing afterwards.
func (w *warner) stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}

// Pause waits for as long as the context lets it.
func Pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
