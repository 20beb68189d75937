package runner

import (
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// waiting is a waiter of a call, or of a phantom of it.
type waiting struct {
	*Waiter
	attempt uint8
	step    uint8
}

// before reports whether a wait was over before another one: queues are served from
// the outermost step inwards.
func (w waiting) before(other waiting) bool {
	return w.step < other.step || w.step == other.step && w.turn < other.turn
}

// cell returns the cell of a step.
func (r *run) cell(i int) *LockedCell {
	if b := r.layout.cells[i]; b != nil {
		return b
	}
	if len(r.cells) == 0 {
		r.cells = append(r.cells, make([]*LockedCell, r.layout.plan.Len())...)
	}
	if r.cells[i] == nil {
		r.cells[i] = r.layout.steps[i].find(r.request.lookup, r.now)
	}
	return r.cells[i]
}

// Admit implements pipeline.Host.
func (r *run) Admit(_ uint8, i int) (reducer.Permit, bool) {
	if i == r.declined {
		r.declined = noStep
		return reducer.Permit{}, false
	}
	return r.cell(i).Enter(r.call.Cost, r.now)
}

// Ask implements pipeline.Host. The cell ends a wait itself, so the plan is told
// that it has no end.
func (r *run) Ask(k uint8, i int, a reducer.Action) reducer.Answer {
	if r.layout.steps[i] == nil {
		return reducer.Answer{} // a hedge that needs no cell
	}
	b := r.cell(i)
	if a.Kind != reducer.Acquire || !r.layout.plan.Asks(i) {
		return b.Step(a, r.now)
	}
	answer, w := b.Acquire(a, r.now, r.ready)
	// Another attempt of the call may have made room in the queue for this one.
	r.poll(reducer.Drop)
	if w == nil {
		return answer
	}
	r.ready, r.waitEnds = w.Ready, answer.WaitEnds()
	r.waits = append(r.waits, waiting{w, k, uint8(i)})
	answer.Generation = uint64(clock.Never)
	return answer
}

// Exit implements pipeline.Host.
func (r *run) Exit(_ uint8, i int, p reducer.Permit) bool {
	return !r.late && !r.keeps() && r.cell(i).Exit(p, r.now)
}

// Leave implements pipeline.Host.
func (r *run) Leave(k uint8, i int, a reducer.Action) {
	b := r.cell(i)
	switch a.Kind {
	case reducer.Leave:
		w := r.takeWaiter(k, i)
		if w.Leave(r.now) || w.Effect.Kind != reducer.Grant {
			return
		}
		// The turn came first: it is given back.
		a = r.layout.plan.Returned(&r.call, k, i, w.Effect.Permit)
	case reducer.Release:
		if r.keeps() {
			r.keep(k, i, b, a)
			return
		}
	case reducer.Record:
		if r.late {
			b.catchLast(&a, r.now)
		}
	}
	b.Step(a, r.now)
}

// takeWaiter takes a waiter out of the list. Its caller has it there.
func (r *run) takeWaiter(k uint8, i int) *Waiter {
	if i <= r.layout.plan.HedgeIndex() {
		k = 0 // the call itself waits there, whichever attempt ends it
	}
	for n, w := range r.waits {
		if int(w.step) == i && w.attempt == k {
			r.waits = slices.Delete(r.waits, n, n+1)
			return w.Waiter
		}
	}
	return nil
}

// keeps reports whether a place that is given back may be kept for longer.
func (r *run) keeps() bool { return r.hold != nil || r.racing }

// Missing implements pipeline.Host.
func (r *run) Missing(i int) bool {
	return r.layout.steps[i].missing(r.request.lookup)
}

// Start implements pipeline.Host.
func (r *run) Start(k uint8) {
	if r.racing {
		r.spawn(k)
		return
	}
	r.running, r.attemptNo = true, k
}

// Decision implements pipeline.Host. The run reads how a call ends, and what cut
// it, whether or not others listen.
func (r *run) Decision(kind decision.Kind, i int) *decision.Decision {
	switch kind {
	case decision.End, decision.Reject, decision.Expire, decision.Timeout:
	default:
		if !r.p.hasListeners() {
			return nil
		}
	}
	d := &r.decision
	*d = decision.Decision{At: r.now, Kind: kind, Index: -1}
	if i != pipeline.NoStep {
		d.Step, d.Index = r.layout.plan.StepName(i), i
	}
	return d
}

// Tell implements pipeline.Host.
func (r *run) Tell(d *decision.Decision) {
	switch {
	case d.Last:
		r.final = *d
		r.close()
	case d.Kind == decision.Timeout && !d.Shadow:
		r.wasCut(d.Step, d.Index)
	}
	if !r.p.hasListeners() {
		return
	}
	e := Event{
		Kind: d.Kind, Step: d.Step, Outcome: d.Outcome, Reason: d.Reason, Attempt: d.Attempt, Won: d.Won,
		Shadow: d.Shadow, Fallback: d.Fallback, RetryAfter: d.RetryAfter,
	}
	switch d.Kind {
	case decision.Wait:
		e.Wait = r.waitEnds.Sub(r.now)
	case decision.Retry:
		e.Wait = d.Until.Sub(r.now)
	case decision.Admit:
		if r.layout.plan.HedgeIndex() >= 0 {
			e.Note = r.request.NoHedge
		}
	case decision.End:
		if r.call.Barred {
			e.Note = r.request.NoRetry
		}
	}
	r.emit(e)
}

func (r *run) emit(e Event) { r.p.report(e, r.request.Key, r.began, r.now) }
