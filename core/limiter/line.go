package limiter

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Count is a counter with its state, as the queue in front of it sees it. The
// rules of the queue stand once for all algorithms behind this interface; as
// type parameters they would be compiled for each.
type Count interface {
	// Step is that of the counter.
	Step(a reducer.Action, now clock.Mark) reducer.Answer
	// Capacity is that of the counter.
	Capacity() uint32
	// Turn is that of the counter.
	Turn(cost uint32, now clock.Mark) clock.Mark
	// TurnAfter is that of the counter.
	TurnAfter(ahead uint64, cost uint32, now clock.Mark) (at clock.Mark, ok bool)
	// Copy returns a count that shares no memory with this one.
	Copy() Count
}

// Step steps a limiter in place.
func (w *Waiting) Step(l *Line, c Count, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	now = max(now, l.Last)
	l.Last = now
	switch a.Kind {
	case reducer.Acquire:
		return w.acquire(l, c, a, now, out)
	case reducer.TryAcquire, reducer.Peek, reducer.Reserve:
		return w.try(l, c, a, now)
	case reducer.Leave:
		return done(l.Queue.Remove(a.ID))
	case reducer.Expire:
		return w.expire(l, c, a.ID, now)
	case reducer.Tick:
		return w.tick(l, c, now, out)
	case reducer.Serve:
		return w.serve(l, c, now, out)
	case reducer.Reset:
		l.Queue.DropTo(0, reducer.ReasonCapacity, out)
	}
	return c.Step(a, now)
}

func done(ok bool) reducer.Answer {
	if ok {
		return reducer.Answer{Verdict: reducer.Done}
	}
	return reducer.Answer{}
}

// behind reports whether a newcomer stands behind somebody.
func (w *Waiting) behind(l *Line) bool { return w.Order == Oldest && l.Queue.Len() > 0 }

func (w *Waiting) try(l *Line, c Count, a reducer.Action, now clock.Mark) reducer.Answer {
	if a.Cost > 0 && w.behind(l) && a.Cost <= c.Capacity() {
		return reducer.Rejected(reducer.ReasonRate, w.turnBehind(l, c, a.Cost, now))
	}
	answer := c.Step(a, now)
	if answer.Reason == reducer.ReasonRate && l.Queue.Len() > 0 && (a.Kind == reducer.TryAcquire || a.Kind == reducer.Peek) {
		// Who waits is served first, whatever the order.
		answer.Mark = w.retryNewest(l, c, a.Cost, now, 0)
	}
	return answer
}

func (w *Waiting) acquire(l *Line, c Count, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	answer := w.try(l, c, a, now)
	if answer.Verdict == reducer.Admit || answer.Reason == reducer.ReasonCapacity || w.Wait == 0 {
		return answer
	}
	turn, told := answer.Mark, answer.Mark
	full := l.Queue.Len() >= w.Queue
	latest := now.Add(w.Wait)
	switch {
	case w.Order == Newest && turn > latest:
		return reducer.Rejected(reducer.ReasonWait, w.retryNewest(l, c, a.Cost, now, w.Wait))
	case w.Order == Newest:
		if full {
			l.Queue.DropTo(l.Queue.Len()-1, reducer.ReasonFull, out)
		}
		told = clock.Never
	case full:
		return reducer.Rejected(reducer.ReasonFull, max(turn.Add(-w.Wait), w.roomAt(l, c, now)))
	case turn > latest:
		return reducer.Rejected(reducer.ReasonWait, turn.Add(-w.Wait))
	}
	return reducer.Waiting(l.Queue.Push(a.ID, a.Cost, latest), told, latest)
}

// next returns who is served next, nil for nobody.
func (w *Waiting) next(l *Line) *Waiter {
	if w.Order == Newest {
		return l.Queue.Back()
	}
	return l.Queue.Front()
}

// after returns who is served after a waiter.
func (w *Waiting) after(l *Line, one *Waiter) *Waiter {
	if w.Order == Newest {
		return l.Queue.Before(one)
	}
	return l.Queue.Behind(one)
}

// expire ends the wait of a ticket, unless it is not over or the turn has come.
func (w *Waiting) expire(l *Line, c Count, ticket uint64, now clock.Mark) reducer.Answer {
	one := l.Queue.Find(ticket)
	if one == nil {
		return reducer.Answer{}
	}
	if one.Ends > now || w.due(l, c, one) {
		return reducer.Waiting(ticket, clock.Never, one.Ends)
	}
	l.Queue.Take(one)
	return reducer.Rejected(reducer.ReasonWait, clock.Never)
}

// due reports whether the waiter's turn, with those ahead of it, comes by the
// end of its wait.
func (w *Waiting) due(l *Line, c Count, waiter *Waiter) bool {
	c = c.Copy()
	now := waiter.Ends
	for one := w.next(l); one != nil; one = w.after(l, one) {
		if c.Turn(one.Cost, now) > now {
			return false
		}
		if one == waiter {
			return true
		}
		take(c, one, now)
	}
	return false
}

// take serves a waiter from a count.
func take(c Count, one *Waiter, now clock.Mark) reducer.Answer {
	return c.Step(reducer.Action{Kind: reducer.TryAcquire, Cost: one.Cost}, now)
}

func (w *Waiting) tick(l *Line, c Count, now clock.Mark, out *reducer.Out) reducer.Answer {
	for one := l.Queue.Soonest(); one != nil && one.Ends <= now && one.Ends != clock.Never; {
		later := l.Queue.Later(one)
		if !w.due(l, c, one) {
			l.Queue.Drop(one, reducer.ReasonWait, out)
		}
		one = later
	}
	return done(true)
}

func (w *Waiting) serve(l *Line, c Count, now clock.Mark, out *reducer.Out) reducer.Answer {
	one := w.next(l)
	if one == nil {
		return done(false)
	}
	answer := take(c, one, now)
	if answer.Verdict != reducer.Admit {
		return done(false)
	}
	*out = append(*out, reducer.Effect{Kind: reducer.Grant, Caller: l.Queue.Take(one), Permit: answer.Permit})
	return done(true)
}

// Serves returns the mark of the next waiter's turn and its caller, clock.Never
// for nobody.
func (w *Waiting) Serves(l *Line, c Count) (at clock.Mark, caller uint64) {
	one := w.next(l)
	if one == nil {
		return clock.Never, 0
	}
	return c.Turn(one.Cost, l.Last), one.Caller
}

// Wake returns the mark of the next turn or end of a wait, clock.Never for none.
func (w *Waiting) Wake(l *Line, c Count) clock.Mark {
	at, _ := w.Serves(l, c)
	return min(at, l.Queue.EndsAt())
}

// Fit puts out the waiters whose cost is above the capacity.
func (l *Line) Fit(c Count, out *reducer.Out) {
	capacity := c.Capacity()
	for one := l.Queue.Front(); one != nil; {
		behind := l.Queue.Behind(one)
		if one.Cost > capacity {
			l.Queue.Drop(one, reducer.ReasonCapacity, out)
		}
		one = behind
	}
}
