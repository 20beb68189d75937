package slidingcounter

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/fixedwindow"
	"github.com/sluice-go/sluice/reducer"
)

// Config is what a sliding counter is made of: Count permits in about any
// window of Period, with the limits of a fixed window.
type Config = fixedwindow.Config

// Machine is an immutable sliding counter.
type Machine struct {
	count  uint32
	period time.Duration
}

var _ reducer.Cell[State] = (*Machine)(nil)

// New validates the configuration.
func New(c Config) (*Machine, error) {
	if _, err := fixedwindow.New(c); err != nil {
		return nil, err
	}
	return &Machine{count: c.Count, period: c.Period}, nil
}

// Capacity returns the greatest cost that can ever be admitted.
func (m *Machine) Capacity() uint32 { return m.count }

// Init returns a state without a window.
func (m *Machine) Init(now clock.Mark) State { return State{Last: now} }

// Enter is the Acquire of a step that admits, without its words; false, and
// nothing changed, when Step is to be asked.
func (m *Machine) Enter(s *State, cost uint32, now clock.Mark) (reducer.Permit, bool) {
	answer := m.take(s, cost, max(now, s.Last))
	return answer.Permit, answer.Verdict == reducer.Admit
}

// Turn returns the least mark from now on at which the cost is admitted if
// nothing else happens, clock.Never for a cost above the capacity.
func (m *Machine) Turn(s *State, cost uint32, now clock.Mark) clock.Mark {
	if cost > m.count {
		return clock.Never
	}
	now = max(now, s.Last)
	if cost == 0 {
		return now
	}
	w := s.windowAt(now, m.period)
	if uint64(w.Cur)+uint64(cost) <= uint64(m.count) {
		return max(now, w.Start.Add(w.Span-fading(m.count-w.Cur-cost, w.Prev, w.Span)))
	}
	// The count of this window fades in the next one.
	return max(now, w.Start.Add(w.Span).Add(m.period-fading(m.count-cost, w.Cur, m.period)))
}

// fading returns how much of a window's span may lie ahead when the previous
// count, weighted by it, has faded to room: floor(room x span / previous).
func fading(room, previous uint32, span time.Duration) time.Duration {
	if room >= previous {
		return span
	}
	hi, lo := bits.Mul64(uint64(room), uint64(span))
	quotient, _ := bits.Div64(hi, lo, uint64(previous))
	return time.Duration(quotient)
}

// TurnAfter has no closed form: the waiters ahead fill windows of their own.
func (m *Machine) TurnAfter(*State, uint64, uint32, clock.Mark) (clock.Mark, bool) {
	return clock.Never, false
}

// Free returns the permits that are free at now.
func (m *Machine) Free(s *State, now clock.Mark) uint32 {
	now = max(now, s.Last)
	w := s.windowAt(now, m.period)
	used := uint64(w.Cur)
	if w.Prev > 0 {
		hi, lo := bits.Mul64(uint64(w.Prev), uint64(w.left(now)))
		weight, rest := bits.Div64(hi, lo, uint64(w.Span))
		used += weight
		if rest > 0 {
			used++
		}
	}
	return m.count - uint32(min(used, uint64(m.count)))
}

// Carry returns a window that starts at now with free permits, at most its count.
func (m *Machine) Carry(free uint32, now clock.Mark) State {
	if free >= m.count {
		return m.Init(now)
	}
	return State{Window: Window{Start: now, Span: m.period, Cur: m.count - free}, Last: now, First: now}
}

// Adopt takes over the state of a counter with another configuration: counts
// stay, a changed period begins with the window after that of now.
func (m *Machine) Adopt(s State, from *Machine, now clock.Mark) State {
	now = max(now, s.Last)
	if m.period == from.period {
		return s
	}
	if s.over(now, from.period) {
		return State{Last: s.Last}
	}
	if w := s.windowAt(now, from.period); w != s.Window {
		return State{Window: w, First: clock.Always, Last: now}
	}
	if s.Before.over(now, from.period) {
		s.Before = Window{}
	} else {
		s.Before = s.Before.windowAt(now, from.period)
	}
	return s
}

// Reduce implements reducer.Machine.
func (m *Machine) Reduce(s State, a reducer.Action, now clock.Mark) (State, reducer.Effects) {
	answer := m.Step(&s, a, now, nil)
	return s, reducer.Effects{Answer: answer}
}

// Step implements reducer.Cell. Nothing happens to others than the caller.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, _ *reducer.Out) reducer.Answer {
	now = max(now, s.Last)
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire:
		return m.take(s, a.Cost, now)
	case reducer.Reserve:
		// A window that has not begun has nothing to reserve from.
		return m.take(s, a.Cost, now)
	case reducer.Peek:
		next := *s
		answer := m.take(&next, a.Cost, now)
		answer.Free = m.Free(s, now)
		return answer
	case reducer.Cancel:
		return s.refund(a, now)
	case reducer.Commit, reducer.Release:
		return reducer.Answer{Verdict: reducer.Done}
	case reducer.Drain:
		if free := m.Free(s, now); free > 0 {
			s.enter(now, m.period)
			s.Cur += free
		}
		return reducer.Answer{Verdict: reducer.Done}
	case reducer.Reset:
		*s = State{Last: now}
		return reducer.Answer{Verdict: reducer.Done}
	}
	return reducer.Answer{}
}

func (m *Machine) take(s *State, cost uint32, now clock.Mark) reducer.Answer {
	turn := m.Turn(s, cost, now)
	if turn != now || now == clock.Never && cost > 0 { // at the end of the line no window can open
		if cost > m.count {
			return reducer.Rejected(reducer.ReasonCapacity, clock.Never)
		}
		return reducer.Rejected(reducer.ReasonRate, turn)
	}
	if cost > 0 {
		s.enter(now, m.period)
		s.Cur += cost
	}
	return reducer.Admitted(reducer.Permit{Generation: uint64(s.Start), ID: permitID, Mark: now})
}

// NextWake implements reducer.Machine: windows follow each other by themselves.
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
	s.Window.move(by)
	s.Before.move(by)
	s.First, s.Last = s.First.Add(by), s.Last.Add(by)
}

// Fresh reports that the next admission starts anew.
func (m *Machine) Fresh(s State, now clock.Mark) bool {
	return s.over(max(now, s.Last), m.period)
}

// AppendText implements reducer.Cell, as in "previous 8 current 3/10 at 1.5s of 10s".
func (m *Machine) AppendText(dst []byte, s State, now clock.Mark) []byte {
	now = max(now, s.Last)
	w := s.windowAt(now, m.period)
	dst = append(dst, "previous "...)
	dst = strconv.AppendUint(dst, uint64(w.Prev), 10)
	dst = append(dst, " current "...)
	dst = strconv.AppendUint(dst, uint64(w.Cur), 10)
	dst = append(dst, '/')
	dst = strconv.AppendUint(dst, uint64(m.count), 10)
	dst = append(dst, " at "...)
	dst = append(dst, now.Sub(w.Start).String()...)
	dst = append(dst, " of "...)
	return append(dst, w.Span.String()...)
}
