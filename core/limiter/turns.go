package limiter

import (
	"time"

	"github.com/sluice-go/sluice/clock"
)

// fold serves a copy of the count to the first n waiters, each at its own turn,
// and returns the copy and the mark after the last of them.
func (w *Waiting) fold(l *Line, c Count, n uint32, now clock.Mark) (Count, clock.Mark) {
	c = c.Copy()
	for one := w.next(l); one != nil && n > 0; n-- {
		now = c.Turn(one.Cost, now)
		take(c, one, now)
		one = w.after(l, one)
	}
	return c, now
}

// turnBehind returns the turn of a newcomer behind all who wait.
func (w *Waiting) turnBehind(l *Line, c Count, cost uint32, now clock.Mark) clock.Mark {
	if at, ok := c.TurnAfter(l.Queue.Cost(), cost, now); ok {
		return at
	}
	c, at := w.fold(l, c, l.Queue.Len(), now)
	return c.Turn(cost, at)
}

// roomAt returns the mark at which the full queue has a place.
func (w *Waiting) roomAt(l *Line, c Count, now clock.Mark) clock.Mark {
	_, at := w.fold(l, c, l.Queue.Len()-w.Queue+1, now)
	return at
}

// retryNewest returns the least mark at which a newcomer's turn is near enough
// for its wait, with the newest of those who wait served before it and the
// others' waits running out. Who is next blocks those behind until its wait
// runs out, and theirs run out with it or before.
func (w *Waiting) retryNewest(l *Line, c Count, cost uint32, now clock.Mark, wait time.Duration) clock.Mark {
	c = c.Copy()
	blocked := clock.Always
	one := w.next(l)
	for {
		at := max(now, c.Turn(cost, now).Add(-wait))
		if one == nil {
			return at
		}
		turn := c.Turn(one.Cost, now)
		if turn > one.Ends || one.Ends <= blocked {
			if at <= one.Ends {
				return at
			}
			blocked = max(blocked, one.Ends)
			now = max(now, one.Ends)
		} else {
			if at < turn {
				return at
			}
			now = turn
			take(c, one, now)
		}
		one = w.after(l, one)
	}
}
