package sluice

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// Event is a decision about a call, in the words of the decision log, or a
// change of a breaker's state.
type Event struct {
	At      clock.Mark
	Policy  string
	Step    string // empty for Admit, Retry and End
	Key     string // of the step's cell, or the call's own
	Kind    decision.Kind
	Outcome reducer.Outcome // of an End
	Reason  reducer.Reason
	Attempt uint32
	// Elapsed is how long the call has taken so far.
	Elapsed time.Duration
	// Wait is the longest wait of a Wait, the delay of a Retry.
	Wait time.Duration
	// RetryAfter of a Reject; negative where there is none.
	RetryAfter time.Duration
	// Note is the caller's own reason not to retry, see Request.NoRetry.
	Note string
	// Change is the new state of a breaker; then nothing but At, Policy, Step,
	// Key and Reason is set.
	Change string
	Shadow bool
	// Soft says that a Timeout is the soft limit of a step, which cuts nothing.
	Soft bool
}

// listeners is a set of functions. While it is empty, telling costs one load.
type listeners struct {
	list atomic.Pointer[[]*func(Event)]
	mu   sync.Mutex
}

// Listen calls f for every event, on the goroutine that caused it, without any
// lock held: f may call back. stop ends it and touches no other listener.
func (l *listeners) Listen(f func(Event)) (stop func()) {
	entry := &f
	l.change(func(list []*func(Event)) []*func(Event) { return append(list, entry) })
	return func() {
		l.change(func(list []*func(Event)) []*func(Event) {
			return slices.DeleteFunc(list, func(e *func(Event)) bool { return e == entry })
		})
	}
}

func (l *listeners) change(f func([]*func(Event)) []*func(Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*func(Event)
	if old := l.list.Load(); old != nil {
		list = slices.Clone(*old)
	}
	if list = f(list); len(list) == 0 {
		l.list.Store(nil)
		return
	}
	l.list.Store(&list)
}

// heard reports whether anybody listens.
func (l *listeners) heard() bool { return l.list.Load() != nil }

// report tells of what became of a call that began at a mark.
func (p *Pipeline) report(e Event, key string, began, now clock.Mark) {
	e.At, e.Policy, e.Key, e.Elapsed = now, p.name, key, now.Sub(began)
	if e.Kind != decision.Reject {
		e.RetryAfter = -1
	}
	p.tell(e)
}

func (l *listeners) tell(e Event) {
	list := l.list.Load()
	if list == nil {
		return
	}
	for _, f := range *list {
		(*f)(e)
	}
}

// logs returns a listener that writes to the logger.
func logs(logger *slog.Logger) func(Event) {
	return func(e Event) {
		level := slog.LevelDebug
		switch {
		case e.Change != "":
			level = slog.LevelWarn
		case e.Kind == decision.Admit || !logger.Enabled(context.Background(), level):
			return
		}
		logger.LogAttrs(context.Background(), level, "sluice", slog.Any("event", e))
	}
}

// LogValue implements slog.LogValuer: the fields that the event has.
func (e Event) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("policy", e.Policy)}
	add := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	if e.Change == "" {
		add("decision", e.Kind.String())
	}
	add("step", e.Step)
	add("key", e.Key)
	add("change", e.Change)
	add("outcome", e.Outcome.String())
	add("reason", e.Reason.String())
	add("note", e.Note)
	if e.Attempt > 0 {
		attrs = append(attrs, slog.Uint64("attempt", uint64(e.Attempt)))
	}
	if e.Shadow {
		attrs = append(attrs, slog.Bool("shadow", true))
	}
	return slog.GroupValue(attrs...)
}

// mode names the state of a breaker in an effect.
func mode(id uint64) string { return breaker.Mode(id).String() }
