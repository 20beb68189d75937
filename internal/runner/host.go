package runner

import (
	"context"
	"slices"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// waiting is a waiter of a call, or of a phantom of it.
type waiting struct {
	*Waiter
	attempt uint8
	step    uint8
	since   clock.Mark
}

// before reports whether a wait was over before another one: queues are served from
// the outermost step inwards.
func (w waiting) before(other waiting) bool {
	return w.step < other.step || w.step == other.step && w.turn < other.turn
}

// keyRef is the key and the cell that an attempt uses of a step with keys.
type keyRef struct {
	key    string
	joined bool // key is set
	used   bool // the cell of handle did not admit at once; the next Acquire steps it
	handle keyed.Handle
}

// keyRef returns the reference of the attempt k to step i. Above a hedge the attempts
// share it. It calls no code of the user.
func (r *run) keyRef(k uint8, i int) *keyRef {
	plan := r.layout.plan
	if i <= plan.HedgeIndex() {
		k = 0
	}
	n := int(k)*plan.Len() + i
	for len(r.keys) <= n {
		r.keys = append(r.keys, keyRef{})
	}
	return &r.keys[n]
}

// keyOf is keyRef with the key.
func (r *run) keyOf(k uint8, i int) *keyRef {
	x := r.keyRef(k, i)
	if !x.joined {
		x.key, _ = keyed.Join(r.layout.steps[i].per, attributes(&r.request))
		x.joined = true
	}
	return x
}

// cell returns the cell of step i in which the attempt k holds a permit or waits.
func (r *run) cell(k uint8, i int) cellRef {
	if b := r.layout.cells[i]; b != nil {
		return cellRef{one: b}
	}
	return cellRef{step: r.layout.steps[i], handle: r.keyRef(k, i).handle}
}

// Admit implements pipeline.Host.
func (r *run) Admit(k uint8, i int) (p reducer.Permit, ok bool) {
	if i == r.declined {
		r.declined = noStep
		return reducer.Permit{}, false
	}
	if b := r.layout.cells[i]; b != nil {
		return b.Enter(r.layout.plan.CostOf(&r.call, i), r.layout.plan.BoundOf(&r.call, k, i, r.now), r.now)
	}
	x := r.keyOf(k, i)
	p, x.handle, ok = r.layout.steps[i].enter(x.key, r.layout.plan.CostOf(&r.call, i), r.layout.plan.BoundOf(&r.call, k, i, r.now), r.now)
	x.used = !ok
	return p, ok
}

// Ask implements pipeline.Host. The cell ends a wait itself, so the answer to the plan says
// that the wait has no end.
func (r *run) Ask(k uint8, i int, a reducer.Action) (answer reducer.Answer) {
	c, plan := r.layout.steps[i], r.layout.plan
	if c == nil {
		return reducer.Answer{} // a hedge that needs no cell
	}
	if a.Kind == reducer.Peek && r.holds(k, i) {
		return reducer.Answer{} // another attempt takes the place that this one gives back
	}
	if a.Kind != reducer.Acquire || !plan.Asks(i) {
		if c.one != nil {
			return c.one.Step(a, r.now)
		}
		return r.askKey(k, i, a)
	}
	var w *Waiter
	if c.one != nil {
		answer, w = c.one.Acquire(a, r.now, r.ready)
	} else {
		x := r.keyOf(k, i)
		answer, w = c.acquire(x, a, r.now, r.ready)
	}
	// Another attempt of the call may have made room in the queue for this one.
	r.poll(reducer.Drop)
	if w == nil {
		return answer
	}
	r.ready, r.waitEnds = w.Ready, answer.WaitEnds()
	r.waits = append(r.waits, waiting{w, k, uint8(i), r.now})
	answer.Generation = uint64(clock.Never)
	return answer
}

// holds reports whether the latest attempt still has its place at step i.
func (r *run) holds(k uint8, i int) bool {
	s := r.hold
	if r.racing && r.kept != nil {
		s, k = r.kept.session, r.kept.k
	}
	return s != nil && s.has(r.cell(k, i))
}

// askKey is Ask for the cell of a key, where no permit is acquired.
func (r *run) askKey(k uint8, i int, a reducer.Action) (answer reducer.Answer) {
	c, x := r.layout.steps[i], r.keyOf(k, i)
	switch {
	case a.Kind == reducer.Peek && i != r.layout.plan.HedgeIndex():
		return c.peek(x.key, r.layout.plan.Maker(i), a, r.now)
	case a.Kind == reducer.Observe:
		return r.cell(k, i).Step(a, r.now)
	}
	answer, x.handle = c.ask(x.key, a, r.now)
	return answer
}

// Exit implements pipeline.Host.
func (r *run) Exit(k uint8, i int, p reducer.Permit) bool {
	return !r.late && !r.keeps() && r.vote(i, reducer.OK) == reducer.OK && r.cell(k, i).exit(p, r.now)
}

// Leave implements pipeline.Host.
func (r *run) Leave(k uint8, i int, a reducer.Action) (dropped uint64, settled bool) {
	b := r.cell(k, i)
	switch a.Kind {
	case reducer.Leave:
		w := r.takeWaiter(k, i)
		if w.Leave(r.now) || w.Effect.Kind != reducer.Grant {
			return 0, false
		}
		// The turn came before the end of the wait: the permit is returned.
		a = r.layout.plan.Returned(&r.call, k, i, w.Effect.Permit)
	case reducer.Release:
		if r.keeps() {
			r.keep(k, i, b, a)
			return 0, false
		}
	case reducer.Record:
		a.Outcome = r.vote(i, a.Outcome)
		if r.late {
			b.view(func(c cell.Cell) { catchLast(c, &a, r.now) })
		}
		if b.Step(a, r.now).Verdict == reducer.Done && r.p.Hears(decision.Slow) {
			r.slow(k, i, &a)
		}
		return 0, false
	}
	answer := b.Step(a, r.now)
	return pipeline.Left(a.Kind, &answer)
}

// catchLast moves the beginning of an attempt that is recorded at a mark which
// the cell has passed, so that its duration stays what it was.
func catchLast(c cell.Cell, a *reducer.Action, now clock.Mark) {
	if core := breaker.CoreOf(c); core != nil && core.Last > now {
		a.Mark = a.Mark.Add(core.Last.Sub(now))
	}
}

// takeWaiter removes a waiter from the list, where it must be.
func (r *run) takeWaiter(k uint8, i int) *Waiter {
	if i <= r.layout.plan.HedgeIndex() {
		k = 0 // the call itself waits there, whichever attempt ends it
	}
	for n, w := range r.waits {
		if int(w.step) == i && w.attempt == k {
			r.waits = slices.Delete(r.waits, n, n+1)
			r.waitEnded(w)
			return w.Waiter
		}
	}
	return nil
}

// waitEnded counts a wait that is over.
func (r *run) waitEnded(w waiting) {
	r.waitOver = max(0, r.now.Sub(w.since))
	r.layout.at[w.step].waits.Observe(r.waitOver)
}

// keeps reports whether a place may be kept when the plan releases it.
func (r *run) keeps() bool { return r.hold != nil || r.racing }

// Missing implements pipeline.Host.
func (r *run) Missing(i int) bool {
	return r.layout.steps[i].missing(attributes(&r.request))
}

// Start implements pipeline.Host.
func (r *run) Start(k uint8) {
	r.voted = false
	r.bound()
	if r.racing {
		r.spawn(k)
		return
	}
	r.running, r.attemptNo = true, k
}

// Decision implements pipeline.Host. The run reads how a call and its attempts end, what cut it, and
// what was injected, whether or not others listen.
func (r *run) Decision(kind decision.Kind, i int) *decision.Decision {
	switch kind {
	case decision.End, decision.Reject, decision.Expire, decision.Timeout, decision.Inject, decision.Retry, decision.Failed:
	default:
		if !r.p.HasListeners() {
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
	if d.Kind == decision.End && r.call.Barred && r.request.NoRetry == "" {
		d.Reason = reducer.ReasonAttempts // of the request
	}
	switch {
	case d.Last:
		r.final, r.hold = *d, nil
	case d.Kind == decision.Timeout && !d.Shadow:
		r.wasCut(d.Step, d.Index)
	case d.Kind == decision.Inject && d.Outcome != 0 && !d.Shadow:
		r.injected(d)
	case d.Kind == decision.Retry || d.Kind == decision.Failed:
		r.earlier.Add(r.last)
	}
	if !r.p.HasListeners() {
		return
	}
	r.traced.Decide(d)
	if !r.p.Hears(d.Kind) {
		return
	}
	e := api.Event{
		Kind: d.Kind, Step: d.Step, Outcome: d.Outcome, Reason: d.Reason, Attempt: d.Attempt, Won: d.Won,
		Shadow: d.Shadow, Fallback: d.Fallback, RetryAfter: d.RetryAfter, Dropped: d.Dropped,
	}
	switch d.Kind {
	case decision.Wait:
		if r.waitEnds != clock.Never {
			e.Wait = r.waitEnds.Sub(r.now)
		}
	case decision.Retry:
		e.Wait, e.Err = d.Until.Sub(r.now), r.last
	case decision.Failed:
		e.Err = r.last
	case decision.Timeout:
		if !d.Shadow {
			e.Err = r.last
		}
	case decision.Reject:
		e.Err = r.last
	case decision.Expire:
		e.Wait, e.Err = r.waitOver, r.last
	case decision.Inject:
		if d.Outcome == 0 {
			e.Wait = d.Until.Sub(r.now)
		} else if !d.Shadow {
			e.Err = r.last
		}
	case decision.Admit:
		if r.layout.plan.HedgeIndex() >= 0 {
			e.Note = r.request.NoHedge
		}
	case decision.End:
		if r.call.Barred {
			e.Note = r.request.NoRetry
		}
		if d.Outcome != reducer.OK {
			e.Err = r.last
		}
		if e.Err == nil && r.gaveUp {
			e.Err = context.Cause(r.ctx)
		}
	}
	r.emit(&e)
}

func (r *run) emit(e *api.Event) { r.p.report(e, r.ctx, &r.request, r.began, r.now) }

// granted emits that a wait ended with a permit.
func (r *run) granted(w waiting) {
	plan := r.layout.plan
	r.emit(&api.Event{
		Kind: decision.Granted, Step: plan.StepName(int(w.step)), Attempt: r.call.NumberOf(w.attempt),
		Wait: max(0, r.now.Sub(w.since)), Shadow: r.call.InShadow(int(w.step)),
	})
}

// slow emits that a breaker counted an attempt as slow.
func (r *run) slow(k uint8, i int, a *reducer.Action) {
	plan := r.layout.plan
	over := r.layout.slow[i]
	if took := r.now.Sub(a.Mark); over > 0 && took > over && (a.Outcome == reducer.OK || a.Outcome == reducer.Fail || a.Outcome == reducer.Timeout) {
		r.emit(&api.Event{Kind: decision.Slow, Step: plan.StepName(i), Outcome: a.Outcome, Attempt: r.call.NumberOf(k), Wait: took, Shadow: r.call.InShadow(i)})
	}
}
