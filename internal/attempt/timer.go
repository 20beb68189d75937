package attempt

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// deadlineTimer cancels a context at its deadline. It is passed from one context
// to the next, and its timer keeps running in between: where it fires before the
// deadline of the present context, it is set again for the rest. So most contexts
// set none.
//
// A goroutine that stores context then loads at, and one that stores at then loads
// context: if a context finds that the timer is set early enough, the timer finds the
// context when it fires.
type deadlineTimer struct {
	once    bool                    // never used again
	context atomic.Pointer[Context] // nil for none
	at      atomic.Int64            // mark for which the timer is set, Never when it has fired

	mu    sync.Mutex // of setting it
	timer *time.Timer
}

var timers sync.Pool

// oldest is the age of a process above which it makes new timers.
const oldest = clock.Mark(365 * 24 * time.Hour)

// startTimer starts a timer for the deadline; nil when that has passed.
func startTimer(c *Context) *deadlineTimer {
	now := Now()
	if c.deadline <= now {
		return nil
	}
	// A timer of a bubble of testing/synctest must not be used outside it, nor one
	// from outside in it. Time in a bubble begins in the year 2000, so the age of
	// the process distinguishes the two, unless a test sleeps until today.
	bubble := now < 0 || now > oldest
	var t *deadlineTimer
	if !bubble {
		t, _ = timers.Get().(*deadlineTimer)
	}
	if t == nil {
		t = &deadlineTimer{once: bubble}
		t.at.Store(int64(clock.Never))
	}
	t.context.Store(c)
	if int64(c.deadline) < t.at.Load() {
		t.mu.Lock()
		if int64(c.deadline) < t.at.Load() {
			t.set(c.deadline, now)
		}
		t.mu.Unlock()
	}
	return t
}

// set starts the timer for a mark. The caller holds the mutex.
func (t *deadlineTimer) set(at, now clock.Mark) {
	t.at.Store(int64(at))
	if after := at.Sub(now); t.timer == nil {
		t.timer = time.AfterFunc(after, t.fire)
	} else {
		t.timer.Reset(after)
	}
}

func (t *deadlineTimer) fire() {
	t.mu.Lock()
	t.at.Store(int64(clock.Never))
	c, now := t.context.Load(), Now()
	early := c != nil && now < c.deadline
	if early {
		t.set(c.deadline, now)
	}
	t.mu.Unlock()
	if c != nil && !early {
		c.expire()
	}
}

// release takes the timer from its context.
func (t *deadlineTimer) release() {
	t.context.Store(nil)
	if t.once {
		t.timer.Stop()
		return
	}
	timers.Put(t)
}
