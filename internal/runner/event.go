package runner

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/internal/tracing"
	"github.com/sluice-go/sluice/reducer"
)

// Event mirrors the Event of the public package.
type Event struct {
	At         clock.Mark
	Policy     string
	Step       string
	Key        string
	Request    string
	Kind       decision.Kind
	Outcome    reducer.Outcome
	Reason     reducer.Reason
	Mode       breaker.Mode
	Shadow     bool
	Soft       bool
	Slow       bool
	Manual     bool
	Fallback   bool
	Attempt    uint32
	Won        uint32
	Cost       uint32
	Counts     breaker.Counts
	Elapsed    time.Duration
	Wait       time.Duration
	RetryAfter time.Duration
	Note       string
	Err        error
	Context    context.Context
	Action     string
	By         string
	Why        string
}

// kinds is a set of kinds of events.
type kinds uint64

// kindsOf returns the set of the kinds, that of all kinds where there are none.
func kindsOf(of []decision.Kind) (set kinds) {
	if len(of) == 0 {
		return ^kinds(0)
	}
	for _, k := range of {
		set |= 1 << k
	}
	return set
}

func (s kinds) has(k decision.Kind) bool { return s>>k&1 != 0 }

// Listeners is a set of functions, and a trace. While it is empty, an event costs one
// load.
type Listeners struct {
	list atomic.Pointer[listening]
	mu   sync.Mutex
	// Panicked logs a panic of a function. It is set before the first event.
	Panicked func(value any, stack []byte)
}

// listening is what events go to, immutable.
type listening struct {
	functions []*listener
	kinds     kinds         // that a function listens to
	trace     *tracing.Pipe // nil for none
}

// listener is a function. One of a pipeline has an observer or a teller besides, for calls on
// their fast path.
type listener struct {
	f        func(Event)
	kinds    kinds
	observer Observer
	teller   Teller
}

// Observer gets the events of calls on their fast path in place of its function.
type Observer interface {
	Admitted(policy string)
	Succeeded(policy string, ctx context.Context, elapsed time.Duration)
}

// Teller is Observer with all fields of these events. They come as arguments, since to fill
// an event and to copy it for each function in between costs as much as the rest.
type Teller interface {
	Tell(ctx context.Context, kind decision.Kind, policy, key string, cost uint32, request string, now clock.Mark, elapsed time.Duration)
}

// Listen adds a function for the kinds, for all kinds where there are none, until stop
// is called.
func (l *Listeners) Listen(f func(Event), of ...decision.Kind) (stop func()) {
	return l.add(&listener{f: f, kinds: kindsOf(of)})
}

// ListenTold is Listen for a function that has a Teller, of a pipeline.
func (l *Listeners) ListenTold(f func(Event), t Teller, of ...decision.Kind) (stop func()) {
	return l.add(&listener{f: f, kinds: kindsOf(of), teller: t})
}

// Observe adds a function for all kinds, and its observer, until stop is called.
func (l *Listeners) Observe(f func(Event), o Observer) (stop func()) {
	return l.add(&listener{f: f, kinds: kindsOf(nil), observer: o})
}

func (l *Listeners) add(entry *listener) (stop func()) {
	l.change(func(to *listening) { to.functions = append(to.functions, entry) })
	return func() { l.remove(entry) }
}

func (l *Listeners) remove(entry *listener) {
	l.change(func(to *listening) {
		to.functions = slices.DeleteFunc(to.functions, func(e *listener) bool { return e == entry })
	})
}

func (l *Listeners) change(f func(*listening)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := &listening{}
	if old := l.list.Load(); old != nil {
		next.functions, next.trace = slices.Clone(old.functions), old.trace
	}
	f(next)
	for _, x := range next.functions {
		next.kinds |= x.kinds
	}
	if len(next.functions) == 0 && next.trace == nil {
		next = nil
	}
	l.list.Store(next)
}

// Hears reports whether a function listens to events of a kind.
func (l *Listeners) Hears(k decision.Kind) bool {
	to := l.list.Load()
	return to != nil && to.kinds.has(k)
}

// HasListeners reports whether there is a function or a trace.
func (l *Listeners) HasListeners() bool { return l.list.Load() != nil }

// HearsCalls reports whether a function listens to events of each call of a mechanism
// alone, for which the mechanism has to read the clock.
func (l *Listeners) HearsCalls() bool {
	const calls = kinds(1<<decision.Admit | 1<<decision.Reject | 1<<decision.End | 1<<decision.Slow)
	to := l.list.Load()
	return to != nil && to.kinds&calls != 0
}

// Emit calls the functions. A function may call back, so the caller holds no
// lock. The event is a pointer because a copy costs as much as a call.
func (l *Listeners) Emit(e *Event) {
	if to := l.list.Load(); to != nil {
		l.emit(to, e)
	}
}

func (l *Listeners) emit(to *listening, e *Event) {
	for next := 0; next < len(to.functions); {
		next = l.tell(to.functions, next, e.Kind, e, nil, nil, "", 0)
	}
}

// tell gives the listeners from one on an event, until one panics, and returns the one that
// follows the last that got it. One that panics is removed: its panic does not end the call
// whose event it got, and it does not panic for every later event. Where e is nil, the event
// is that of a call on its fast path. The parameters are not one value: what its pointers
// refer to would be allocated.
func (l *Listeners) tell(to []*listener, first int, kind decision.Kind, e *Event, c *fastPath, q *Request, id string, now clock.Mark) (next int) {
	next = first
	defer func() {
		if next == len(to) {
			return
		}
		// The value is nil after runtime.Goexit, which continues.
		if value := recover(); value != nil {
			l.remove(to[next])
			next++
			l.Panicked(value, debug.Stack())
		}
	}()
	for ; next < len(to); next++ {
		x := to[next]
		switch {
		case !x.kinds.has(kind):
		case e != nil:
			x.f(*e)
		case x.teller != nil:
			x.teller.Tell(c.ctx, kind, c.pipeline.name, q.Key, q.cost(), id, now, now.Sub(c.began))
		case kind == decision.Admit:
			x.observer.Admitted(c.pipeline.name)
		default:
			x.observer.Succeeded(c.pipeline.name, c.ctx, now.Sub(c.began))
		}
	}
	return next
}

// report emits what happened to a call that began at a mark.
func (p *Pipeline) report(e *Event, ctx context.Context, q *Request, began, now clock.Mark) {
	to := p.list.Load()
	if to == nil || !to.kinds.has(e.Kind) {
		return
	}
	e.At, e.Policy, e.Key, e.Elapsed = now, p.name, q.Key, now.Sub(began)
	e.Context, e.Cost, e.Request = ctx, q.cost(), p.RequestOf(ctx, q.ID)
	if e.Kind != decision.Reject && e.Kind != decision.Inject {
		e.RetryAfter = -1
	}
	p.emit(to, e)
}

// RequestOf returns the identifier of a request: its own, or the one of its context.
func (s *Settings) RequestOf(ctx context.Context, id string) string {
	if id == "" && s.RequestID != nil && ctx != nil {
		return s.RequestID(ctx)
	}
	return id
}

// cause is why a step changed a breaker.
type cause struct {
	manual bool // by an operator
	slow   bool // the slow outcomes reached their rate, and the failures did not
	counts breaker.Counts
}

// change is an effect of a cell that is an event.
type change struct {
	reducer.Effect
	cause
}

// causes keeps why the latest effect of a cell happened, until the effects are collected.
type causes struct {
	at    int // the effect, counted from 1; 0 for none
	cause cause
}

// act steps a cell, and notes why it changed its mode.
func (g *guarded) act(a reducer.Action, now clock.Mark) reducer.Answer {
	var why cause
	switch a.Kind {
	case reducer.Record:
		if g.listeners != nil && g.listeners.Hears(decision.Change) {
			why.counts, why.slow, _ = breaker.CountsAfter(g.cell, a, now)
		}
	case reducer.Transition, reducer.Reset:
		why.manual = true
	default:
		return g.cell.Step(a, now, g.out)
	}
	before := len(*g.out)
	answer := g.cell.Step(a, now, g.out)
	// What became due before the action comes before its own effect.
	if after := len(*g.out); after > before {
		g.causes = causes{after, why}
	}
	return answer
}

// take returns the effects with their causes, and clears the cause.
func (c *causes) take(out reducer.Out) []change {
	changes := make([]change, len(out))
	for i, e := range out {
		changes[i].Effect = e
	}
	// A change to another mode than open does not follow from a rate.
	if c.at > 0 && c.at <= len(out) {
		last := &changes[c.at-1]
		last.cause = c.cause
		if breaker.Mode(last.Permit.ID) != breaker.Open {
			last.counts, last.slow = breaker.Counts{}, false
		}
	}
	*c = causes{}
	return changes
}
