package sluice

import (
	"context"
	"math"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// emitter emits the events of a mechanism alone. While it has no listener, an event costs
// one load.
type emitter struct {
	listeners runner.Listeners
	settings  *settings // nil for a zero mechanism, which has no events
	step      string
}

// begin says for what the emitter emits, and adds the logger of the settings.
func (m *emitter) begin(step string, s *settings) {
	m.step, m.settings = step, s
	if s.attach != nil {
		s.attach(m)
	}
}

// listen alone names what logs a panic of a listener: a program that has no listener links no
// package log/slog.
func (m *emitter) listen(f func(Event), kinds []EventKind) (stop func()) {
	if m.settings != nil {
		m.listeners.LogTo(m.settings.ListenerPanicked)
	}
	return m.listeners.Listen(f, kinds...)
}

// on reports whether there is a listener.
func (m *emitter) on() bool { return m.listeners.HasListeners() }

// emit emits an event. The caller holds no lock.
func (m *emitter) emit(ctx context.Context, at clock.Mark, e *Event) {
	if !m.listeners.Hears(e.Kind) {
		return
	}
	e.At, e.Step, e.Context = at, m.step, ctx
	if e.Request == "" {
		e.Request = m.settings.RequestOf(ctx, "")
	}
	if e.Kind != decision.Reject {
		e.RetryAfter = -1
	}
	e.Shadow = m.settings.shadow && shadowed(e.Kind)
	m.listeners.Emit(e.Kind, e)
}

// shadowed reports whether an event says what a mechanism in shadow does not enforce.
func shadowed(k EventKind) bool {
	switch k {
	case decision.Reject, decision.Wait, decision.Granted, decision.Expire, decision.Retry:
		return true
	}
	return false
}

// call emits an event that has no more fields than its parameters. It is the most frequent
// one, and filled in where the listeners are called: each copy of an event costs as much as
// a call.
func (m *emitter) call(ctx context.Context, kind EventKind, key string, cost uint32, o reducer.Outcome, elapsed time.Duration, at clock.Mark) {
	to := m.listeners.Hearing(kind)
	if len(to) == 0 {
		return
	}
	var e Event // an assignment of Event{} beside another value copies it
	next := 0
	e.At, e.Step, e.Key, e.Request, e.Kind, e.Outcome = at, m.step, key, m.settings.RequestOf(ctx, ""), kind, o
	e.Cost, e.Elapsed, e.RetryAfter, e.Context = cost, elapsed, -1, ctx
	defer func() {
		if next < len(to) && m.listeners.Panicked(to[next], recover()) {
			m.listeners.EmitTo(to[next+1:], e.Kind, &e)
		}
	}()
	for ; next < len(to); next++ {
		if x := to[next]; x.Hears(kind) {
			x.Call(e)
		}
	}
}

// admitted emits that a caller has its permits.
func (m *emitter) admitted(ctx context.Context, key string, cost uint32, now clock.Mark) {
	m.call(ctx, decision.Admit, key, cost, 0, 0, now)
}

// answered emits what a caller that asked for permits got.
func (m *emitter) answered(ctx context.Context, key string, cost uint32, a reducer.Answer, now clock.Mark) {
	switch a.Verdict {
	case reducer.Admit:
		m.admitted(ctx, key, cost, now)
	case reducer.Wait:
		m.queued(ctx, key, cost, a.WaitEnds(), now)
		m.passed(ctx, key, cost, now)
	case reducer.Reject:
		after, ok := a.RetryAfter(now)
		if !ok {
			after = -1
		}
		m.rejected(ctx, key, cost, a.Reason, after, now)
	}
}

// queued emits that a caller waits until a mark at the latest, clock.Never for as long as it
// likes.
func (m *emitter) queued(ctx context.Context, key string, cost uint32, ends, now clock.Mark) {
	e := Event{Kind: decision.Wait, Key: key, Cost: cost}
	if d := ends.Sub(now); ends != clock.Never && d != math.MaxInt64 { // the wait of a Limiter without one
		e.Wait = d
	}
	m.emit(ctx, now, &e)
}

// rejected emits that a caller is refused. after is negative where it is not known when there
// are permits.
func (m *emitter) rejected(ctx context.Context, key string, cost uint32, why reducer.Reason, after time.Duration, now clock.Mark) {
	if m.listeners.Hears(decision.Reject) {
		m.emit(ctx, now, &Event{Kind: decision.Reject, Key: key, Cost: cost, Reason: why, RetryAfter: after})
	}
	m.passed(ctx, key, cost, now)
}

// passed emits that a call runs which a mechanism in shadow would not have admitted.
func (m *emitter) passed(ctx context.Context, key string, cost uint32, now clock.Mark) {
	if m.settings.shadow {
		m.admitted(ctx, key, cost, now)
	}
}

// waited emits how a wait ended that began at a mark: with a permit, without one, or with
// the context of its caller.
func (m *emitter) waited(ctx context.Context, cost uint32, effect reducer.Effect, began, now clock.Mark) {
	if !m.on() {
		return
	}
	e := Event{Cost: cost, Wait: max(0, now.Sub(began)), Elapsed: max(0, now.Sub(began))}
	switch effect.Kind {
	case reducer.Grant:
		e.Kind = decision.Granted
	case reducer.Drop:
		e.Kind, e.Reason = decision.Expire, effect.Reason
	default:
		e.Kind, e.Outcome, e.Err = decision.End, reducer.Cancelled, context.Cause(ctx)
	}
	m.emit(ctx, now, &e)
	if e.Kind == decision.Granted {
		m.emit(ctx, now, &Event{Kind: decision.Admit, Cost: cost, Elapsed: e.Elapsed})
	}
}

// noContext is the context of events of methods that have none.
var noContext context.Context

// configured emits that the mechanism has another configuration.
func (m *emitter) configured(now clock.Mark) {
	m.emit(noContext, now, &Event{Kind: decision.Configured})
}

// Listen calls f for every event of the limiter, or for events of the given kinds, on the
// goroutine that caused it and without any lock held: f may call back. stop ends it and touches
// no other listener. Kinds: admit, reject, wait, granted, expire, drained, configured, and an
// end with outcome cancel for a caller that cancelled its wait.
func (l *Limiter) Listen(f func(Event), kinds ...EventKind) (stop func()) {
	return l.events.listen(f, kinds)
}

// Listen calls f for every event of the limiter, or for events of the given kinds, as
// Limiter.Listen does. Kinds: admit, reject, wait, granted, manual for a Reset, configured, an
// end with outcome cancel for a caller that cancelled its wait, and evicted, which has no key,
// because the limiter does not store keys.
func (l *KeyedLimiter) Listen(f func(Event), kinds ...EventKind) (stop func()) {
	return l.events.listen(f, kinds)
}

// Listen calls f for every event of the bulkhead, or for events of the given kinds, as
// Limiter.Listen does. Kinds: admit, reject, wait, granted, expire, lapse, configured, and an
// end for a place that was released and for a caller that cancelled its wait.
func (b *Bulkhead) Listen(f func(Event), kinds ...EventKind) (stop func()) {
	return b.events.listen(f, kinds)
}

// Listen calls f for every event of the breaker, or for events of the given kinds, as
// Limiter.Listen does. Kinds: admit, reject, end, slow, change, manual for a Reset that changes
// no mode, and configured.
func (b *Breaker) Listen(f func(Event), kinds ...EventKind) (stop func()) {
	return b.events.listen(f, kinds)
}

// Listen calls f for every event of the retrier, or for events of the given kinds, as
// Limiter.Listen does. Kinds: admit for every attempt, retry, and end, whose reason says why
// the retrier gave up.
func (r *Retrier) Listen(f func(Event), kinds ...EventKind) (stop func()) {
	return r.events.listen(f, kinds)
}
