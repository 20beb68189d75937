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
	ending   atomic.Pointer[ending]
}

// ending is how an attempt ends, or will. What is not guarded by mu is set
// before anybody sees it.
type ending struct {
	real  *real // where the parent may end first; then nothing below is used
	done  chan struct{}
	alarm *alarm // nil for an end that is past

	mu    sync.Mutex
	why   *reason // nil before done is closed
	hooks map[*func()]struct{}
}

// real is a context of package context.
type real struct {
	context.Context
	cancel context.CancelFunc
}

// reason is why an attempt ended.
type reason struct{ err, cause error }

// How most attempts end for which nobody asked for Done.
var (
	byReturn   = past(&reason{context.Canceled, context.Canceled})
	byDeadline = past(&reason{context.DeadlineExceeded, context.DeadlineExceeded})
)

func past(why *reason) *ending {
	e := &ending{done: make(chan struct{}), why: why}
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
	// Once Done was asked for, it says when the time is over.
	if e := a.ending.Load(); e != nil {
		return e.err()
	}
	switch {
	case a.parent.Err() != nil:
		a.follow()
	case clock.Mark(time.Since(base)) >= a.deadline:
		a.stop(byDeadline)
	default:
		return nil
	}
	// The first error stays, whatever the attempt does next.
	return a.ending.Load().err()
}

// Done implements context.Context.
func (a *attempt) Done() <-chan struct{} {
	e := a.watch()
	if e.real != nil {
		return e.real.Done()
	}
	return e.done
}

// Value implements context.Context. Package context asks it for the canceller
// behind a context, and that for the cause: one of an attempt that is over is
// its own, whatever the parent does later.
func (a *attempt) Value(key any) any {
	e := a.ending.Load()
	switch {
	case e != nil && e.real != nil:
		return e.real.Value(key)
	case e == nil || e.err() == nil:
		return a.parent.Value(key)
	}
	over, cancel := context.WithCancelCause(context.WithoutCancel(a.parent))
	cancel(e.why.cause)
	return over.Value(key)
}

// AfterFunc calls f at the end of the attempt, unless stop comes first. Package
// context looks for it to attach children without a goroutine; f cancels one.
func (a *attempt) AfterFunc(f func()) (stop func() bool) {
	e := a.watch()
	if e.real != nil {
		return context.AfterFunc(e.real, f)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.why != nil {
		// Not here: the caller holds what f wants to lock.
		go f()
		return func() bool { return false }
	}
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
func (a *attempt) watch() *ending {
	for {
		if e := a.ending.Load(); e != nil {
			return e
		}
		if a.parent.Err() != nil {
			a.follow()
			continue
		}
		e := &ending{}
		if a.parent.Done() != nil {
			at, _ := a.Deadline()
			ctx, cancel := context.WithDeadline(a.parent, at)
			e.real = &real{ctx, cancel}
		} else if e.alarm = ring(a); e.alarm != nil {
			e.done = make(chan struct{})
		} else {
			a.stop(byDeadline)
			continue
		}
		if a.ending.CompareAndSwap(nil, e) {
			return e
		}
		e.release()
	}
}

// follow ends an attempt whose parent has ended.
func (a *attempt) follow() {
	err, cause := a.parent.Err(), context.Cause(a.parent)
	for _, usual := range [...]*ending{byReturn, byDeadline} {
		if *usual.why == (reason{err, cause}) {
			a.stop(usual)
			return
		}
	}
	a.stop(past(&reason{err, cause}))
}

// stop ends the attempt so, unless it is over already.
func (a *attempt) stop(how *ending) {
	if a.ending.CompareAndSwap(nil, how) {
		return
	}
	if e := a.ending.Load(); e.real != nil || e.stop(how.why) {
		e.release()
	}
}

// err returns why the attempt ended, nil before that.
func (e *ending) err() error {
	if e.real != nil {
		return e.real.Err()
	}
	select {
	case <-e.done:
		return e.why.err
	default:
		return nil
	}
}

// release lets go of what would have brought the end about.
func (e *ending) release() {
	if e.real != nil {
		e.real.cancel()
	} else {
		e.alarm.off()
	}
}

// stop reports whether it was this call that brought the end about. Then the
// children have ended, too.
func (e *ending) stop(why *reason) bool {
	e.mu.Lock()
	if e.why != nil {
		e.mu.Unlock()
		return false
	}
	e.why = why
	close(e.done)
	hooks := e.hooks
	e.hooks = nil
	e.mu.Unlock()
	for f := range hooks {
		(*f)()
	}
	return true
}

// alarm ends an attempt at its deadline. It goes from one attempt to the next,
// and its timer runs on meanwhile: where it runs out before the deadline of the
// present attempt, it is set for the rest. So most attempts set none.
type alarm struct {
	once bool // never used again

	mu      sync.Mutex
	timer   *time.Timer
	at      clock.Mark // for which the timer is set, Never when it has run out
	attempt *attempt   // nil for none
}

var alarms sync.Pool

// oldest is the age above which a process makes its alarms anew.
const oldest = clock.Mark(365 * 24 * time.Hour)

// ring sets an alarm for the attempt's deadline; nil when that has passed.
func ring(a *attempt) *alarm {
	now := clock.Mark(time.Since(base))
	if a.deadline <= now {
		return nil
	}
	// The timer of a bubble of testing/synctest is not to be used outside it, nor
	// one from outside in it. There time begins in the year 2000, and no process
	// is as old as one that has slept until today.
	bubble := now < 0 || now > oldest
	var m *alarm
	if !bubble {
		m, _ = alarms.Get().(*alarm)
	}
	if m == nil {
		m = &alarm{once: bubble, at: clock.Never}
	}
	m.mu.Lock()
	m.attempt = a
	if a.deadline < m.at {
		m.set(now)
	}
	m.mu.Unlock()
	return m
}

// set sets the timer for the attempt. The caller holds the mutex.
func (m *alarm) set(now clock.Mark) {
	m.at = m.attempt.deadline
	if after := m.at.Sub(now); m.timer == nil {
		m.timer = time.AfterFunc(after, m.strike)
	} else {
		m.timer.Reset(after)
	}
}

func (m *alarm) strike() {
	m.mu.Lock()
	m.at = clock.Never
	a, now := m.attempt, clock.Mark(time.Since(base))
	early := a != nil && now < a.deadline
	if early {
		m.set(now)
	}
	m.mu.Unlock()
	if a != nil && !early {
		a.stop(byDeadline)
	}
}

// off takes the alarm from its attempt.
func (m *alarm) off() {
	m.mu.Lock()
	m.attempt = nil
	m.mu.Unlock()
	if m.once {
		m.timer.Stop()
		return
	}
	alarms.Put(m)
}
