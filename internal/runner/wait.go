package runner

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// emitShadow emits that a step in shadow would have refused the call or made it wait.
func (r *run) emitShadow(i int, answer reducer.Answer, w *Waiter) {
	name := r.layout.plan.StepName(i)
	if w == nil {
		r.emit(Event{Kind: decision.Reject, Step: name, Reason: answer.Reason, RetryAfter: r.retryAfter(answer.Mark), Shadow: true})
		return
	}
	r.phantom = append(r.phantom, phantom{w, i})
	r.layout.plan.WaitUntil(&r.call, pipeline.Wait{Step: uint8(i)}, clock.Never)
	r.emit(Event{Kind: decision.Wait, Step: name, Attempt: r.call.Retry.Attempt + 1, Shadow: true})
}

func (r *run) emitWait(i int, answer reducer.Answer) {
	if r.p.hasListeners() {
		r.emit(Event{Kind: decision.Wait, Step: r.layout.plan.StepName(i), Attempt: r.call.Retry.Attempt + 1, Wait: answer.WaitEnds().Sub(r.now)})
	}
}

// await waits for the turn at a step. The wait ends with the caller's context
// and with the timeouts above it: at one mark ends come before what begins, and
// nothing begins after the end.
func (r *run) await(i int, w *Waiter) pipeline.Effect {
	at := r.layout.plan.CutAt(&r.call, 0)
	var due <-chan time.Time
	if at != clock.Never {
		timer := time.NewTimer(max(0, at.Sub(r.now)))
		defer timer.Stop()
		due = timer.C
	}
	ready, cut := false, false
	select {
	case <-w.Ready:
		ready = true
	case <-r.ctx.Done():
	case <-due:
		cut = true
	}
	woke := r.until(r.p.Now())
	if cut {
		woke = max(woke, at)
	}
	effect, cut := r.ends(woke)
	r.now = woke
	if ready && !cut && r.ctx.Err() == nil {
		return r.woken(i, w)
	}
	if !w.Leave(r.now) && (w.Effect.Kind == reducer.Grant || !cut) {
		// The turn came first: take it, and give it back in the right order.
		if late := r.woken(i, w); late.Do == pipeline.GiveUp {
			return late
		}
	}
	if cut {
		r.last, r.discardValue = r.timeout(effect, r.last), true
		return effect
	}
	return r.giveUp()
}

// giveUp ends a call whose caller gave up while no attempt was running.
func (r *run) giveUp() pipeline.Effect {
	r.gaveUp, r.discardValue = true, true
	return r.advance(pipeline.Event{Kind: pipeline.Abandoned})
}

// woken takes what the queue decided.
func (r *run) woken(i int, w *Waiter) pipeline.Effect {
	if w.Effect.Kind == reducer.Grant {
		return r.advance(pipeline.Event{Kind: pipeline.Granted, Step: uint8(i), Answer: reducer.Admitted(w.Effect.Permit)})
	}
	return r.advance(pipeline.Event{Kind: pipeline.Dropped, Step: uint8(i), Answer: reducer.Answer{Reason: w.Effect.Reason}})
}

// sleep waits for the next attempt.
func (r *run) sleep(e pipeline.Effect) pipeline.Effect {
	r.emit(Event{Kind: decision.Retry, Attempt: r.call.Retry.Attempt, Reason: reducer.CauseOf(e.Outcome), Wait: e.At.Sub(r.now)})
	r.abandon()
	woke := r.p.Now()
	if after := e.At.Sub(woke); after > 0 {
		Pause(r.ctx, after)
		if woke = r.p.Now(); r.ctx.Err() == nil {
			woke = max(woke, e.At)
		}
	}
	effect, cut := r.ends(r.until(woke))
	switch {
	case cut:
		// It overslept: nothing starts after its deadline.
		r.now = woke
		r.last, r.discardValue = r.timeout(effect, r.last), true
		return effect
	case r.ctx.Err() != nil:
		r.now = woke
		return r.giveUp()
	}
	r.now = max(woke, e.At)
	return r.advance(pipeline.Event{Kind: pipeline.Resumed})
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

// sync learns what became of phantoms at the steps that an effect leaves, and
// takes those that still stand in a queue out of it.
func (r *run) sync(to uint8) {
	var rest []phantom
	for _, x := range r.phantom {
		if x.step < int(to) {
			rest = append(rest, x)
			continue
		}
		if !x.waiter.Leave(r.now) {
			effect := r.woken(x.step, x.waiter)
			if effect.Do == pipeline.GiveUp {
				r.emit(Event{Kind: decision.Expire, Step: r.layout.plan.StepName(x.step), Reason: effect.Reason, Shadow: true})
			}
		}
	}
	r.phantom = rest
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
