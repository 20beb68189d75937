package runner

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// ends brings about the timeouts that are due up to a mark, each at its own, and
// reports whether one cut the call. Those in shadow are only emitted.
func (r *run) ends(now clock.Mark) (effect pipeline.Effect, cut bool) {
	plan := r.layout.plan
	attempt := r.call.Retry.Attempt
	if r.call.Phase == pipeline.Waiting {
		attempt++
	}
	for at := plan.EndsAt(&r.call); at <= now; at = plan.EndsAt(&r.call) {
		r.now = max(r.now, at)
		effect = r.advance(pipeline.Event{Kind: pipeline.Woken})
		i := effect.Cut()
		if i == pipeline.NoCut {
			return effect, false
		}
		r.emit(Event{Kind: decision.Timeout, Step: plan.StepName(i), Attempt: attempt, Shadow: plan.Shadow(i)})
		if !plan.Shadow(i) {
			return effect, true
		}
	}
	return effect, false
}

// timeout returns the error of the step that cut the call.
func (r *run) timeout(e pipeline.Effect, err error) error {
	return r.p.API.TimedOut(r.p.name, r.layout.plan.StepName(e.Cut()), err)
}

// settleAfterTimeout settles an attempt that a timeout had cut before the function returned.
// A late success is returned all the same, unless the options refuse it.
func (r *run) settleAfterTimeout(effect pipeline.Effect, outcome reducer.Outcome, err error, returned clock.Mark) (again bool, _ error) {
	r.returnedAfterDeadline, r.discardValue = true, outcome == reducer.OK && r.p.RefuseLate
	if outcome == reducer.OK && !r.p.RefuseLate {
		r.leave(effect.LeaveFrom, effect.LeaveTo)
		r.now, r.returnValue = returned, true
		if effect.Do == pipeline.Consult {
			return r.do(r.advance(pipeline.Event{Kind: pipeline.Settled, Outcome: reducer.OK}))
		}
		r.end(Event{Kind: decision.End, Outcome: reducer.OK, Attempt: r.call.Retry.Attempt})
		return false, err
	}
	r.last = r.timeout(effect, err)
	if r.singleAttempt && effect.Do == pipeline.Consult {
		r.leave(effect.LeaveFrom, effect.LeaveTo)
		effect = r.advance(pipeline.Event{Kind: pipeline.Settled, Outcome: reducer.Timeout})
	}
	again, failed := r.do(effect)
	if !again && failed == nil {
		failed = r.last
	}
	return again, failed
}

// soft emits the soft limits that have passed.
func (r *run) soft(now clock.Mark) {
	if !r.p.hasListeners() {
		return
	}
	began := r.now
	for i := range r.layout.plan.Len() {
		if at := r.layout.plan.SoftAt(&r.call, 0, i); at <= now && r.warned&(1<<i) == 0 {
			if i < r.layout.plan.RetryIndex() {
				r.warned |= 1 << i
			}
			r.now = max(began, at)
			r.emit(Event{Kind: decision.Timeout, Step: r.layout.plan.StepName(i), Attempt: r.call.Retry.Attempt, Soft: true})
		}
	}
	r.now = began
}
