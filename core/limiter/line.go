package limiter

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// line is the queue before a limiter, or the row of refusals of one with blocks.
type line struct {
	queue  Queue
	tail   tail
	newest retryNewest
	streak streak
}

// forget discards what was computed about the turns of the queue.
func (l *line) forget() { l.tail, l.newest = tail{}, retryNewest{} }

// find returns the waiter with the ticket, nil for none.
func (s *State) find(ticket uint64) *Waiter {
	if s.line == nil {
		return nil
	}
	return s.line.queue.Find(ticket)
}

// recount notes that the count changed by something other than serving the queue.
func (s *State) recount() {
	if s.line != nil {
		s.line.forget()
	}
}

// behind reports whether a newcomer would have a waiter ahead of it.
func (m *Machine) behind(s *State) bool { return m.config.Order == Oldest && s.Waiting() > 0 }

func (m *Machine) acquire(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark, out *reducer.Out) {
	m.try(answer, s, a, now)
	if answer.Verdict == reducer.Admit || answer.Reason == reducer.ReasonCapacity || m.config.Wait == 0 {
		return
	}
	turn, latest := answer.Mark, now.Add(m.config.Wait)
	why := reducer.NoReason
	switch deadline := a.Deadline(); {
	case m.config.Order == Oldest && s.Waiting() >= m.config.Queue:
		why = reducer.ReasonFull
	case turn > latest:
		why = reducer.ReasonWait
	case deadline != clock.Never && turn >= deadline:
		why = reducer.ReasonDeadline
	}
	if why != reducer.NoReason {
		reject(answer, why, m.retryAt(s, a, turn, now))
		return
	}
	if s.line == nil {
		s.line = &line{}
	}
	if m.config.Order == Newest {
		if n := s.Waiting(); n >= m.config.Queue {
			s.line.queue.DropTo(n-1, reducer.ReasonFull, out)
		}
		turn = clock.Never // a newer caller may be served first
		s.line.forget()
	} else {
		m.extend(s, a.Cost)
	}
	s.count.changed = true
	*answer = reducer.Waiting(s.line.queue.Push(a.ID, a.Cost, latest), turn, latest)
}

// next returns the waiter that is served next, nil for none.
func (m *Machine) next(s *State) *Waiter {
	switch {
	case s.line == nil:
		return nil
	case m.config.Order == Newest:
		return s.line.queue.Back()
	}
	return s.line.queue.Front()
}

// served returns the i-th waiter in the order of serving.
func (m *Machine) served(s *State, i int) *Waiter {
	if m.config.Order == Newest {
		i = int(s.Waiting()) - 1 - i
	}
	return s.line.queue.At(i)
}

// reachable returns how many permits the waiters can get at now, one after the other.
func (m *Machine) reachable(s *State, now clock.Mark) uint64 {
	free := m.algorithm.free(&s.count, now)
	if m.algorithm.spaces() && m.config.Charge != ChargeEnd && free > 0 {
		return uint64(m.next(s).Cost)
	}
	return uint64(free)
}

// due reports whether a waiter's turn has come at now, with those ahead of it.
func (m *Machine) due(s *State, waiter *Waiter, now clock.Mark) bool {
	free := m.reachable(s, now)
	asked := uint64(0)
	for i := range int(s.Waiting()) {
		w := m.served(s, i)
		if m.config.Charge == ChargeEnd {
			asked = 0 // those ahead take nothing
		}
		if asked += uint64(w.Cost); asked > free {
			return false
		}
		if w.Ticket == waiter.Ticket {
			break
		}
	}
	return true
}

// leave removes a waiter that cancels, or whose wait is over. An Expire is answered
// Wait when it is not over, or ends now and the turn has come.
func (m *Machine) leave(answer *reducer.Answer, s *State, kind reducer.Kind, w *Waiter, now clock.Mark) {
	if kind == reducer.Expire && (w.Ends > now || w.Ends == now && m.due(s, w, now)) {
		*answer = reducer.Waiting(w.Ticket, clock.Never, w.Ends)
		return
	}
	s.line.queue.Take(w)
	s.line.forget()
	s.count.changed = true
	if kind == reducer.Leave {
		answer.Verdict = reducer.Done
		return
	}
	reject(answer, reducer.ReasonWait, clock.Never)
}

// endWaits drops the waiters whose wait is over. A waiter whose wait ends at this
// mark stays when its turn has come, and when the caller does not end the waits of
// this mark.
func (m *Machine) endWaits(s *State, now clock.Mark, present bool, out *reducer.Out) {
	if s.line == nil {
		return
	}
	q := &s.line.queue
	kept := 0
	for w := q.Ending(kept); w != nil && w.Ends <= now && w.Ends != clock.Never; w = q.Ending(kept) {
		if w.Ends == now && (!present || m.due(s, w, now)) {
			kept++
			continue
		}
		q.Drop(w, reducer.ReasonWait, out)
		s.line.forget()
		s.count.changed = true
	}
}

func (m *Machine) serve(s *State, now clock.Mark, out *reducer.Out) bool {
	w := m.next(s)
	if w == nil || !m.algorithm.take(&s.count, w.Cost, now) {
		return false
	}
	s.count.changed = true
	*out = append(*out, reducer.Effect{Kind: reducer.Grant, Caller: s.line.queue.Take(w), Permit: m.algorithm.permit(&s.count, now)})
	m.advance(s, now)
	return true
}

// serves returns the mark of the next waiter's turn and its caller. A caller waits.
func (m *Machine) serves(s *State) (at clock.Mark, caller uint64) {
	w := m.next(s)
	return m.algorithm.turn(&s.count, w.Cost, s.Last), w.Caller
}
