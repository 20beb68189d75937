package runner

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/reducer"
)

// Do is DoWith of the public package.
func Do[T any](ctx context.Context, p *Pipeline, q *Request, fn func(context.Context) (T, error)) (T, error) {
	l := fastPath{ctx: ctx, pipeline: p}
	defer l.crashed(q)
	if !l.enter(q) {
		return perform(&l, q, fn)
	}
	value, err := fn(l.context())
	if l.leave(q, err) {
		return value, nil
	}
	return carryOn(&l, q, fn, value, err)
}

// perform makes a call that the fast path did not take to its function.
func perform[T any](l *fastPath, q *Request, fn func(context.Context) (T, error)) (T, error) {
	var r run
	var zero T
	defer r.crashed()
	if err := r.start(l, q); err != nil {
		return zero, err
	}
	value, err := fn(r.context())
	return conclude(&r, fn, value, err)
}

// carryOn goes on with a call that left the fast path after its function.
func carryOn[T any](l *fastPath, q *Request, fn func(context.Context) (T, error), value T, err error) (T, error) {
	var r run
	defer r.crashed()
	r.take(l, q)
	return conclude(&r, fn, value, err)
}

// conclude makes further attempts, where the policy wants them.
func conclude[T any](r *run, fn func(context.Context) (T, error), value T, err error) (T, error) {
	again, err := r.finish(err)
	for again {
		value, err = fn(r.context())
		again, err = r.finish(err)
	}
	if err != nil && !r.returnValue {
		var zero T
		return zero, err
	}
	return value, err
}

// run is one call under way. It lives on the caller's stack.
type run struct {
	call    pipeline.Call
	cells   []*LockedCell // of keyed steps that it passed, by step
	p       *Pipeline
	layout  *binding
	ctx     context.Context
	attempt *attempt.Context
	session *heldContext // in place of attempt where the request is holdable
	hold    *heldContext // one that is held beyond its function
	phantom []phantom
	waiter  *Waiter // while the call waits
	request Request
	last    error
	began   clock.Mark
	now     clock.Mark

	declined int        // the step whose Enter refused the fast path, -1 for none
	returned clock.Mark // when a function returned on the fast path, else Always

	warned                uint16 // steps above the retry whose soft limit was emitted
	gaveUp                bool   // the caller, while no attempt was running
	singleAttempt         bool   // whatever the policy says
	returnValue           bool   // of the function, with its error
	discardValue          bool   // no attempt followed, or it came too late
	returnedAfterDeadline bool   // of the attempt
}

// phantom is a waiter of a step in shadow.
type phantom struct {
	waiter *Waiter
	step   int
}

// start begins a call, or goes on with one that left the fast path.
func (r *run) start(l *fastPath, q *Request) error {
	if !l.open {
		return r.begin(l.ctx, l.pipeline, q)
	}
	r.take(l, q)
	_, err := r.do(pipeline.Effect{Do: pipeline.Enter, Step: r.call.Entered})
	return err
}

func (r *run) begin(ctx context.Context, p *Pipeline, q *Request) error {
	if ctx.Err() != nil {
		return p.API.Cancelled(ctx, nil)
	}
	now, l := p.Now(), p.layout.Load()
	_, err := r.do(r.prepare(ctx, p, l, q, now, deadline(ctx, now), p.seedOf(l)))
	return err
}

// prepare makes a call that began at a mark.
func (r *run) prepare(ctx context.Context, p *Pipeline, l *binding, q *Request, now, deadline clock.Mark, seed uint64) pipeline.Effect {
	r.p, r.ctx, r.layout, r.request = p, ctx, l, *q
	r.declined, r.returned = -1, clock.Always
	r.began, r.now = now, now
	return l.plan.Begin(&r.call, q.cost(), deadline, seed)
}

// seedOf returns the seed of the next call.
func (p *Pipeline) seedOf(l *binding) uint64 {
	if l.plan.Random() {
		return p.Seed + p.numbers.Add(1)<<32
	}
	return p.Seed
}

// cell returns the cell of a step.
func (r *run) cell(i int) *LockedCell {
	if b := r.layout.cells[i]; b != nil {
		return b
	}
	if r.cells == nil {
		r.cells = make([]*LockedCell, r.layout.plan.Len())
	}
	if r.cells[i] == nil {
		r.cells[i] = r.layout.steps[i].find(r.request.lookup, r.now)
	}
	return r.cells[i]
}

// context makes the context of an attempt. Where nothing can cut it and nothing
// can be held, the caller's own will do.
func (r *run) context() context.Context {
	r.returnedAfterDeadline, r.discardValue = false, false
	cut := r.layout.plan.CutAt(&r.call, 0)
	if r.request.Holdable {
		r.session = newHeldContext(r.ctx, cut, r.p.Now(), r.layout.ends[r.cutStep(cut)+1])
		return r.session
	}
	if cut == clock.Never {
		return r.ctx
	}
	r.attempt = r.p.newAttempt(r.ctx, cut, r.layout.ends[r.cutStep(cut)+1])
	return r.attempt
}

// newAttempt makes the context of an attempt that is cut at a mark.
func (s *Settings) newAttempt(parent context.Context, cut clock.Mark, end *end) *attempt.Context {
	if s.Source != nil {
		cut = attempt.Now().Add(cut.Sub(s.Now()))
	}
	return attempt.New(parent, cut, end.deadline)
}

// cutStep returns the timeout step that cuts the attempt at a mark, -1 for the
// caller's own deadline.
func (r *run) cutStep(cut clock.Mark) int {
	plan := r.layout.plan
	for i := range plan.Len() {
		if plan.DeadlineAt(&r.call, 0, i) == cut {
			return i
		}
	}
	return -1
}

// over ends the context of the attempt, unless it is held.
func (r *run) over() {
	if r.attempt != nil {
		r.attempt.End()
		r.attempt = nil
	}
	if r.session != nil {
		if r.session.end() {
			r.hold = r.session
		}
		r.session = nil
	}
}

// abandon releases what an attempt held that another one follows.
func (r *run) abandon() {
	if r.request.Abandon != nil {
		r.request.Abandon()
	}
	if r.hold != nil {
		r.hold.release()
		r.hold = nil
	}
}

// crashed ends a call that has not come to its end: its function, or another one
// of the caller's, panicked or called runtime.Goexit. What is held is given back,
// and an attempt that ran has failed.
func (r *run) crashed() {
	if r.layout == nil || r.call.Phase == pipeline.Over && r.call.Held|r.call.Phantom == 0 {
		return
	}
	r.over()
	r.now = r.p.Now()
	hold := r.hold
	var effect pipeline.Effect
	switch w := r.waiter; {
	case r.call.Phase == pipeline.Over:
		effect = pipeline.Effect{Do: pipeline.Return, LeaveFrom: pipeline.MaxSteps}
	case r.call.Phase == pipeline.Running:
		outcome := reducer.Fail
		if r.returned != clock.Always {
			outcome = reducer.OK
		}
		effect = r.advance(pipeline.Event{Kind: pipeline.Settled, Outcome: outcome})
	default:
		if r.call.Phase == pipeline.Waiting && !w.Leave(r.now) {
			r.woken(int(r.call.At), w)
		}
		effect = r.advance(pipeline.Event{Kind: pipeline.Abandoned})
	}
	// The panic goes on, so there is no caller to return the error to.
	_, _ = r.do(effect)
	if hold != nil {
		hold.release()
	}
}

func (r *run) advance(e pipeline.Event) pipeline.Effect {
	return r.layout.plan.Advance(&r.call, &e, r.now)
}

// finish settles an attempt that returned, and reports whether another one is
// to be run.
func (r *run) finish(err error) (again bool, _ error) {
	outcome, hasRetryAfter, after := r.p.API.Classify(r.ctx, err)
	r.last = err
	return r.settle(outcome, hasRetryAfter, after, err)
}

func (r *run) settle(outcome reducer.Outcome, hasRetryAfter bool, after time.Duration, err error) (again bool, _ error) {
	r.over()
	plan := r.layout.plan
	returned := r.returned
	if returned == clock.Always {
		returned = r.p.Now()
	}
	r.returned = clock.Always
	r.soft(returned)
	if plan.EndsAt(&r.call) <= returned {
		if effect, cut := r.ends(returned); cut {
			return r.settleAfterTimeout(effect, outcome, err, returned)
		}
	}
	r.now = returned
	if r.singleAttempt {
		return r.do(r.advance(pipeline.Event{Kind: pipeline.Settled, Outcome: outcome}))
	}
	return r.do(r.advance(pipeline.Event{Kind: pipeline.Finished, Outcome: outcome, Told: hasRetryAfter, RetryAfter: after}))
}
