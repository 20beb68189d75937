package sluice

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// attempt is the context of one attempt: 32 bytes and no timer until somebody
// asks for Done. Until then Deadline and Err compare marks.
type attempt struct {
	parent   context.Context
	deadline clock.Mark // on the line of base
	end      atomic.Pointer[end]
}

// end is that of an attempt, past or to come.
type end struct {
	done chan struct{}

	mu     sync.Mutex
	err    error // nil before the end
	alarm  *alarm
	detach func() bool // from the parent, nil where it never ends
	hooks  map[*func()]struct{}
}

// How most attempts end for which nobody asked for Done.
var (
	over    = ended(context.Canceled)
	overdue = ended(context.DeadlineExceeded)
)

func ended(err error) *end {
	e := &end{done: make(chan struct{}), err: err}
	close(e.done)
	return e
}

// Deadline implements context.Context.
func (a *attempt) Deadline() (time.Time, bool) {
	at, ok := a.parent.Deadline()
	own := base.Add(time.Duration(a.deadline))
	if ok && at.Before(own) {
		return at, true
	}
	return own, true
}

// Err implements context.Context.
func (a *attempt) Err() error {
	e := a.end.Load()
	if e != nil {
		if err := e.why(); err != nil {
			return err
		}
	}
	if err := a.parent.Err(); err != nil {
		return a.stop(err)
	}
	// Once Done was asked for, a timer says when the time is over.
	if e == nil && clock.Mark(time.Since(base)) >= a.deadline {
		return a.stop(context.DeadlineExceeded)
	}
	return nil
}

// Done implements context.Context.
func (a *attempt) Done() <-chan struct{} { return a.watch().done }

// Value implements context.Context.
func (a *attempt) Value(key any) any { return a.parent.Value(key) }

// AfterFunc calls f at the end of the attempt, unless stop comes first. Package
// context looks for it, and then needs no goroutine for the children of an
// attempt. Like the children of its own contexts, they end before stop returns.
func (a *attempt) AfterFunc(f func()) (stop func() bool) {
	e := a.watch()
	e.mu.Lock()
	if e.err != nil {
		e.mu.Unlock()
		f()
		return func() bool { return false }
	}
	defer e.mu.Unlock()
	if e.hooks == nil {
		e.hooks = map[*func()]struct{}{}
	}
	e.hooks[&f] = struct{}{}
	return func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		_, found := e.hooks[&f]
		delete(e.hooks, &f)
		return found
	}
}

// watch makes sure that somebody will tell of the end.
func (a *attempt) watch() *end {
	if e := a.end.Load(); e != nil {
		return e
	}
	e := &end{done: make(chan struct{})}
	if !a.end.CompareAndSwap(nil, e) {
		return a.end.Load()
	}
	if err := a.parent.Err(); err != nil {
		a.stop(err)
		return e
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		if a.parent.Done() != nil {
			e.detach = context.AfterFunc(a.parent, func() { a.stop(a.parent.Err()) })
		}
		e.alarm = ring(a)
	}
	return e
}

// finish ends an attempt whose function has returned.
func (a *attempt) finish() {
	if !a.end.CompareAndSwap(nil, over) {
		a.stop(context.Canceled)
	}
}

// stop ends the attempt, unless it is over already, and returns why it ended.
func (a *attempt) stop(err error) error {
	e := a.end.Load()
	for e == nil {
		var how *end
		switch err {
		case context.Canceled:
			how = over
		case context.DeadlineExceeded:
			how = overdue
		default:
			how = ended(err)
		}
		if a.end.CompareAndSwap(nil, how) {
			return err
		}
		e = a.end.Load()
	}
	return e.stop(err)
}

func (e *end) why() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

func (e *end) stop(err error) error {
	e.mu.Lock()
	if e.err != nil {
		defer e.mu.Unlock()
		return e.err
	}
	e.err = err
	close(e.done)
	alarm, detach, hooks := e.alarm, e.detach, e.hooks
	e.alarm, e.detach, e.hooks = nil, nil, nil
	e.mu.Unlock()
	if alarm != nil {
		alarm.off()
	}
	if detach != nil {
		detach()
	}
	for f := range hooks {
		(*f)()
	}
	return err
}

// alarm ends an attempt at its deadline. It is used again when it was switched
// off in time: setting a timer costs a quarter of making one.
type alarm struct {
	timer   *time.Timer
	attempt atomic.Pointer[attempt]
	once    bool // never used again
}

var alarms sync.Pool

// ring sets an alarm for the attempt's deadline.
func ring(a *attempt) *alarm {
	now := clock.Mark(time.Since(base))
	after := a.deadline.Sub(now)
	// The timer of a bubble of testing/synctest is not to be used outside it, nor
	// one from outside in it. There it is the year 2000, long before base.
	bubble := now < 0
	if !bubble {
		if used, _ := alarms.Get().(*alarm); used != nil {
			used.attempt.Store(a)
			used.timer.Reset(after)
			return used
		}
	}
	m := &alarm{once: bubble}
	m.attempt.Store(a)
	m.timer = time.AfterFunc(after, m.strike)
	return m
}

func (m *alarm) strike() {
	if a := m.attempt.Load(); a != nil {
		a.stop(context.DeadlineExceeded)
	}
}

// off switches the alarm off. One that has struck, or is about to, is not used
// again.
func (m *alarm) off() {
	if m.timer.Stop() && !m.once {
		m.attempt.Store(nil)
		alarms.Put(m)
	}
}
