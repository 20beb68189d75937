package adaptive

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable adaptive limit. Time alone changes nothing, and no call
// waits.
type Machine struct {
	cell.Passive[State]
	config Config
}

var _ reducer.Cell[State] = (*Machine)(nil)

// New validates the configuration.
func New(c Config) (*Machine, error) {
	var e reducer.ConfigErrors
	c.check(&e)
	if err := e.Err(); err != nil {
		return nil, err
	}
	return &Machine{config: c}, nil
}

// Begin implements reducer.Cell: the initial limit, with all places free.
func (m *Machine) Begin(s *State, now clock.Mark) {
	s.Last, s.Limit, s.Round.Since = now, m.config.Initial, now
}

// Step implements reducer.Cell.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, out *reducer.Out) (answer reducer.Answer) {
	now = max(now, s.Last)
	before := s.Held
	switch a.Kind {
	case reducer.Peek:
		return m.peek(s, a.Cost, now)
	case reducer.Acquire, reducer.TryAcquire, reducer.Renew, reducer.Tick:
		// Leases that are over end first, whether or not a tick came.
		if s.Leased() {
			m.end(s, now, out)
		}
	}
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire:
		if p, ok := m.take(s, a.Cost, a.ID, a.Deadline(), now); ok {
			answer.Verdict, answer.Permit = reducer.Admit, p
		} else {
			answer = m.refused(a.Cost)
		}
	case reducer.Record:
		answer.Verdict = done(m.record(s, &a.Permit, a.Outcome, now))
	case reducer.Release, reducer.Cancel:
		answer.Verdict = done(s.release(&a.Permit, now))
	case reducer.Renew:
		answer.Verdict = done(m.renew(s, &a.Permit, now))
	case reducer.Commit, reducer.Tick, reducer.Configure:
		answer.Verdict = reducer.Done
	case reducer.Reset:
		if answer.Verdict = reducer.Done; !m.unused(s) {
			serial := s.Serial
			*s = State{}
			m.Begin(s, now)
			s.Serial, s.changed = serial, true
		}
	}
	answer.Changed, s.changed = s.changed, false
	if assert.On {
		m.assert(s, before)
	}
	return answer
}

func done(ok bool) reducer.Verdict {
	if ok {
		return reducer.Done
	}
	return reducer.Stale
}

// refused returns the refusal of a cost: one above the maximum never fits.
func (m *Machine) refused(cost uint32) reducer.Answer {
	if cost > m.config.Maximum {
		return reducer.Rejected(reducer.ReasonCapacity, clock.Never)
	}
	return reducer.Rejected(reducer.ReasonFull, clock.Never)
}

// peek answers as TryAcquire would, without ending what is over.
func (m *Machine) peek(s *State, cost uint32, now clock.Mark) (answer reducer.Answer) {
	held := s.HeldAt(now)
	if !m.fits(s, held, max(1, cost)) {
		answer = m.refused(cost)
	} else {
		answer.Verdict, answer.Mark = reducer.Admit, now
	}
	answer.Free = s.Limit - min(held, s.Limit)
	return answer
}

// fits reports whether a cost of 1 or more is admitted. One above the limit is when
// nothing is held.
func (m *Machine) fits(s *State, held, cost uint32) bool {
	return cost <= s.Limit-min(held, s.Limit) || held == 0 && cost <= m.config.Maximum
}

// take takes as many places as the cost, at least one, where they are free. deadline is the
// mark by which the caller needs the answer, clock.Never for none.
func (m *Machine) take(s *State, cost uint32, caller uint64, deadline, now clock.Mark) (reducer.Permit, bool) {
	if cost = max(1, cost); !m.fits(s, s.Held, cost) {
		return reducer.Permit{}, false
	}
	until := clock.Never
	if m.config.Lease > 0 {
		until = now.Add(m.config.Lease)
	} else {
		caller = 0 // no lapse names it
	}
	if s.Held == 0 && s.Round.Calls == 0 {
		// A round without calls begins with the first one.
		s.Round = Round{Since: now, Grant: s.Serial}
	}
	p := s.Hold(caller, cost, until, now)
	s.Round.Peak = max(s.Round.Peak, s.Held)
	if over := m.over(deadline, now); int(p.ID) > len(s.over) {
		s.over = append(s.over, over)
	} else {
		s.over[p.ID-1] = over
	}
	s.touch(now)
	return p, true
}

// over returns the longest duration of a timely attempt.
func (m *Machine) over(deadline, now clock.Mark) time.Duration {
	switch {
	case m.config.Over > 0:
		return m.config.Over
	case deadline == clock.Never:
		return DefaultOver
	}
	return m.config.OverShare.Of(max(0, deadline.Sub(now)))
}

// Enter is a fast path of Step(Acquire) where the places are free and have no leases. It
// returns false and leaves the state unchanged if the caller must use Step.
func (m *Machine) Enter(s *State, cost uint32, caller uint64, deadline, now clock.Mark) (p reducer.Permit, ok bool) {
	if m.config.Lease > 0 || s.Leased() {
		return p, false
	}
	before := s.Held
	p, ok = m.take(s, cost, caller, deadline, max(now, s.Last))
	s.changed = false
	if assert.On {
		m.assert(s, before)
	}
	return p, ok
}

// Exit is a fast path of Step(Record) for a success, where no place has a lease. It returns
// false and leaves the state unchanged if the caller must use Step.
func (m *Machine) Exit(s *State, p reducer.Permit, now clock.Mark) bool {
	if s.Leased() || !m.record(s, &p, reducer.OK, max(now, s.Last)) {
		return false
	}
	s.changed = false
	if assert.On {
		m.assert(s, s.Held)
	}
	return true
}

func (m *Machine) renew(s *State, p *reducer.Permit, now clock.Mark) bool {
	if !s.Holds(p) {
		return false
	}
	if m.config.Lease > 0 && s.Renew(p, now.Add(m.config.Lease)) {
		s.touch(now)
	}
	return true
}

// end ends the leases that are over at now. What their holders did says nothing.
func (m *Machine) end(s *State, now clock.Mark, out *reducer.Out) {
	if last, any := s.LapseUntil(now, out); any {
		s.touch(max(s.Last, last))
	}
}

// Due implements reducer.Cell: the end of a lease.
func (m *Machine) Due(s *State) reducer.Due {
	due := reducer.NothingDue()
	due.Ends = s.Holders.Ends()
	due.Wake = due.Ends
	return due
}

// Held reports whether a place is held.
func (m *Machine) Held(s *State) bool { return s.Held > 0 }

// Recall frees all places and keeps the limit. The numbers of grants continue, so
// that a permit from before it is stale.
func (m *Machine) Recall(s *State) { s.Holders, s.over = s.Emptied(), nil }

// Move implements reducer.Cell.
func (m *Machine) Move(s *State, by time.Duration) {
	s.Last = s.Last.Add(by)
	s.Round.Since = s.Round.Since.Add(by)
	s.Holders.Shift(by)
}

// Inherit implements reducer.Cell. Leases that are over end under the old configuration.
// Holders keep their places, and a limit outside the new bounds moves to the nearest one.
func (m *Machine) Inherit(s *State, from reducer.Cell[State], now clock.Mark, out *reducer.Out) {
	if _, ok := from.(*Machine); !ok {
		*s = State{}
		m.Begin(s, now)
		return
	}
	m.end(s, max(now, s.Last), out)
	s.Limit, s.changed = m.within(s.Limit), false
}

// unused reports whether a reset would change nothing.
func (m *Machine) unused(s *State) bool {
	return s.Held == 0 && s.Limit == m.config.Initial && s.Round.Calls == 0 && !s.Settled && s.Fall == Fall{}
}

// Class implements reducer.Cell.
func (m *Machine) Class(s *State, _ clock.Mark) (reducer.Class, clock.Mark) {
	return reducer.Steady(m.unused(s))
}

// AppendText implements reducer.Cell, as in "held 3/20 round 4+1+0": the places of good,
// late and cut outcomes.
func (m *Machine) AppendText(dst []byte, s *State, _ clock.Mark) []byte {
	dst = append(dst, "held "...)
	dst = strconv.AppendUint(dst, uint64(s.Held), 10)
	dst = append(dst, '/')
	dst = strconv.AppendUint(dst, uint64(s.Limit), 10)
	if s.Round.Calls > 0 {
		dst = append(dst, " round "...)
		dst = strconv.AppendUint(dst, uint64(s.Round.Good), 10)
		dst = append(dst, '+')
		dst = strconv.AppendUint(dst, uint64(s.Round.Late), 10)
		dst = append(dst, '+')
		dst = strconv.AppendUint(dst, uint64(s.Round.Cut), 10)
	}
	if s.Fall.Hold > 0 {
		dst = append(dst, " hold "...)
		dst = strconv.AppendUint(dst, uint64(s.Fall.Hold), 10)
	}
	return dst
}
