package fixedwindow

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// Config is what a fixed window is made of.
type Config struct {
	// Count permits for each window. Required, 1 to tokenbucket.MaxCount.
	Count uint32
	// Period is how long a window lasts. Required, more than 0 and at most
	// tokenbucket.MaxFill.
	Period time.Duration
}

// Machine is an immutable fixed window.
type Machine struct {
	count  uint32
	period time.Duration
}

var _ reducer.Cell[State] = (*Machine)(nil)

// New validates the configuration.
func New(c Config) (*Machine, error) {
	if c.Count == 0 || c.Count > tokenbucket.MaxCount {
		return nil, reducer.BadCount("rate.count", uint64(c.Count), "1 to 1000000000")
	}
	if c.Period <= 0 || c.Period > tokenbucket.MaxFill {
		return nil, reducer.BadDuration("rate.period", c.Period, "more than 0 and at most 146 years")
	}
	return &Machine{count: c.Count, period: c.Period}, nil
}

// Capacity returns the greatest cost that can ever be admitted.
func (m *Machine) Capacity() uint32 { return m.count }

// Init returns a state without a window.
func (m *Machine) Init(clock.Mark) State { return State{} }

// Enter is the Acquire of a step that admits, without its words; false, and
// nothing changed, when Step is to be asked.
func (m *Machine) Enter(s *State, cost uint32, now clock.Mark) (reducer.Permit, bool) {
	answer := m.take(s, cost, s.since(now))
	return answer.Permit, answer.Verdict == reducer.Admit
}

// Turn returns the least mark from now on at which the cost is admitted if
// nothing else happens, clock.Never for a cost above the capacity.
func (m *Machine) Turn(s *State, cost uint32, now clock.Mark) clock.Mark {
	now = s.since(now)
	switch {
	case cost > m.count:
		return clock.Never
	case cost == 0 || !s.open(now) || uint64(s.Used)+uint64(cost) <= uint64(m.count):
		return now
	}
	return s.End
}

// TurnAfter has no closed form: the waiters ahead fill windows of their own.
func (m *Machine) TurnAfter(*State, uint64, uint32, clock.Mark) (clock.Mark, bool) {
	return clock.Never, false
}

// Free returns the permits that are free at now.
func (m *Machine) Free(s *State, now clock.Mark) uint32 {
	if !s.open(s.since(now)) {
		return m.count
	}
	return m.count - min(s.Used, m.count)
}

// Carry returns a window that opens at now with free permits, at most its count.
func (m *Machine) Carry(free uint32, now clock.Mark) State {
	if free >= m.count {
		return State{}
	}
	s := begun(now, m.period)
	s.Used = m.count - free
	return s
}

// Adopt takes over the state of a window with another configuration: the count
// that is used stays used, the open window ends when it would have.
func (m *Machine) Adopt(s State, _ *Machine, _ clock.Mark) State { return s }

// Reduce implements reducer.Machine.
func (m *Machine) Reduce(s State, a reducer.Action, now clock.Mark) (State, reducer.Effects) {
	answer := m.Step(&s, a, now, nil)
	return s, reducer.Effects{Answer: answer}
}

// Step implements reducer.Cell. Nothing happens to others than the caller.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, _ *reducer.Out) reducer.Answer {
	now = s.since(now)
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire:
		return m.take(s, a.Cost, now)
	case reducer.Reserve:
		// A window that has not opened has nothing to reserve from.
		return m.take(s, a.Cost, now)
	case reducer.Peek:
		next := *s
		answer := m.take(&next, a.Cost, now)
		answer.Free = m.Free(s, now)
		return answer
	case reducer.Cancel:
		return m.refund(s, a, now)
	case reducer.Commit, reducer.Release:
		return reducer.Answer{Verdict: reducer.Done}
	case reducer.Drain:
		s.enter(now, m.period)
		s.Used = max(s.Used, m.count)
		return reducer.Answer{Verdict: reducer.Done}
	case reducer.Reset:
		*s = State{}
		return reducer.Answer{Verdict: reducer.Done}
	}
	return reducer.Answer{}
}

func (m *Machine) take(s *State, cost uint32, now clock.Mark) reducer.Answer {
	turn := m.Turn(s, cost, now)
	if turn != now || now == clock.Never && cost > 0 { // at the end of the line no window can open
		if turn == clock.Never && cost > m.count {
			return reducer.Rejected(reducer.ReasonCapacity, clock.Never)
		}
		return reducer.Rejected(reducer.ReasonRate, turn)
	}
	if cost > 0 {
		s.enter(now, m.period)
		s.Used += cost
	}
	return reducer.Admitted(reducer.Permit{Generation: uint64(s.Start), ID: permitID, Mark: now})
}

// refund gives back what was taken from the window that is still open. When
// all was taken at the mark at which it opened, it has never opened.
func (m *Machine) refund(s *State, a reducer.Action, now clock.Mark) reducer.Answer {
	if a.Cost == 0 || a.Cost > s.Used || a.Generation != uint64(s.Start) || a.ID != permitID || !s.open(now) {
		return reducer.Answer{}
	}
	s.Used -= a.Cost
	if s.Used == 0 && now == s.Start {
		*s = State{}
	}
	return reducer.Answer{Verdict: reducer.Done}
}

// NextWake implements reducer.Machine: a window ends by itself.
func (m *Machine) NextWake(State) (clock.Mark, bool) { return clock.Never, false }

// Clone implements reducer.Cell.
func (m *Machine) Clone(s State) State { return s }

// Shift implements reducer.Cell.
func (m *Machine) Shift(s State, by time.Duration) State {
	m.Move(&s, by)
	return s
}

// Move is Shift in place.
func (m *Machine) Move(s *State, by time.Duration) {
	if s.Start != s.End {
		s.Start, s.End = s.Start.Add(by), s.End.Add(by)
	}
}

// Fresh reports that no window is open.
func (m *Machine) Fresh(s State, now clock.Mark) bool { return !s.open(s.since(now)) }

// AppendText implements reducer.Cell, as in "used 3/10 until 5s".
func (m *Machine) AppendText(dst []byte, s State, now clock.Mark) []byte {
	if m.Fresh(s, now) {
		return append(dst, "no window"...)
	}
	dst = append(dst, "used "...)
	dst = strconv.AppendUint(dst, uint64(s.Used), 10)
	dst = append(dst, '/')
	dst = strconv.AppendUint(dst, uint64(m.count), 10)
	dst = append(dst, " until "...)
	return append(dst, s.End.String()...)
}
