package bulkhead

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable bulkhead.
type Machine struct{ config Config }

var _ reducer.Cell[State] = (*Machine)(nil)

// New validates the configuration.
func New(c Config) (*Machine, error) {
	var e reducer.ConfigErrors
	c.check(&e)
	e.Duration(c.Wait > 0 && c.Queue == 0, "wait", c.Wait, "0 or more, beside a queue")
	if err := e.Err(); err != nil {
		return nil, err
	}
	return &Machine{config: c}, nil
}

// Begin implements reducer.Cell.
func (m *Machine) Begin(s *State, now clock.Mark) { s.Last = now }

// Step implements reducer.Cell.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, out *reducer.Out) (answer reducer.Answer) {
	m.step(&answer, s, &a, now, out)
	return answer
}

// step is Step without copies of the action and of the answer, which is zero.
func (m *Machine) step(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark, out *reducer.Out) {
	now = max(now, s.Last)
	before := s.Held
	switch a.Kind {
	case reducer.Peek:
		m.peek(answer, s, a, now)
		return
	case reducer.Acquire, reducer.TryAcquire, reducer.Renew, reducer.Serve, reducer.Tick:
		// Waits and leases that are over end first, whether or not a tick came.
		m.end(s, now, out)
	}
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire:
		switch cost := placesOf(a.Cost); {
		case cost > m.config.Concurrent:
			answer.Verdict, answer.Reason, answer.Mark = reducer.Reject, reducer.ReasonCapacity, clock.Never
		case cost <= m.free(s) && !m.behind(s):
			answer.Verdict, answer.Permit = reducer.Admit, m.take(s, a.ID, cost, now)
		case a.Kind == reducer.Acquire && m.queues(s):
			*answer = m.queue(s, a, now, out)
		default:
			answer.Verdict, answer.Reason, answer.Mark = reducer.Reject, reducer.ReasonFull, clock.Never
		}
	case reducer.Release, reducer.Cancel:
		answer.Verdict = done(s.release(&a.Permit, now))
	case reducer.Renew:
		answer.Verdict = done(m.renew(s, a.Permit, now))
	case reducer.Leave:
		if answer.Verdict = done(s.Queue.Remove(a.ID)); answer.Verdict == reducer.Done {
			s.touch(now)
		}
	case reducer.Expire:
		*answer = m.expire(s, a.ID, now)
	case reducer.Serve:
		answer.Verdict = done(m.serve(s, now, out))
	case reducer.Commit, reducer.Tick, reducer.Configure:
		answer.Verdict = reducer.Done
	case reducer.Reset:
		if answer.Verdict = reducer.Done; m.Held(s) {
			s.Queue.DropTo(0, reducer.ReasonFull, out)
			s.Holders = s.Emptied()
			s.touch(now)
		}
	}
	answer.Changed, s.changed = s.changed, false
	if assert.On {
		m.assert(s, before)
	}
}

func done(ok bool) reducer.Verdict {
	if ok {
		return reducer.Done
	}
	return reducer.Stale
}

// peek answers as TryAcquire would, without ending what is over.
func (m *Machine) peek(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) {
	held, waits := s.HeldAt(now), false
	if n := int(s.Queue.Len()); n > 0 {
		last := s.Queue.Ending(n - 1).Ends
		waits = last > now || last == clock.Never
	}
	answer.Verdict, answer.Mark = reducer.Admit, now
	answer.Free = m.config.Concurrent - min(held, m.config.Concurrent)
	switch cost := placesOf(a.Cost); {
	case cost > m.config.Concurrent:
		answer.Verdict, answer.Reason, answer.Mark = reducer.Reject, reducer.ReasonCapacity, clock.Never
	case cost > answer.Free || waits && m.config.Order == limiter.Oldest:
		answer.Verdict, answer.Reason, answer.Mark = reducer.Reject, reducer.ReasonFull, clock.Never
	}
}

// Enter is a fast path of Step(Acquire) where the places are free, no caller waits and
// places have no leases. It returns false and leaves the state unchanged if the
// caller must use Step. It does not make anything due.
func (m *Machine) Enter(s *State, cost uint32, caller uint64, _, now clock.Mark) (reducer.Permit, bool) {
	cost = placesOf(cost)
	if cost > m.free(s) || s.Queue.Len() > 0 || m.config.Lease > 0 || s.Leased() {
		return reducer.Permit{}, false
	}
	p := s.hold(caller, cost, clock.Never, max(now, s.Last))
	s.changed = false
	if assert.On {
		m.assert(s, 0)
	}
	return p, true
}

// Exit is a fast path of Step(Release) where no caller waits and no place has a
// lease. It returns false and leaves the state unchanged if the caller must use Step.
func (m *Machine) Exit(s *State, p reducer.Permit, now clock.Mark) bool {
	if s.Queue.Len() > 0 || s.Leased() || !s.release(&p, max(s.Last, now)) {
		return false
	}
	s.changed = false
	if assert.On {
		m.assert(s, s.Held)
	}
	return true
}

// placesOf returns how many places a caller of a cost takes: at least one.
func placesOf(cost uint32) uint32 { return max(1, cost) }

// free returns how many places are free.
func (m *Machine) free(s *State) uint32 {
	return m.config.Concurrent - min(s.Held, m.config.Concurrent)
}

// behind reports whether a newcomer would have a waiter ahead of it.
func (m *Machine) behind(s *State) bool {
	return m.config.Order == limiter.Oldest && s.Queue.Len() > 0
}

// queues reports whether a caller without places may wait for them.
func (m *Machine) queues(s *State) bool {
	return m.config.Queue > 0 && (s.Queue.Len() < m.config.Queue || m.config.Order == limiter.Newest)
}

// queue lets a caller wait. A full queue drops its oldest waiter.
func (m *Machine) queue(s *State, a *reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	if s.Queue.Len() >= m.config.Queue {
		s.Queue.DropTo(s.Queue.Len()-1, reducer.ReasonFull, out)
	}
	ends := clock.Never
	if m.config.Wait > 0 {
		ends = now.Add(m.config.Wait)
	}
	s.touch(now)
	return reducer.Waiting(s.Queue.Push(a.ID, a.Cost, ends), clock.Never, ends)
}

func (m *Machine) take(s *State, caller uint64, cost uint32, now clock.Mark) reducer.Permit {
	until := clock.Never
	if m.config.Lease > 0 {
		until = now.Add(m.config.Lease)
	}
	return s.hold(caller, cost, until, now)
}

func (m *Machine) renew(s *State, p reducer.Permit, now clock.Mark) bool {
	if !s.Holds(&p) {
		return false
	}
	if m.config.Lease > 0 && s.Renew(&p, now.Add(m.config.Lease)) {
		s.touch(now)
	}
	return true
}

func (m *Machine) expire(s *State, ticket uint64, now clock.Mark) reducer.Answer {
	w := s.Queue.Find(ticket)
	if w == nil {
		return reducer.Answer{}
	}
	if w.Ends > now {
		return reducer.Waiting(ticket, clock.Never, w.Ends)
	}
	s.Queue.Take(w)
	s.touch(now)
	return reducer.Rejected(reducer.ReasonWait, clock.Never)
}

// end ends what has expired at now: waits, then leases.
func (m *Machine) end(s *State, now clock.Mark, out *reducer.Out) {
	for w := s.Queue.Soonest(); w != nil && w.Ends <= now && w.Ends != clock.Never; w = s.Queue.Soonest() {
		s.touch(max(s.Last, w.Ends))
		s.Queue.Drop(w, reducer.ReasonWait, out)
	}
	if last, any := s.LapseUntil(now, out); any {
		s.touch(max(s.Last, last))
	}
}

func (m *Machine) serve(s *State, now clock.Mark, out *reducer.Out) bool {
	w := m.next(s)
	if w == nil || !m.fits(s, w) {
		return false
	}
	cost := m.waited(w)
	caller := s.Queue.Take(w)
	*out = append(*out, reducer.Effect{Kind: reducer.Grant, Caller: caller, Permit: m.take(s, caller, cost, now)})
	return true
}

// waited returns how many places a waiter takes. One of a state that a larger bulkhead
// made gets no more than there are.
func (m *Machine) waited(w *limiter.Waiter) uint32 {
	return min(placesOf(w.Cost), m.config.Concurrent)
}

// fits reports whether the places of a waiter are free.
func (m *Machine) fits(s *State, w *limiter.Waiter) bool { return m.waited(w) <= m.free(s) }

func (m *Machine) next(s *State) *limiter.Waiter {
	if m.config.Order == limiter.Newest {
		return s.Queue.Back()
	}
	return s.Queue.Front()
}

// Due implements reducer.Cell: a place for a waiter, which is there since the latest change,
// the end of a wait or of a lease.
func (m *Machine) Due(s *State) reducer.Due {
	due := reducer.Due{Wake: s.Queue.EndsAt(), Ends: s.Holders.Ends(), Serves: clock.Never}
	if w := m.next(s); w != nil && m.fits(s, w) {
		due.Serves, due.Caller = s.Last, w.Caller
	}
	due.Wake = min(due.Wake, due.Ends, due.Serves)
	return due
}

// Move implements reducer.Cell.
func (m *Machine) Move(s *State, by time.Duration) {
	s.Last = s.Last.Add(by)
	s.Queue.Shift(by)
	s.Shift(by)
}

// Held reports whether a place is held or a caller waits.
func (m *Machine) Held(s *State) bool { return s.Held > 0 || s.Queue.Len() > 0 }

// Recall frees all places and drops all waiters. The numbers of grants and tickets
// continue, so that an earlier permit or ticket is never valid as a new one.
func (m *Machine) Recall(s *State) {
	*s = State{Last: s.Last, Holders: s.Emptied(), Queue: s.Queue.Emptied()}
}

// Inherit implements reducer.Cell. Holders and waiters keep their places; holders and
// waiters above a lowered maximum leave as their calls end. Waiters whose cost is
// above it are dropped (capacity). Changes that are due until now happen under the
// old configuration.
func (m *Machine) Inherit(s *State, from reducer.Cell[State], now clock.Mark, out *reducer.Out) {
	if _, ok := from.(*Machine); !ok {
		*s = State{}
		m.Begin(s, now)
		return
	}
	now = max(now, s.Last)
	m.end(s, now, out)
	for i := 0; i < int(s.Queue.Len()); {
		if w := s.Queue.At(i); w.Cost > m.config.Concurrent {
			s.Queue.Drop(w, reducer.ReasonCapacity, out)
		} else {
			i++
		}
	}
	// A raised maximum serves the queue from now on.
	s.Last, s.changed = now, false
}

// Class implements reducer.Cell.
func (m *Machine) Class(s *State, _ clock.Mark) (reducer.Class, clock.Mark) {
	return reducer.Steady(!m.Held(s))
}

// AppendText implements reducer.Cell, as in "held 3/5 waiting 2".
func (m *Machine) AppendText(dst []byte, s *State, _ clock.Mark) []byte {
	dst = append(dst, "held "...)
	dst = strconv.AppendUint(dst, uint64(s.Held), 10)
	dst = append(dst, '/')
	dst = strconv.AppendUint(dst, uint64(m.config.Concurrent), 10)
	if s.Queue.Len() > 0 {
		dst = append(dst, " waiting "...)
		dst = strconv.AppendUint(dst, uint64(s.Queue.Len()), 10)
	}
	return dst
}
