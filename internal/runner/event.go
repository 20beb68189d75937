package runner

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// Event mirrors the Event of the public package.
type Event struct {
	At         clock.Mark
	Policy     string
	Step       string
	Key        string
	Kind       decision.Kind
	Outcome    reducer.Outcome
	Reason     reducer.Reason
	Mode       breaker.Mode
	Shadow     bool
	Soft       bool
	Fallback   bool
	Attempt    uint32
	Won        uint32
	Elapsed    time.Duration
	Wait       time.Duration
	RetryAfter time.Duration
	Note       string
}

// Listeners is a set of functions. While it is empty, an event costs one load.
type Listeners struct {
	list atomic.Pointer[[]*func(Event)]
	mu   sync.Mutex
}

// Listen adds a function, until stop is called.
func (l *Listeners) Listen(f func(Event)) (stop func()) {
	entry := &f
	l.change(func(list []*func(Event)) []*func(Event) { return append(list, entry) })
	return func() {
		l.change(func(list []*func(Event)) []*func(Event) {
			return slices.DeleteFunc(list, func(e *func(Event)) bool { return e == entry })
		})
	}
}

func (l *Listeners) change(f func([]*func(Event)) []*func(Event)) {
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

func (l *Listeners) hasListeners() bool { return l.list.Load() != nil }

// Emit calls the functions. A function may call back, so the caller holds no
// lock.
func (l *Listeners) Emit(e Event) {
	list := l.list.Load()
	if list == nil {
		return
	}
	for _, f := range *list {
		(*f)(e)
	}
}

// report emits what happened to a call that began at a mark.
func (p *Pipeline) report(e Event, key string, began, now clock.Mark) {
	e.At, e.Policy, e.Key, e.Elapsed = now, p.name, key, now.Sub(began)
	if e.Kind != decision.Reject {
		e.RetryAfter = -1
	}
	p.Emit(e)
}
