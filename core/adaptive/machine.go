package adaptive

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable adaptive limit. Time alone changes nothing, and no call
// waits.
type Machine struct {
	cell.Passive[State]
	config Config
}

var _ cell.Machine[State, *Machine] = (*Machine)(nil)

// New validates the configuration.
func New(c Config) (*Machine, error) {
	var e reducer.ConfigErrors
	maximum := c.Maximum > 0 && c.Maximum <= MaxLimit
	minimum := c.Minimum > 0 && (!maximum || c.Minimum <= c.Maximum)
	e.Count(!maximum, "maximum", uint64(c.Maximum), "1 to 10000")
	e.Count(!minimum, "minimum", uint64(c.Minimum), "1 to the maximum")
	e.Count(maximum && minimum && (c.Initial < c.Minimum || c.Initial > c.Maximum), "initial", uint64(c.Initial), "the minimum to the maximum")
	e.Count(c.Increase == 0 || c.Increase > MaxIncrease, "increase", uint64(c.Increase), "1 to 100")
	e.Count(!c.Decrease.Positive() || c.Decrease.Millionths() > reducer.Whole, "decrease", uint64(c.Decrease.Millionths()), "more than 0 to 1000000 millionths")
	e.Duration(c.Over <= 0, "over", c.Over, "more than 0")
	e.Count(maximum && c.Cost.Permits > c.Maximum, "cost", uint64(c.Cost.Permits), "at most the maximum")
	if err := e.Err(); err != nil {
		return nil, err
	}
	return &Machine{config: c}, nil
}

// Cells returns the maker of the cells of an adaptive limit.
func Cells(c Config) (cell.Maker, error) {
	m, err := New(c)
	if err != nil {
		return nil, err
	}
	return cell.Makes(m, cell.Plain[State]), nil
}

// Init returns the initial limit, with all places free.
func (m *Machine) Init(now clock.Mark) (s State) {
	m.Begin(&s, now)
	return s
}

// Begin is Init in place, of a state that is zero.
func (m *Machine) Begin(s *State, now clock.Mark) {
	s.Last, s.Limit, s.Lowered = now, uint64(m.config.Initial)*Place, clock.Always
}

// Reduce implements reducer.Machine.
func (m *Machine) Reduce(s State, a reducer.Action, now clock.Mark) (State, reducer.Effects) {
	s = m.Clone(s)
	var out reducer.Out
	answer := m.Step(&s, a, now, &out)
	return s, reducer.Effects{Answer: answer, Others: out}
}

// Step implements reducer.Cell.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, _ *reducer.Out) (answer reducer.Answer) {
	now = max(now, s.Last)
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire:
		p, ok := m.Enter(s, a.Cost, a.ID, now)
		if !ok {
			return m.refused(a.Cost)
		}
		answer.Verdict, answer.Permit, answer.Changed = reducer.Admit, p, true
	case reducer.Peek:
		if !m.fits(s, max(1, a.Cost)) {
			answer = m.refused(a.Cost)
		} else {
			answer.Verdict, answer.Mark = reducer.Admit, now
		}
		answer.Free = s.free()
	case reducer.Record:
		answer.Changed = m.record(s, a.Permit, a.Outcome, now)
		answer.Verdict = done(answer.Changed)
	case reducer.Release, reducer.Cancel:
		answer.Changed = s.release(a.Permit, now)
		answer.Verdict = done(answer.Changed)
	case reducer.Commit, reducer.Tick, reducer.Configure:
		answer.Verdict = reducer.Done
	case reducer.Reset:
		answer.Verdict, answer.Changed = reducer.Done, !m.initial(s)
		if answer.Changed {
			serial := s.Serial
			*s = m.Init(now)
			s.Serial = serial
		}
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

// fits reports whether a cost of 1 or more is admitted. One above the limit is when
// nothing is held.
func (m *Machine) fits(s *State, cost uint32) bool {
	return cost <= s.free() || len(s.held) == 0 && cost <= m.config.Maximum
}

// Enter takes as many places as the cost, at least one, where they are free.
func (m *Machine) Enter(s *State, cost uint32, _ uint64, now clock.Mark) (reducer.Permit, bool) {
	if cost = max(1, cost); !m.fits(s, cost) {
		return reducer.Permit{}, false
	}
	return s.hold(cost, max(now, s.Last)), true
}

// Exit is Step(Record) for a success.
func (m *Machine) Exit(s *State, p reducer.Permit, now clock.Mark) bool {
	return m.record(s, p, reducer.OK, max(now, s.Last))
}

// record frees the places of an attempt that ended, and moves the limit by how it
// ended. p.Mark is when it began.
func (m *Machine) record(s *State, p reducer.Permit, outcome reducer.Outcome, now clock.Mark) bool {
	held := s.InUse()
	if !s.release(p, now) {
		return false
	}
	failed := outcome == reducer.Fail || outcome == reducer.Timeout || outcome == reducer.Throttle
	switch late := p.Mark != clock.Always && now.Sub(p.Mark) > m.config.Over; {
	case failed || outcome == reducer.OK && late:
		m.lower(s, p.Mark, now)
	case outcome == reducer.OK && 2*uint64(held) >= s.Limit/Place:
		m.raise(s, held-s.InUse())
	}
	return true
}

// lower lowers the limit, once for all attempts that began before it was lowered.
func (m *Machine) lower(s *State, began, now clock.Mark) {
	if began <= s.Lowered {
		return
	}
	kept := s.Limit * uint64(reducer.Whole-m.config.Decrease.Millionths()) / (Place * reducer.Whole)
	s.Limit, s.Lowered = max(kept, uint64(m.config.Minimum))*Place, now
}

// raise adds the part of Increase that a success adds: that of the places which it had of
// those of the limit. The product is at most MaxIncrease x Place x MaxLimit x Place.
func (m *Machine) raise(s *State, cost uint32) {
	part := uint64(m.config.Increase) * Place * min(uint64(cost)*Place, s.Limit) / s.Limit
	s.Limit = min(s.Limit+part, uint64(m.config.Maximum)*Place)
}

// Held reports whether a place is held.
func (m *Machine) Held(s *State) bool { return len(s.held) > 0 }

// Recall frees all places and keeps the limit. The numbers of grants continue, so
// that a permit from before it is stale.
func (m *Machine) Recall(s *State) { s.held, s.more, s.extra = nil, nil, 0 }

// Shift implements reducer.Cell.
func (m *Machine) Shift(s State, by time.Duration) State {
	s = m.Clone(s)
	m.Move(&s, by)
	return s
}

// Move is Shift in place.
func (m *Machine) Move(s *State, by time.Duration) {
	s.Last = s.Last.Add(by)
	if s.Lowered != clock.Always {
		s.Lowered = s.Lowered.Add(by)
	}
}

// Adopt implements reducer.Cell. Holders keep their places, and a limit outside
// the new bounds moves to the nearest one.
func (m *Machine) Adopt(s State, from reducer.Cell[State], now clock.Mark, out *reducer.Out) State {
	old, ok := from.(*Machine)
	if !ok {
		return m.Init(now)
	}
	m.Inherit(&s, old, now, out)
	return s
}

// Inherit is Adopt in place.
func (m *Machine) Inherit(s *State, _ *Machine, _ clock.Mark, _ *reducer.Out) {
	s.Limit = min(max(s.Limit, uint64(m.config.Minimum)*Place), uint64(m.config.Maximum)*Place)
}

// initial reports whether a reset would change nothing.
func (m *Machine) initial(s *State) bool {
	return len(s.held) == 0 && s.Limit == uint64(m.config.Initial)*Place && s.Lowered == clock.Always
}

// Fresh implements reducer.Cell. The mark of the last decrease matters to attempts
// that began at or before it.
func (m *Machine) Fresh(s State, now clock.Mark) bool { return m.Unused(&s, now) }

// Unused is Fresh in place.
func (m *Machine) Unused(s *State, now clock.Mark) bool {
	return len(s.held) == 0 && s.Limit == uint64(m.config.Initial)*Place && (s.Lowered == clock.Always || s.Lowered < now)
}

// Class implements cell.Machine. What has lowered the limit counts until the next mark.
func (m *Machine) Class(s *State, now clock.Mark) (keyed.Class, clock.Mark) {
	class, until := keyed.Steady(m.Unused(s, now))
	if class != keyed.Unused && m.Unused(s, clock.Never) {
		until = now.Add(1)
	}
	return class, until
}

// AppendText implements reducer.Cell, as in "held 3/20.05".
func (m *Machine) AppendText(dst []byte, s State, _ clock.Mark) []byte {
	dst = append(dst, "held "...)
	dst = strconv.AppendUint(dst, uint64(s.InUse()), 10)
	dst = append(dst, '/')
	dst = strconv.AppendUint(dst, s.Limit/Place, 10)
	if part := s.Limit % Place; part > 0 {
		digits := strconv.AppendUint(nil, Place+part, 10)
		for digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
		dst = append(append(dst, '.'), digits[1:]...)
	}
	return dst
}
