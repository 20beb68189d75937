package runner

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/internal/recording"
	"github.com/sluice-go/sluice/reducer"
)

// Do is DoWith of the public package.
func Do[T any](ctx context.Context, p *Pipeline, q *api.Request, fn func(context.Context) (T, error)) (T, error) {
	l := fastPath{ctx: ctx, pipeline: p}
	defer l.crashed(q)
	if !l.enter(q) {
		if l.refused {
			return zero[T](), l.refusal(q)
		}
		return perform(&l, q, fn)
	}
	value, err := fn(l.context(q))
	if l.leave(q, err) {
		return value, nil
	}
	return carryOn(&l, q, fn, value, err)
}

// Run repeats Do for functions without a result: a closure around fn would allocate on every
// call.
func Run(ctx context.Context, p *Pipeline, q *api.Request, fn func(context.Context) error) error {
	l := fastPath{ctx: ctx, pipeline: p}
	defer l.crashed(q)
	if !l.enter(q) {
		if l.refused {
			return l.refusal(q)
		}
		_, err := perform(&l, q, valueless(fn))
		return err
	}
	err := fn(l.context(q))
	if l.leave(q, err) {
		return nil
	}
	_, err = carryOn(&l, q, valueless(fn), nil, err)
	return err
}

// valueless is a function whose value is nil.
func valueless(fn func(context.Context) error) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) { return nil, fn(ctx) }
}

// perform makes a call that the fast path did not take to its function.
func perform[T any](l *fastPath, q *api.Request, fn func(context.Context) (T, error)) (value T, err error) {
	r := newRun()
	defer r.ended()
	if r.racing = l.layout.races && q.NoHedge == ""; r.racing {
		r.fn = box(fn)
	}
	again, err := r.start(l, q)
	return conclude(r, fn, value, again, err)
}

// carryOn continues a call that left the fast path after its function.
func carryOn[T any](l *fastPath, q *api.Request, fn func(context.Context) (T, error), value T, err error) (T, error) {
	r := newRun()
	defer r.ended()
	r.take(l, q)
	again, err := r.finish(err)
	return conclude(r, fn, value, again, err)
}

// conclude makes further attempts, where the policy wants them.
func conclude[T any](r *run, fn func(context.Context) (T, error), value T, again bool, err error) (T, error) {
	for again {
		value, err = fn(r.context())
		if r.classify != nil {
			r.value = value
		}
		again, err = r.finish(err)
	}
	if r.racing {
		value = zero[T]()
		if t := r.kept; t != nil && r.returnValue {
			value, _ = t.value.(T)
			r.kept = nil
		}
		r.drop()
	}
	if err != nil && !r.returnValue {
		value = zero[T]()
	}
	r.done = true
	return value, err
}

func zero[T any]() (value T) { return value }

// noStep is the index of no step.
const noStep = -1

// run is one running call: it takes the call through its plan as the Host, and
// waits where the call waits.
type run struct {
	call    pipeline.Call
	p       *Pipeline
	layout  *binding // nil before it has begun
	ctx     context.Context
	request api.Request
	keys    []keyRef // by attempt and step
	waits   []waiting
	ready   chan struct{}     // receives a value at the end of a wait; nil before the first
	attempt *attempt.Context  // of the attempt on the caller's goroutine
	leases  *leases           // of the attempt, nil for none
	usage   *usage            // of the attempt, nil where no step settles it
	session *session          // in place of attempt where it may be held
	hold    *session          // one that is held beyond its function
	warner  *warner           // emits soft limits while the function runs
	traced  *recording.Call   // nil where it is not recorded
	final   decision.Decision // how the call ended
	last    error             // of the last attempt
	earlier Earlier           // of the attempts before

	decision decision.Decision // for Tell
	began    clock.Mark
	now      clock.Mark
	waitEnds clock.Mark    // of the latest Wait
	waitOver time.Duration // how long the wait took that ended last
	returned clock.Mark    // when a function returned on the fast path, else Always
	declined int           // the step whose Enter refused the fast path, noStep for none

	attemptNo   uint8  // the attempt on the caller's goroutine
	warned      uint16 // steps above the retry whose soft limit was emitted
	running     bool   // a function is to run, or runs, on the caller's goroutine
	answered    bool   // a function has returned, and what it held is not released yet
	late        bool   // a cut is settled whose function returned after it
	gaveUp      bool   // the caller, while no attempt was running on its goroutine
	expired     bool   // the caller gave up a hedged call at its own deadline
	returnValue bool   // of the function, with its error
	single      bool   // whatever the policy says, there is one attempt
	done        bool   // nothing panicked
	extended    bool   // the attempt goes on beyond its function
	informed    bool   // the contexts of the attempts have an info
	voted       bool   // votes are of the latest attempt, whose function returned
	judging     bool   // a function of the user is asked about a result, which means judged without it
	judged      reducer.Outcome
	judgedNo    uint8 // of the attempt

	// classify decides about results, nil for none; value is the latest, and votes are
	// what the result means to each step, none where the attempt's outcome does.
	classify func(step string, value any, err error) reducer.Outcome
	value    any
	votes    [pipeline.MaxSteps]reducer.Outcome

	// Of a hedged call, whose attempts have goroutines of their own.
	racing bool
	fn     boxed
	box    *mailbox // nil before the first attempt
	tries  []*try
	kept   *try  // whose result the call returns, if no other comes
	asked  *try  // about whose result a function of the user is asked
	raced  bool  // a function ran when a timeout came
	cutBy  error // the cause of a cut that is being settled
}

var runs = sync.Pool{New: func() any { return new(run) }}

// newRun returns a run that has not begun.
func newRun() *run { return runs.Get().(*run) }

// free returns a run to the pool. Nothing refers to it any more.
func (r *run) free() {
	race, costs, keys, waits, tries := r.call.Race, r.call.Costs, r.keys[:0], r.waits[:0], r.tries[:0]
	clear(r.keys)
	clear(r.waits[:cap(r.waits)])
	clear(r.tries)
	*r = run{keys: keys, waits: waits, tries: tries}
	r.call.Race, r.call.Costs = race, costs
	runs.Put(r)
}

// ended frees a run, ends a call that has not come to its end, or leaves one whose attempt
// goes on to Extend.
func (r *run) ended() {
	switch {
	case !r.done:
		r.crashed()
	case r.extended:
		r.handOver()
	default:
		r.free()
	}
}

// start begins a call, or continues one that left the fast path.
func (r *run) start(l *fastPath, q *api.Request) (again bool, err error) {
	if !l.open {
		return r.begin(l.ctx, l.pipeline, l.layout, q)
	}
	r.take(l, q)
	r.apply(pipeline.Effect{Do: pipeline.Enter, Step: r.call.Entered})
	return r.next()
}

func (r *run) begin(ctx context.Context, p *Pipeline, l *binding, q *api.Request) (again bool, err error) {
	if ctx.Err() != nil {
		return false, Cancelled(ctx, nil)
	}
	now := p.Now()
	due := deadline(ctx, q, now)
	e := r.prepare(ctx, p, l, q, now, due, p.seedOf(l))
	r.traced = p.record(l.plan, q, now, due)
	r.apply(e)
	return r.next()
}

// prepare makes a call that began at a mark.
func (r *run) prepare(ctx context.Context, p *Pipeline, l *binding, q *api.Request, now, deadline clock.Mark, seed uint64) pipeline.Effect {
	r.p, r.ctx, r.layout, r.request = p, ctx, l, *q
	r.declined, r.returned = noStep, clock.Always
	r.began, r.now = now, now
	e := l.plan.Begin(&r.call, cost(q), deadline, seed)
	if l.plan.Priced() != 0 {
		costs := l.plan.CostsBy(attributes(&r.request))
		l.plan.Price(&r.call, &costs)
	}
	if l.plan.Conditional() {
		applies := pipeline.Conditions{Skips: l.skips}
		if !l.applied {
			applies = l.plan.ConditionsBy(attributes(&r.request))
		}
		e = l.plan.Apply(&r.call, &applies)
	}
	r.call.NoRetry = q.NoRetry != ""
	r.call.NoHedge, r.call.Single = q.NoHedge != "" || r.single, r.single
	r.informed = q.Informed || p.Informs
	if r.classify = q.Classify; r.classify == nil {
		r.classify = p.Classifier
	}
	return e
}

// seedOf returns the seed of the next call.
func (p *Pipeline) seedOf(l *binding) uint64 {
	if l.plan.Random() {
		return pipeline.Seed(p.Seed, p.numbers.Add(1))
	}
	return p.Seed
}

// apply performs an effect at the present mark of the run.
func (r *run) apply(e pipeline.Effect) { r.layout.plan.Take(r, &r.call, e, r.now) }

// happen advances the call at the present mark of the run.
func (r *run) happen(e pipeline.Event) { r.layout.plan.Happen(r, &r.call, &e, r.now) }

// bound has the call end with the attempt that starts, where its request allows no more.
func (r *run) bound() {
	if n := r.request.Attempts; n > 0 && r.call.Retry.Attempt >= n {
		r.call.NoRetry = true
	}
}

// context returns the context of an attempt: the caller's own where nothing can cut the
// attempt, nothing can be held, nothing is known of it and nothing is settled.
func (r *run) context() (ctx context.Context) {
	ctx, r.usage = r.usable(r.inner())
	return ctx
}

// inner is context without what the attempt uses.
func (r *run) inner() context.Context {
	r.returnValue = true
	k := r.attemptNo
	cut := r.layout.plan.CutAt(&r.call, k)
	r.warn()
	if r.request.Holdable {
		r.session = r.p.newSession(r.ctx, cut, r.layout.ends[r.cutStep(k, cut)+1])
		r.session.holdable = true
		r.lease(k, &r.session.leases)
		r.session.info = r.info(k, false)
		return r.session
	}
	ctx := r.ctx
	if cut != clock.Never {
		r.attempt = r.p.newAttempt(r.ctx, cut, r.layout.ends[r.cutStep(k, cut)+1])
		ctx = r.attempt
	}
	if leased := r.leasable() != 0; leased || r.informed {
		c := &attemptContext{Context: ctx, info: r.info(k, false)}
		if leased {
			r.lease(k, &c.leases)
			r.leases = &c.leases
		}
		ctx = c
	}
	return ctx
}

// newAttempt makes the context of an attempt that is cut at a mark.
func (s *Settings) newAttempt(parent context.Context, cut clock.Mark, end *end) *attempt.Context {
	return attempt.New(parent, s.cutBy(cut), end.deadline)
}

// cutBy returns a mark by attempt.Now.
func (s *Settings) cutBy(cut clock.Mark) clock.Mark {
	if s.Source == nil || cut == clock.Never {
		return cut
	}
	return attempt.Now().Add(cut.Sub(s.Now()))
}

// cutStep returns the timeout step that cuts the attempt at a mark, noStep for the
// caller's own deadline.
func (r *run) cutStep(k uint8, cut clock.Mark) int {
	plan := r.layout.plan
	for i := range plan.Len() {
		if plan.DeadlineAt(&r.call, k, i) == cut {
			return i
		}
	}
	return noStep
}

// over ends the context of the attempt, unless it is held.
func (r *run) over() {
	r.warner.stop()
	r.warner = nil
	if r.attempt != nil {
		r.attempt.End()
		r.attempt = nil
	}
	if r.leases != nil {
		r.leases.ended.Store(true)
		r.leases = nil
	}
	if r.session != nil {
		if r.session.end() {
			r.hold = r.session
		}
		r.session = nil
	}
}

// abandon releases what an attempt held before another attempt follows.
func (r *run) abandon() {
	r.answered = false
	if r.racing {
		r.drop()
		return
	}
	if r.request.Abandon != nil {
		r.request.Abandon()
	}
	if r.hold != nil {
		r.hold.release()
		r.hold = nil
	}
}

// finish settles an attempt that returned on the caller's goroutine, and reports
// whether the run must make another attempt.
func (r *run) finish(err error) (again bool, _ error) {
	if err == nil && r.session.extends() {
		r.extended = true
		return false, nil
	}
	r.judge(r.attemptNo, err)
	outcome, hasRetryAfter, after, err := r.outcome(r.value, err)
	if r.p.Delay != nil && r.layout.plan.RetryIndex() >= 0 {
		r.judged = outcome
		hasRetryAfter, after = r.p.Delayed(r.ctx, r.call.NumberOf(r.attemptNo), false, err, r.began, outcome, hasRetryAfter, after)
	}
	r.judging = false
	return r.settle(outcome, hasRetryAfter, after, err)
}

// Unclassified returns what an error of a function means where its classifier panics.
func Unclassified(err error) reducer.Outcome {
	if err == nil {
		return reducer.OK
	}
	return reducer.Fail
}

// judge notes what a result means, before functions of the user are asked.
func (r *run) judge(k uint8, err error) {
	r.judging, r.judged, r.judgedNo = true, Unclassified(err), k
}

// outcome returns what the result of an attempt means, and the error of the attempt. It
// calls code of the user, so it comes before any step of the attempt ends.
func (r *run) outcome(value any, err error) (o reducer.Outcome, hasRetryAfter bool, after time.Duration, last error) {
	if r.classify == nil {
		o, hasRetryAfter, after = r.p.Classify(r.ctx, err)
		return o, hasRetryAfter, after, err
	}
	o, hasRetryAfter, after, last = r.p.ClassifyResult(r.ctx, r.classify, "", value, err)
	if o == reducer.Cancelled {
		return o, hasRetryAfter, after, last
	}
	for i := range r.layout.plan.Len() {
		r.votes[i] = 0
		if r.layout.plan.Records(i) {
			r.votes[i] = Classified(r.classify(r.layout.plan.StepName(i), value, err))
		}
	}
	r.voted = true
	return o, hasRetryAfter, after, last
}

// vote returns the outcome that step i records.
func (r *run) vote(i int, o reducer.Outcome) reducer.Outcome {
	switch {
	case !r.voted || r.votes[i] == 0:
	case o == reducer.OK || o == reducer.Fail || o == reducer.Throttle || o == reducer.Ignore:
		return r.votes[i] // the attempt was not cut, cancelled or lost
	}
	return o
}

func (r *run) settle(outcome reducer.Outcome, hasRetryAfter bool, after time.Duration, err error) (again bool, _ error) {
	r.over()
	returned := r.returned
	if returned == clock.Always {
		returned = r.p.Now()
	}
	r.returned = clock.Always
	r.poll(reducer.Grant, reducer.Drop)
	r.soft(returned)
	r.last, r.answered = err, true
	// A late success is returned all the same, unless the options refuse it.
	r.call.Late = outcome == reducer.OK && !r.p.RefuseLate
	stalled := clock.Never
	if r.request.Stalled != nil {
		stalled = r.stalled(returned)
	}
	r.late = true
	cut := r.ends(min(returned, stalled-1))
	r.late = false
	r.now = min(returned, stalled)
	if stalled <= returned {
		outcome, hasRetryAfter = reducer.Cancelled, false
	}
	switch {
	case !cut:
		r.call.Late = false
		r.running = false
		r.use(r.attemptNo, r.usage)
		r.traced.Done(r.now, 0, outcome, hasRetryAfter, after)
		r.layout.plan.Finish(r, &r.call, r.attemptNo, outcome, hasRetryAfter, after, r.now)
	case r.call.Late:
		r.layout.plan.Keep(r, &r.call, r.now)
	case outcome == reducer.OK:
		r.returnValue = false
	}
	return r.next()
}

// stalled returns the mark of the cut of an attempt that waited for its caller,
// clock.Never where there is none up to a mark.
func (r *run) stalled(now clock.Mark) clock.Mark {
	if at := r.layout.plan.CutAt(&r.call, r.attemptNo); at <= now && r.request.Stalled() {
		return at
	}
	return clock.Never
}

// ends processes the timeouts and other ends that are due up to a mark, each at its own
// mark, until a timeout cuts the call, and reports whether one did. Timeouts and hedges
// in shadow are only emitted.
func (r *run) ends(now clock.Mark) (cut bool) {
	plan := r.layout.plan
	for r.call.Phase != pipeline.Over {
		at := plan.EndsAt(&r.call)
		if hedge := r.shadowHedge(); hedge < at && hedge <= now {
			r.now = max(r.now, hedge)
			plan.Hedge(r, &r.call, r.now)
			continue
		}
		if at > now {
			return false
		}
		r.now = max(r.now, at)
		if r.racing && at == r.call.Deadline && r.request.Stalled != nil && r.request.Stalled() {
			r.cutBy, r.expired = r.layout.ends[0].cause, true
			r.giveUp()
			return true
		}
		_, r.raced = r.call.Find(0)
		effect := r.layout.plan.Advance(&r.call, &pipeline.Event{Kind: pipeline.Woken}, r.now)
		if i := effect.Cut(); i != pipeline.NoCut && (i < 0 || !r.call.InShadow(i)) {
			ran := r.running
			r.running = false
			r.apply(effect)
			r.sweep()
			if !ran {
				r.returnValue = false
			}
			return true
		}
		r.apply(effect)
	}
	return false
}

// shadowHedge returns the mark of the next hedge where the hedge is in shadow.
func (r *run) shadowHedge() clock.Mark {
	plan := r.layout.plan
	if h := plan.HedgeIndex(); r.call.Phase == pipeline.Racing && r.call.InShadow(h) {
		return plan.ResumesAt(&r.call)
	}
	return clock.Never
}

// wasCut notes that a timeout step cut the call.
func (r *run) wasCut(step string, i int) {
	last := r.last
	if r.racing {
		r.cutBy = r.layout.ends[i+1].cause
		if r.raced {
			last = nil // of an attempt that has not returned
		}
	}
	if !r.call.Late {
		r.last = &api.TimeoutError{Policy: r.p.name, Step: step, Err: last}
	}
}

// crashed ends a call that has not come to its end: its function, or another one
// of the caller's, panicked or called runtime.Goexit. It releases what is held, and
// an attempt that ran counts as failed.
func (r *run) crashed() {
	if r.layout == nil {
		return
	}
	r.over()
	r.now = r.p.Now()
	r.late, r.call.Late = false, false
	hold := r.hold
	switch {
	case r.call.Phase == pipeline.Over:
		if r.final.Kind == 0 {
			r.layout.plan.Abort(r, &r.call, r.now)
		}
	case r.running:
		outcome := reducer.Fail
		switch {
		case r.judging:
			outcome = r.judged
		case r.returned != clock.Always:
			outcome = reducer.OK
		}
		r.running = false
		r.traced.Done(r.now, 0, outcome, false, 0)
		r.happen(pipeline.Event{Kind: pipeline.Settled, Attempt: r.attemptNo, Outcome: outcome})
	case r.call.Phase == pipeline.Settling:
		r.happen(pipeline.Event{Kind: pipeline.Continued})
	default:
		event := pipeline.Event{Kind: pipeline.Abandoned}
		k, runs := r.call.Find(0)
		outcome := reducer.Fail
		if r.judging {
			k, outcome = r.judgedNo, r.judged
		}
		if runs {
			event = pipeline.Event{Kind: pipeline.Settled, Attempt: k, Outcome: outcome}
			r.traced.Done(r.now, r.call.NumberOf(k), outcome, false, 0)
		} else {
			r.traced.Cancel(r.now)
		}
		r.happen(event)
	}
	r.drop()
	r.sweep()
	if t := r.asked; t != nil {
		r.asked = nil
		t.dispose()
	}
	r.hold = nil
	if hold != nil {
		hold.release()
	}
}

// result makes the error of a call that is over.
func (r *run) result() error {
	d := &r.final
	switch {
	case d.Kind == decision.Reject:
		r.returnValue = false
		return &api.RejectedError{Policy: r.p.name, Step: d.Step, Reason: d.Reason, RetryAfter: d.RetryAfter, Err: r.last}
	case d.Kind == decision.Expire:
		r.returnValue = false
		return &api.RejectedError{Policy: r.p.name, Step: d.Step, Reason: d.Reason, Waited: true, RetryAfter: -1, Err: r.last}
	case r.expired:
		return &api.TimeoutError{Policy: r.p.name, Step: pipeline.Deadline, Err: r.last}
	case r.gaveUp:
		r.returnValue = false
		return Cancelled(r.ctx, r.last)
	case r.call.Barred && r.request.NoRetry != "":
		return r.retryError(reducer.NoReason, r.request.NoRetry)
	case d.Reason != reducer.NoReason:
		return r.retryError(d.Reason, "")
	}
	return r.last
}

func (r *run) retryError(why reducer.Reason, note string) error {
	plan := r.layout.plan
	return &api.RetryError{
		Policy: r.p.name, Step: plan.StepName(plan.RetryIndex()), Reason: why, Note: note,
		Attempts: int(r.final.Attempt), Err: r.last, Earlier: r.earlier.List(),
	}
}
