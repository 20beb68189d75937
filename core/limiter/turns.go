package limiter

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// fold serves a copy of the counter to the first n waiters, each at its own
// turn, and returns the counter and the mark after the last of them.
func (m *Machine[S, C]) fold(s *State[S], n uint32, now clock.Mark) (S, clock.Mark) {
	counter := m.Counter.Clone(s.Counter)
	w, ok := m.next(s)
	for ; ok && n > 0; n-- {
		now = m.Counter.Turn(counter, w.Cost, now)
		m.Counter.Step(&counter, reducer.Action{Kind: reducer.TryAcquire, Cost: w.Cost}, now, nil)
		w, ok = m.after(s, w)
	}
	return counter, now
}

// turnBehind returns the turn of a newcomer behind all who wait.
func (m *Machine[S, C]) turnBehind(s *State[S], cost uint32, now clock.Mark) clock.Mark {
	if at, ok := m.Counter.TurnAfter(s.Counter, s.Queue.Cost(), cost, now); ok {
		return at
	}
	counter, at := m.fold(s, s.Queue.Len(), now)
	return m.Counter.Turn(counter, cost, at)
}

// roomAt returns the mark at which the full queue has a place.
func (m *Machine[S, C]) roomAt(s *State[S], now clock.Mark) clock.Mark {
	_, at := m.fold(s, s.Queue.Len()-m.waiting.Queue+1, now)
	return at
}

// retryNewest returns the least mark at which a newcomer's turn is near enough
// for its wait, with the newest of those who wait served before it and the
// others' waits running out. Who is next blocks those behind until its wait
// runs out, and theirs run out with it or before.
func (m *Machine[S, C]) retryNewest(s *State[S], cost uint32, now clock.Mark, wait time.Duration) clock.Mark {
	counter := m.Counter.Clone(s.Counter)
	blocked := clock.Always
	w, ok := m.next(s)
	for {
		at := max(now, m.Counter.Turn(counter, cost, now).Add(-wait))
		if !ok {
			return at
		}
		turn := m.Counter.Turn(counter, w.Cost, now)
		if turn > w.Ends || w.Ends <= blocked {
			if at <= w.Ends {
				return at
			}
			blocked = max(blocked, w.Ends)
			now = max(now, w.Ends)
			w, ok = m.after(s, w)
			continue
		}
		if at < turn {
			return at
		}
		now = turn
		m.Counter.Step(&counter, reducer.Action{Kind: reducer.TryAcquire, Cost: w.Cost}, now, nil)
		w, ok = m.after(s, w)
	}
}
