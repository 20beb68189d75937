package runner

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// do does what an effect says and what follows from it, until an attempt is to
// be run (again) or the call is over.
func (r *run) do(e pipeline.Effect) (again bool, err error) {
	for {
		r.leave(e.LeaveFrom, e.LeaveTo)
		switch e.Do {
		case pipeline.Enter:
			e = r.enter(int(e.Step))
		case pipeline.Start:
			r.started()
			return true, nil
		case pipeline.Consult:
			if e, err = r.consult(e); err != nil {
				return false, err
			}
		case pipeline.Sleep:
			e = r.sleep(e)
		case pipeline.Return:
			r.end(Event{Kind: decision.End, Outcome: e.Outcome, Reason: e.Reason, Attempt: r.call.Retry.Attempt})
			return false, r.result(e)
		case pipeline.Refuse:
			return false, r.refused(e)
		case pipeline.GiveUp:
			name := r.layout.plan.StepName(int(e.Step))
			r.end(Event{Kind: decision.Expire, Step: name, Reason: e.Reason})
			return false, r.p.API.Rejected(r.p.name, name, Rejection{e.Reason, -1, true}, r.last)
		default:
			// No event of a call that is under way does nothing; were there
			// one, giving up is what leaves nothing held.
			e = r.giveUp()
		}
	}
}

// enter takes the call through the steps from one on.
func (r *run) enter(from int) pipeline.Effect {
	plan := r.layout.plan
	for i := from; i < plan.Len(); i++ {
		if !plan.Asks(i) {
			plan.Skip(&r.call.Attempt, i, r.now)
			continue
		}
		b := r.cell(i)
		if i != r.declined {
			if permit, ok := b.Enter(r.call.Cost, r.now); ok {
				r.call.Admit(i, permit)
				continue
			}
		}
		r.declined = -1
		answer, w := b.Acquire(r.call.Cost, r.now)
		next, shadow := plan.Pass(&r.call.Attempt, i, &answer)
		switch next {
		case pipeline.Entered:
			if shadow {
				r.emitShadow(i, answer, w)
			}
		case pipeline.Parked:
			r.waiter = w
			r.advance(pipeline.Event{Kind: next, Step: uint8(i), Answer: answer})
			// The cell ends the wait itself, as it does that of a phantom.
			plan.WaitUntil(&r.call, pipeline.Wait{Step: uint8(i)}, clock.Never)
			r.emitWait(i, answer)
			return r.await(i, w)
		default:
			return r.advance(pipeline.Event{Kind: next, Step: uint8(i), Answer: answer})
		}
	}
	return plan.Start(&r.call, 0, r.now)
}

// started emits the start of an attempt, and counts the first one in the retry's budget.
func (r *run) started() {
	if _, budget := r.layout.plan.Consults(); budget >= 0 && r.call.Retry.Attempt == 1 {
		r.cell(budget).Step(reducer.Action{Kind: reducer.Record}, r.now)
	}
	if r.p.hasListeners() {
		r.emit(Event{Kind: decision.Admit, Attempt: r.call.Retry.Attempt})
	}
}

// consult asks the breakers below the retry, then the budget.
func (r *run) consult(e pipeline.Effect) (pipeline.Effect, error) {
	plan := r.layout.plan
	if note := r.request.NoRetry; note != "" && !plan.Shadow(plan.RetryIndex()) {
		effect := r.advance(pipeline.Event{Kind: pipeline.Settled, Outcome: e.Outcome})
		r.leave(effect.LeaveFrom, effect.LeaveTo)
		r.end(Event{Kind: decision.End, Outcome: e.Outcome, Attempt: r.call.Retry.Attempt, Note: note})
		return effect, r.retryError(0, note)
	}
	breakers, budget := plan.Consults()
	ask := reducer.Action{Kind: reducer.Peek}
	if e.Outcome == reducer.Timeout {
		ask.Outcome = e.Outcome // a cut is one of the ends of its mark
	}
	event := pipeline.Event{Kind: pipeline.Consulted, Granted: true}
	for i := 0; breakers != 0; i, breakers = i+1, breakers>>1 {
		if breakers&1 != 0 {
			answer := r.cell(i).Step(ask, r.now)
			event.Open = event.Open || answer.Reason == reducer.ReasonOpen && answer.Mark > e.At
		}
	}
	if !event.Open && budget >= 0 {
		event.Granted = r.cell(budget).Step(reducer.Action{Kind: reducer.Acquire}, r.now).Verdict == reducer.Admit
	}
	if plan.Shadow(plan.RetryIndex()) && !event.Open && event.Granted {
		r.emit(Event{Kind: decision.Retry, Attempt: r.call.Retry.Attempt, Reason: reducer.CauseOf(e.Outcome), Wait: e.At.Sub(r.now), Shadow: true})
	}
	return r.advance(event), nil
}

// leave leaves the cells that an effect names, in reverse order.
func (r *run) leave(from, to uint8) {
	if from <= to {
		return
	}
	if r.phantom != nil {
		r.sync(to)
	}
	plan := r.layout.plan
	for mask := plan.Holds(&r.call, 0, from, to); mask != 0; {
		i := bits.Len16(mask) - 1
		mask &^= 1 << i
		kind, permit := plan.Leaving(&r.call, 0, i)
		if kind == 0 {
			continue
		}
		b := r.cell(i)
		plain := kind == reducer.Release || kind == reducer.Record && r.call.Outcome == reducer.OK
		if plain && !r.returnedAfterDeadline && r.hold == nil && b.Exit(permit, r.now) {
			continue
		}
		a := plan.Leave(&r.call, 0, i, kind, permit)
		if r.hold != nil && kind == reducer.Release {
			r.hold.keep(kept{b, a}, r.now)
			continue
		}
		if r.returnedAfterDeadline {
			b.catchLast(&a, r.now)
		}
		b.Step(a, r.now)
	}
}

// end emits the end of the call and releases its cells.
func (r *run) end(e Event) {
	r.close()
	r.emit(e)
}

func (r *run) close() {
	for _, b := range r.cells {
		if b != nil {
			b.refs.Add(-1)
		}
	}
	r.cells, r.hold = nil, nil
}

func (r *run) emit(e Event) {
	if r.p.hasListeners() {
		if r.layout.plan.Fallback() != nil && !e.Shadow {
			e.Fallback = e.Kind == decision.Reject || e.Kind == decision.Expire || e.Kind == decision.End && fallback.Covers(e.Outcome)
		}
		r.p.report(e, r.request.Key, r.began, r.now)
	}
}

func (r *run) retryAfter(at clock.Mark) time.Duration {
	if at == clock.Never {
		return -1
	}
	return max(0, at.Sub(r.now))
}

func (r *run) refused(e pipeline.Effect) error {
	name := r.layout.plan.StepName(int(e.Step))
	after := r.retryAfter(e.At)
	r.close()
	if r.p.hasListeners() {
		r.emit(Event{Kind: decision.Reject, Step: name, Reason: e.Reason, RetryAfter: after})
	}
	return r.p.API.Rejected(r.p.name, name, Rejection{e.Reason, after, false}, r.last)
}

// result makes the error of a call that is over.
func (r *run) result(e pipeline.Effect) error {
	switch {
	case r.gaveUp:
		return r.p.API.Cancelled(r.ctx, r.last)
	case e.Reason != reducer.NoReason:
		return r.retryError(e.Reason, "")
	}
	r.returnValue = !r.discardValue
	return r.last
}

func (r *run) retryError(why reducer.Reason, note string) error {
	r.returnValue = !r.discardValue
	plan := r.layout.plan
	return r.p.API.GaveUp(r.p.name, plan.StepName(plan.RetryIndex()), why, note, int(r.call.Retry.Attempt), r.last)
}
