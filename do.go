package sluice

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/reducer"
)

// Request is what a call brings with it.
type Request struct {
	// Key is the attribute "key".
	Key string
	// Cost in permits. 0 means 1, NoCost means 0.
	Cost uint32
	// Lookup returns other attributes that a step may be kept per, as in "ip"
	// or "header:x-tenant"; empty where one is missing.
	Lookup func(attribute string) string
	// NoRetry is a reason not to try again, as in "the body cannot be read
	// twice". It is told in the RetryError. Empty: the policy decides.
	NoRetry string
	// Holdable lets the function keep what it holds with Hold.
	Holdable bool
	// Abandon is called when an attempt has failed and another follows, before
	// what it held is let go and before the backoff. nil for nothing.
	Abandon func()
}

// NoCost is the cost of a call that takes nothing from any limiter.
const NoCost = 1<<32 - 1

// Do runs fn under the policy and returns what it returned, or why it was not
// run or given up: a RejectedError, TimeoutError, RetryError or CancelError, or
// fn's own error. fn runs on the caller's goroutine, once for each attempt, with
// a context that ends with the attempt. A timeout is cooperative: it votes at
// its mark, but what fn holds stays held until fn returns. A panic in fn gives
// back what is held, counts as a failure and goes on.
func Do[T any](ctx context.Context, p *Pipeline, fn func(context.Context) (T, error)) (T, error) {
	return DoWith(ctx, p, Request{}, fn)
}

// DoWith is Do for a request with a key, a cost or attributes.
func DoWith[T any](ctx context.Context, p *Pipeline, q Request, fn func(context.Context) (T, error)) (T, error) {
	l := lane{ctx: ctx, pipeline: p}
	defer l.crashed(&q)
	if !l.enter(&q) {
		return perform(&l, &q, fn)
	}
	value, err := fn(l.context())
	if l.leave(&q, err) {
		return value, nil
	}
	return carryOn(&l, &q, fn, value, err)
}

// perform makes a call that is not on its happy path.
func perform[T any](l *lane, q *Request, fn func(context.Context) (T, error)) (T, error) {
	var r run
	var zero T
	defer r.crashed()
	if err := r.start(l, q); err != nil {
		return zero, err
	}
	value, err := fn(r.context())
	return conclude(&r, fn, value, err)
}

// carryOn goes on with a call whose function has returned off its happy path.
func carryOn[T any](l *lane, q *Request, fn func(context.Context) (T, error), value T, err error) (T, error) {
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
	if err != nil && !r.keep {
		var zero T
		return zero, err
	}
	return value, err
}

// run is one call under way. It lives on the caller's stack.
type run struct {
	call    pipeline.Call
	boxes   []*box // of keyed steps that it passed, by step
	p       *Pipeline
	layout  *layout
	ctx     context.Context
	attempt *attempt.Context
	session *session // in place of attempt where the request is holdable
	hold    *session // one that is held beyond its function
	phantom []phantom
	waiter  *waiter // while the call waits
	request Request
	last    error
	began   clock.Mark
	now     clock.Mark

	declined int        // the step whose short way the lane did not get through, -1 for none
	returned clock.Mark // when a function returned in its lane, else Always

	warned uint16 // steps above the retry whose soft limit was told of
	gaveUp bool   // the caller, while no attempt was running
	single bool   // one attempt, whatever the policy says
	keep   bool   // the function's own value is returned with its error
	void   bool   // but not this one: no attempt followed, or it came too late
	late   bool   // the attempt returned after it was cut
}

// phantom is a waiter of a step in shadow.
type phantom struct {
	waiter *waiter
	step   int
}

// start begins a call that is not on its happy path, or goes on with it.
func (r *run) start(l *lane, q *Request) error {
	if !l.open {
		return r.begin(l.ctx, l.pipeline, q)
	}
	r.take(l, q)
	_, err := r.do(pipeline.Effect{Do: pipeline.Enter, Step: r.call.Entered})
	return err
}

func (r *run) begin(ctx context.Context, p *Pipeline, q *Request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, l := p.now(), p.layout.Load()
	_, err := r.do(r.prepare(ctx, p, l, q, now, deadline(ctx, now), p.seedOf(l)))
	return err
}

// prepare makes a call that began at a mark.
func (r *run) prepare(ctx context.Context, p *Pipeline, l *layout, q *Request, now, deadline clock.Mark, seed uint64) pipeline.Effect {
	r.p, r.ctx, r.layout, r.request = p, ctx, l, *q
	r.declined, r.returned = -1, clock.Always
	r.began, r.now = now, now
	return l.plan.Begin(&r.call, q.cost(), deadline, seed)
}

// seedOf returns the seed of the next call.
func (p *Pipeline) seedOf(l *layout) uint64 {
	if l.plan.Random() {
		return p.seed + p.numbers.Add(1)<<32
	}
	return p.seed
}

// cost returns the permits that the call asks for.
func (q *Request) cost() uint32 {
	switch q.Cost {
	case 0:
		return 1
	case NoCost:
		return 0
	}
	return q.Cost
}

// lookup returns an attribute of the request.
func (r *run) lookup(attribute string) string {
	if attribute == "key" {
		return r.request.Key
	}
	if r.request.Lookup == nil {
		return ""
	}
	return r.request.Lookup(attribute)
}

// box returns the cell of a step.
func (r *run) box(i int) *box {
	if b := r.layout.boxes[i]; b != nil {
		return b
	}
	if r.boxes == nil {
		r.boxes = make([]*box, r.layout.plan.Len())
	}
	if r.boxes[i] == nil {
		r.boxes[i] = r.layout.steps[i].find(r.lookup, r.now)
	}
	return r.boxes[i]
}

// context makes the context of an attempt. Where nothing can cut it and nothing
// can be held, the caller's own will do.
func (r *run) context() context.Context {
	r.late, r.void = false, false
	cut := r.layout.plan.CutAt(&r.call, 0)
	if r.request.Holdable {
		r.session = newSession(r.ctx, cut, r.p.now(), r.layout.ends[r.cutStep(cut)+1])
		return r.session
	}
	if cut == clock.Never {
		return r.ctx
	}
	r.attempt = r.p.attempt(r.ctx, cut, r.layout.ends[r.cutStep(cut)+1])
	return r.attempt
}

// attempt makes the context of an attempt that is cut at a mark.
func (s *settings) attempt(parent context.Context, cut clock.Mark, end *end) *attempt.Context {
	if s.source != nil {
		cut = attempt.Now().Add(cut.Sub(s.now()))
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

// abandon lets go of what an attempt held that is followed by another.
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
	r.now = r.p.now()
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
		if r.call.Phase == pipeline.Waiting && !w.leave(r.now) {
			r.woken(int(r.call.At), w)
		}
		effect = r.advance(pipeline.Event{Kind: pipeline.Abandoned})
	}
	// The error is lost on the way of the panic.
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
	outcome, told, after := r.p.meaning(r.ctx, err)
	r.last = err
	return r.settle(outcome, told, after, err)
}

func (r *run) settle(outcome reducer.Outcome, told bool, after time.Duration, err error) (again bool, _ error) {
	r.over()
	plan := r.layout.plan
	returned := r.returned
	if returned == clock.Always {
		returned = r.p.now()
	}
	r.returned = clock.Always
	r.soft(returned)
	if plan.EndsAt(&r.call) <= returned {
		if effect, cut := r.ends(returned); cut {
			return r.cut(effect, outcome, err, returned)
		}
	}
	r.now = returned
	if r.single {
		return r.do(r.advance(pipeline.Event{Kind: pipeline.Settled, Outcome: outcome}))
	}
	return r.do(r.advance(pipeline.Event{Kind: pipeline.Finished, Outcome: outcome, Told: told, RetryAfter: after}))
}
