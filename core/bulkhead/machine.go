package bulkhead

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable bulkhead.
type Machine struct{ config Config }

var _ reducer.Cell[State] = (*Machine)(nil)

// New validates the configuration.
func New(c Config) (*Machine, error) {
	switch {
	case c.Concurrent == 0 || c.Concurrent > MaxConcurrent:
		return nil, reducer.BadCount("concurrent", uint64(c.Concurrent), "1 to 1000000")
	case c.Queue > limiter.MaxQueue:
		return nil, reducer.BadCount("queue", uint64(c.Queue), "at most 10000")
	case c.Wait < 0 || c.Wait > 0 && c.Queue == 0:
		return nil, reducer.BadDuration("wait", c.Wait, "0 or more, beside a queue")
	case c.Order > limiter.Newest:
		return nil, reducer.BadCount("order", uint64(c.Order), "Oldest or Newest")
	case c.Lease < 0:
		return nil, reducer.BadDuration("lease", c.Lease, "0 or more")
	}
	return &Machine{config: c}, nil
}

// Init returns a bulkhead that nobody holds.
func (m *Machine) Init(now clock.Mark) State { return State{Last: now} }

// Reduce implements reducer.Machine.
func (m *Machine) Reduce(s State, a reducer.Action, now clock.Mark) (State, reducer.Effects) {
	s = m.Clone(s)
	var out reducer.Out
	answer := m.Step(&s, a, now, &out)
	return s, reducer.Effects{Answer: answer, Others: out}
}

// Step implements reducer.Cell.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	now = max(now, s.Last)
	s.Last = now
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire, reducer.Renew, reducer.Serve:
		// What is over is over, whether or not a tick came in time.
		m.tick(s, now, out)
	}
	switch a.Kind {
	case reducer.Acquire:
		return m.acquire(s, a, now, out)
	case reducer.TryAcquire:
		if !m.free(s) || m.behind(s) {
			return reducer.Rejected(reducer.ReasonFull, clock.Never)
		}
		return reducer.Admitted(m.take(s, a.ID, now))
	case reducer.Peek:
		answer := reducer.Admitted(reducer.Permit{Mark: now})
		if !m.free(s) || m.behind(s) {
			answer = reducer.Rejected(reducer.ReasonFull, clock.Never)
		}
		answer.Free = m.config.Concurrent - min(s.Held, m.config.Concurrent)
		return answer
	case reducer.Release, reducer.Cancel:
		return done(s.release(a.Permit))
	case reducer.Renew:
		return done(m.renew(s, a.Permit, now))
	case reducer.Leave:
		return done(s.Queue.Remove(a.ID))
	case reducer.Expire:
		return m.expire(s, a.ID, now)
	case reducer.Tick:
		m.tick(s, now, out)
		return done(true)
	case reducer.Serve:
		return m.serve(s, now, out)
	case reducer.Commit:
		return done(true)
	case reducer.Reset:
		s.Queue.DropTo(0, reducer.ReasonFull, out)
		s.Held, s.holders, s.first, s.last, s.free = 0, nil, 0, 0, 0
		return done(true)
	}
	return reducer.Answer{}
}

// Enter is the Acquire of a step that admits, without its words; false, and
// nothing changed, when Step is to be asked: there is no place, somebody waits, or
// places have leases. After it nothing becomes due that was not due before.
func (m *Machine) Enter(s *State, caller uint64, now clock.Mark) (reducer.Permit, bool) {
	if !m.free(s) || s.Queue.Len() > 0 || m.config.Lease > 0 || s.leased() {
		return reducer.Permit{}, false
	}
	s.Last = max(now, s.Last)
	return s.hold(caller, clock.Never, s.Last), true
}

// Exit is Release without its words; false, and nothing changed, for a permit
// that is not held, and when Step is to be asked: somebody waits, or a place has
// a lease.
func (m *Machine) Exit(s *State, p reducer.Permit, now clock.Mark) bool {
	if s.Queue.Len() > 0 || s.leased() || !s.release(p) {
		return false
	}
	s.Last = max(s.Last, now)
	return true
}

func done(ok bool) reducer.Answer {
	if ok {
		return reducer.Answer{Verdict: reducer.Done}
	}
	return reducer.Answer{}
}

func (m *Machine) free(s *State) bool { return s.Held < m.config.Concurrent }

// behind reports whether a newcomer stands behind somebody.
func (m *Machine) behind(s *State) bool {
	return m.config.Order == limiter.Oldest && s.Queue.Len() > 0
}

func (m *Machine) acquire(s *State, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	c := &m.config
	if m.free(s) && !m.behind(s) {
		return reducer.Admitted(m.take(s, a.ID, now))
	}
	if c.Queue == 0 || s.Queue.Len() >= c.Queue && c.Order == limiter.Oldest {
		return reducer.Rejected(reducer.ReasonFull, clock.Never)
	}
	if s.Queue.Len() >= c.Queue {
		s.Queue.DropTo(s.Queue.Len()-1, reducer.ReasonFull, out)
	}
	ends := clock.Never
	if c.Wait > 0 {
		ends = now.Add(c.Wait)
	}
	return reducer.Waiting(s.Queue.Push(a.ID, a.Cost, ends), clock.Never, ends)
}

func (m *Machine) take(s *State, caller uint64, now clock.Mark) reducer.Permit {
	until := clock.Never
	if m.config.Lease > 0 {
		until = now.Add(m.config.Lease)
	}
	return s.hold(caller, until, now)
}

func (m *Machine) renew(s *State, p reducer.Permit, now clock.Mark) bool {
	if !s.holds(p) {
		return false
	}
	if m.config.Lease > 0 && s.holders[p.ID-1].until != clock.Never {
		s.unlink(uint32(p.ID))
		s.holders[p.ID-1].until = now.Add(m.config.Lease)
		s.link(uint32(p.ID))
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
	return reducer.Rejected(reducer.ReasonWait, clock.Never)
}

// tick ends waits, then leases.
func (m *Machine) tick(s *State, now clock.Mark, out *reducer.Out) {
	for w := s.Queue.Soonest(); w != nil && w.Ends <= now && w.Ends != clock.Never; w = s.Queue.Soonest() {
		s.Queue.Drop(w, reducer.ReasonWait, out)
	}
	for s.first != 0 {
		h := &s.holders[s.first-1]
		if h.until > now || h.until == clock.Never {
			return
		}
		*out = append(*out, reducer.Effect{Kind: reducer.Lapse, Caller: h.caller,
			Permit: reducer.Permit{Generation: h.grant, ID: uint64(s.first), Mark: now}})
		s.vacate(s.first)
	}
}

func (m *Machine) serve(s *State, now clock.Mark, out *reducer.Out) reducer.Answer {
	w := m.next(s)
	if w == nil || !m.free(s) {
		return reducer.Answer{}
	}
	caller := s.Queue.Take(w)
	*out = append(*out, reducer.Effect{Kind: reducer.Grant, Caller: caller, Permit: m.take(s, caller, now)})
	return done(true)
}

func (m *Machine) next(s *State) *limiter.Waiter {
	if m.config.Order == limiter.Newest {
		return s.Queue.Back()
	}
	return s.Queue.Front()
}

// Serves returns the mark at which the next waiter can be served, which is now
// or clock.Never, and its caller.
func (m *Machine) Serves(s *State) (at clock.Mark, caller uint64) {
	if w := m.next(s); w != nil && m.free(s) {
		return s.Last, w.Caller
	}
	return clock.Never, 0
}

// Lapses returns the mark at which the first lease runs out, clock.Never for
// none.
func (m *Machine) Lapses(s *State) clock.Mark {
	if s.first == 0 {
		return clock.Never
	}
	return s.holders[s.first-1].until
}

// NextWake implements reducer.Machine: a place for a waiter, the end of a wait
// or of a lease.
func (m *Machine) NextWake(s State) (clock.Mark, bool) {
	at := m.Wake(&s)
	return at, at != clock.Never
}

// Wake is NextWake in place, clock.Never for none.
func (m *Machine) Wake(s *State) clock.Mark {
	at, _ := m.Serves(s)
	return min(at, s.Queue.EndsAt(), m.Lapses(s))
}

// Shift implements reducer.Cell.
func (m *Machine) Shift(s State, by time.Duration) State {
	s = m.Clone(s)
	m.Move(&s, by)
	return s
}

// Move is Shift in place.
func (m *Machine) Move(s *State, by time.Duration) {
	s.Last = s.Last.Add(by)
	s.Queue.Shift(by)
	for i := range s.holders {
		if h := &s.holders[i]; h.grant != 0 {
			h.until = h.until.Add(by)
		}
	}
}

// Fresh implements reducer.Cell.
func (m *Machine) Fresh(s State, _ clock.Mark) bool { return s.Held == 0 && s.Queue.Len() == 0 }

// AppendText implements reducer.Cell, as in "held 3/5 waiting 2".
func (m *Machine) AppendText(dst []byte, s State, _ clock.Mark) []byte {
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
