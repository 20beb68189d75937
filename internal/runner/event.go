package runner

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/internal/recording"
	"github.com/sluice-go/sluice/reducer"
)

// kinds is a set of kinds of events.
type kinds uint64

// kindsOf returns the set of the kinds, the set of all kinds where there are none.
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

// Listeners is a set of functions of events, and a trace. While it is empty, an event costs
// one load.
type Listeners struct {
	list atomic.Pointer[listening]
	mu   sync.Mutex
	// log logs a panic of a function. It is set before the first function is added.
	log func(value any, stack []byte)
}

// LogTo sets what logs a panic of a function, once.
func (l *Listeners) LogTo(log func(value any, stack []byte)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		l.log = log
	}
}

// listening is what events go to, immutable.
type listening struct {
	functions []*Listener
	kinds     kinds           // that a function listens to
	tells     bool            // a function has no observer
	trace     *recording.Pipe // of a pipeline; nil for none
}

// Listener is a function. One of a pipeline may have an observer, which gets the events of
// calls on their fast path in place of the function, or say when it needs none of them.
type Listener struct {
	f        func(api.Event)
	kinds    kinds
	observer api.Observer
	needs    func() bool // nil for always
}

// Hears reports whether the function listens to events of a kind.
func (x *Listener) Hears(k decision.Kind) bool { return x.kinds.has(k) }

// Call calls the function. It is inlined: an event that is a variable of the caller is
// then copied once.
func (x *Listener) Call(e api.Event) { x.f(e) }

// Listen adds a function for the kinds, for all kinds where there are none, until stop
// is called. It adds nothing for nil.
func (l *Listeners) Listen(f func(api.Event), of ...decision.Kind) (stop func()) {
	if f == nil {
		return func() {}
	}
	return l.add(&Listener{f: f, kinds: kindsOf(of)})
}

// ListenIf is Listen for a function that gets an event of a call on its fast path only while
// needs returns true.
func (l *Listeners) ListenIf(f func(api.Event), needs func() bool, of ...decision.Kind) (stop func()) {
	return l.add(&Listener{f: f, kinds: kindsOf(of), needs: needs})
}

// Observe adds an observer of all kinds until stop is called.
func (l *Listeners) Observe(o api.Observer) (stop func()) {
	return l.add(&Listener{f: o.Observe, kinds: kindsOf(nil), observer: o})
}

func (l *Listeners) add(entry *Listener) (stop func()) {
	l.change(func(to *listening) { to.functions = append(to.functions, entry) })
	return func() { l.remove(entry) }
}

func (l *Listeners) remove(entry *Listener) {
	l.change(func(to *listening) {
		to.functions = slices.DeleteFunc(to.functions, func(e *Listener) bool { return e == entry })
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
		next.tells = next.tells || x.observer == nil
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

// HearsCalls reports whether a function listens to events for which a mechanism alone has
// to read the clock when a call begins.
func (l *Listeners) HearsCalls() bool {
	const timed = 1<<decision.Admit | 1<<decision.End | 1<<decision.Slow
	return l.hearsOneOf(timed)
}

// HearsEnds is HearsCalls for the end of a call.
func (l *Listeners) HearsEnds() bool {
	const timed = 1<<decision.End | 1<<decision.Slow
	return l.hearsOneOf(timed)
}

func (l *Listeners) hearsOneOf(of kinds) bool {
	to := l.list.Load()
	return to != nil && to.kinds&of != 0
}

// Hearing returns the functions, where one of them listens to events of a kind.
func (l *Listeners) Hearing(k decision.Kind) []*Listener {
	if to := l.list.Load(); to != nil && to.kinds.has(k) {
		return to.functions
	}
	return nil
}

// Emit calls the functions that listen to events of the kind of this one. A function may
// call back, so the caller holds no lock. The event is a pointer because a copy costs as
// much as a call.
func (l *Listeners) Emit(kind decision.Kind, e *api.Event) { l.EmitTo(l.Hearing(kind), kind, e) }

// EmitTo is Emit for some of the functions.
func (l *Listeners) EmitTo(to []*Listener, kind decision.Kind, e *api.Event) {
	at := 0
	defer func() {
		if at < len(to) && l.Panicked(to[at], recover()) {
			l.EmitTo(to[at+1:], kind, e)
		}
	}()
	for ; at < len(to); at++ {
		if x := to[at]; x.kinds.has(kind) {
			x.f(*e)
		}
	}
}

// Panicked removes a function that panicked with a value, and reports whether the others
// still get the event: the panic does not end the call whose event it got, and the
// function does not panic for every later event. The value is nil after runtime.Goexit,
// which continues.
func (l *Listeners) Panicked(x *Listener, value any) bool {
	if value == nil {
		return false
	}
	l.remove(x)
	l.log(value, debug.Stack())
	return true
}

// report emits what happened to a call that began at a mark.
func (p *Pipeline) report(e *api.Event, ctx context.Context, q *api.Request, began, now clock.Mark) {
	if !p.Hears(e.Kind) {
		return
	}
	e.At, e.Policy, e.Key, e.Elapsed = now, p.name, q.Key, now.Sub(began)
	e.Context, e.Cost, e.Request = ctx, cost(q), p.RequestOf(ctx, q.ID)
	if e.Kind != decision.Reject && e.Kind != decision.Inject {
		e.RetryAfter = -1
	}
	p.Emit(e.Kind, e)
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
