package runner

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// ErrHedgeLost is the cause with which the context of an attempt ends when another
// one of its round has won.
var ErrHedgeLost = errors.New("sluice: another attempt won")

// AttemptOf is AttemptOf of the public package.
func AttemptOf(ctx context.Context) (number uint32, hedge, ok bool) {
	s := sessionOf(ctx)
	if s == nil || s.number == 0 {
		return 0, false, false
	}
	return s.number, s.hedge, true
}

// boxed is a function whose value is an interface.
type boxed func(context.Context) (any, error)

func box[T any](fn func(context.Context) (T, error)) boxed {
	return func(ctx context.Context) (any, error) { return fn(ctx) }
}

// try is an attempt of a hedged call, with a goroutine of its own. The goroutine
// writes the result, and posts the try unless the call has stopped waiting for it.
type try struct {
	*session
	ctx    context.Context // of the function: the session, or a usage in front of it
	usage  *usage
	owner  *mailbox
	k      uint8
	round  uint32
	warned uint16 // steps whose soft limit was emitted

	value   any
	err     error
	at      clock.Mark // when the function returned
	how     ending
	crash   any // of a panic
	stack   []byte
	settled bool // the call has taken the result, or does not want it
	posted  bool // guarded by the mailbox
	lost    bool // guarded by the mailbox
}

// ending is how a function ended.
type ending uint8

const (
	exited ending = iota // by runtime.Goexit
	panicked
	succeeded // it returned, with an error or without
)

// mailbox receives the attempts of a call that have returned. It outlives the call as
// long as one of them runs.
type mailbox struct {
	p       *Pipeline
	discard func(any)
	ready   chan struct{}

	mu   sync.Mutex
	done []*try
}

// round returns the number of the present round, from 1 on.
func (r *run) round() uint32 { return r.call.Retry.Attempt }

// spawn starts the function of the attempt k on a goroutine.
func (r *run) spawn(k uint8) {
	if r.box == nil {
		if r.ready == nil {
			r.ready = make(chan struct{}, 1)
		}
		r.box = &mailbox{p: r.p, discard: r.request.Discard, ready: r.ready}
	}
	cut := r.layout.plan.CutAt(&r.call, k)
	t := &try{session: r.p.newSession(r.ctx, cut, r.layout.ends[r.cutStep(k, cut)+1]), owner: r.box, k: k, round: r.round()}
	t.number, t.hedge, t.holdable = r.call.NumberOf(k), k > 1, r.request.Holdable
	r.lease(k, &t.session.leases)
	t.info = r.info(k, t.hedge)
	t.ctx, t.usage = r.usable(t.session)
	r.tries = append(r.tries, t)
	go t.run(r.fn)
}

func (t *try) run(fn boxed) {
	defer func() {
		if t.how != succeeded {
			if t.crash = recover(); t.crash != nil {
				t.how, t.stack = panicked, debug.Stack()
			}
		}
		t.post()
	}()
	t.value, t.err = fn(t.ctx)
	t.how = succeeded
}

// post puts a try that has returned in the mailbox. A try that has lost has no receiver
// any more, and disposes of itself.
func (t *try) post() {
	b := t.owner
	t.at = b.p.Now()
	b.mu.Lock()
	t.posted = true
	lost := t.lost
	if !lost {
		b.done = append(b.done, t)
	}
	b.mu.Unlock()
	if lost {
		t.dispose()
		return
	}
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// dispose ends a try that has returned and whose result the call does not take: it
// releases the places that the attempt kept.
func (t *try) dispose() {
	t.session.end()
	defer t.session.release()
	switch {
	case t.how == panicked:
		t.owner.p.AttemptPanicked(t.owner.p.name, t.number, t.crash, t.stack)
	case t.how == succeeded && t.owner.discard != nil:
		defer func() {
			if crash := recover(); crash != nil {
				t.owner.p.AttemptPanicked(t.owner.p.name, t.number, crash, debug.Stack())
			}
		}()
		t.owner.discard(t.value)
	}
}

// earliest takes the try out of the mailbox that returned first, nil for none.
func (b *mailbox) earliest() *try {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.done) == 0 {
		return nil
	}
	first := 0
	for i, t := range b.done {
		if t.at < b.done[first].at {
			first = i
		}
	}
	t := b.done[first]
	b.done = append(b.done[:first], b.done[first+1:]...)
	return t
}

// lose cancels an attempt that the call does not wait for any more.
func (r *run) lose(t *try) {
	b := t.owner
	b.mu.Lock()
	t.lost = true
	for i := range b.done {
		if b.done[i] == t {
			b.done = append(b.done[:i], b.done[i+1:]...)
			break
		}
	}
	posted := t.posted
	b.mu.Unlock()
	switch {
	case r.cutBy != nil:
		t.session.cancel(r.cutBy)
	case r.call.Race.Won != 0:
		t.session.cancel(ErrHedgeLost)
	default:
		t.session.cancel(context.Cause(r.ctx))
	}
	if posted {
		t.dispose()
	}
}

// Stop implements pipeline.Host.
func (r *run) Stop(k uint8) {
	for _, t := range r.tries {
		if t.round == r.round() && t.k == k {
			r.stop(t)
		}
	}
}

// stop loses an attempt unless it has been lost or settled.
func (r *run) stop(t *try) {
	if !t.settled {
		t.settled = true
		r.lose(t)
	}
}

// sweep stops the attempts that are over for the call.
func (r *run) sweep() {
	for _, t := range r.tries {
		if !t.settled && (r.call.Phase != pipeline.Racing || r.call.Try(t.k).Phase == pipeline.Over) {
			r.stop(t)
		}
	}
	r.cutBy = nil
}

// collect settles the attempts that have returned, each after the timeouts that
// came before its end.
func (r *run) collect() {
	for r.box != nil && r.call.Phase == pipeline.Racing {
		t := r.box.earliest()
		if t == nil {
			return
		}
		for r.ends(t.at) {
		}
		if r.call.Phase != pipeline.Racing || r.call.Try(t.k).Phase == pipeline.Over {
			// A timeout cut it before.
			t.settled = true
			t.dispose()
			continue
		}
		r.now = max(r.now, t.at)
		r.settleTry(t)
	}
}

// settleTry settles an attempt that has returned while the call waited for it.
func (r *run) settleTry(t *try) {
	r.drop()
	t.settled = true
	if t.how != succeeded {
		r.settleCrash(t)
	}
	r.judge(t.k, t.err)
	r.asked = t
	outcome, hasRetryAfter, after, err := r.outcome(t.value, t.err)
	if r.p.Delay != nil && r.layout.plan.RetryIndex() >= 0 {
		r.judged = outcome
		hasRetryAfter, after = r.p.Delayed(r.ctx, t.number, t.hedge, err, r.began, outcome, hasRetryAfter, after)
	}
	r.judging, r.asked = false, nil
	if outcome == reducer.Cancelled && r.ctx.Err() != nil {
		t.dispose()
		r.giveUp()
		return
	}
	r.kept, r.last, r.answered, r.returnValue = t, err, true, true
	if !t.session.end() {
		t.session.release()
	}
	r.use(t.k, t.usage)
	r.traced.Done(r.now, t.number, outcome, hasRetryAfter, after)
	r.layout.plan.Finish(r, &r.call, t.k, outcome, hasRetryAfter, after, r.now)
	r.sweep()
}

// settleCrash ends a call one of whose attempts panicked or called runtime.Goexit, and
// repeats the panic or exit on the caller's goroutine.
func (r *run) settleCrash(t *try) {
	t.session.end()
	t.session.release()
	r.traced.Done(r.now, t.number, reducer.Fail, false, 0)
	r.happen(pipeline.Event{Kind: pipeline.Settled, Attempt: t.k, Outcome: reducer.Fail})
	r.sweep()
	if t.how == exited {
		runtime.Goexit()
	}
	r.p.AttemptPanicked(r.p.name, t.number, t.crash, t.stack)
	panic(t.crash)
}

// drop discards the result of an attempt that the call does not return.
func (r *run) drop() {
	if t := r.kept; t != nil {
		r.kept = nil
		t.dispose()
	}
}

// keep keeps a place until the functions that need it have returned and, where one of
// them called Hold, its release was called.
func (r *run) keep(k uint8, i int, b cellRef, a reducer.Action) {
	place := kept{cell: b, action: a}
	if !r.racing {
		r.hold.keep(place, r.now)
		return
	}
	var all []*try
	for _, t := range r.tries {
		switch plan := r.layout.plan; {
		case i > plan.HedgeIndex() && (t.k != k || t.round != r.round()):
		case i > plan.RetryIndex() && t.round != r.round():
		default:
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		place.release(r.now)
		return
	}
	place.left = new(atomic.Int32)
	place.left.Store(int32(len(all)))
	for _, t := range all {
		t.session.keep(place, r.now)
	}
}
