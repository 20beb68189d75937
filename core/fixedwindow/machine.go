package fixedwindow

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Config is the configuration of a fixed window.
type Config struct {
	// Count permits for each window. Required, 1 to tokenbucket.MaxCount.
	Count uint32
	// Period is how long a window lasts. Required, more than 0 and at most
	// tokenbucket.MaxFill.
	Period time.Duration
	// Calendar ends each window with the day, week or month that it begins in, in place
	// of the Period, which is then Unit.Length. Default: none.
	Calendar calendar.Config
}

// Check returns an error that names the field which is wrong.
func (c Config) Check() error {
	var e reducer.ConfigErrors
	e.Count(c.Count == 0 || c.Count > tokenbucket.MaxCount, "rate.count", uint64(c.Count), "1 to 1000000000")
	e.Duration(c.Period <= 0 || c.Period > tokenbucket.MaxFill, "rate.period", c.Period, "more than 0 and at most 146 years")
	e.Duration(c.Calendar.Unit != calendar.NoUnit && c.Period != c.Calendar.Unit.Length(), "rate.period", c.Period, "that of the unit of the calendar")
	e.Add(c.Calendar.Check())
	return e.Err()
}

// Machine is an immutable fixed window: the arithmetic on its State. It is an
// algorithm of package limiter, which has the actions, the queue and the codec. Its
// marks must not go back.
type Machine struct {
	count    uint32
	period   time.Duration
	calendar calendar.Config
}

// New validates the configuration.
func New(c Config) (*Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &Machine{count: c.Count, period: c.Period, calendar: c.Calendar}, nil
}

// Capacity returns the greatest cost that can ever be admitted.
func (m *Machine) Capacity() uint32 { return m.count }

// State is a fixed window. Start equal to End is no window.
type State struct {
	// Start and End of the window: it is open in [Start, End).
	Start, End clock.Mark
	Permits
	// Number of the window, which its permits name.
	Number uint64
}

// Permits of a window. They are a struct of their own because the compiler keeps a struct of
// more than four fields in memory, where a call of Take costs half as much again.
type Permits struct {
	// Used permits of the window. More than the count only by Charge.
	Used uint32
	// Count is what the machine had when the window opened, 0 without a window.
	Count uint32
}

// open distinguishes a window from none; one at the end of the line of marks never
// closes.
func (s *State) open(now clock.Mark) bool {
	return s.Start != s.End && (now < s.End || s.End == clock.Never)
}

// entered returns the state with a window that is open at now. At the very end
// of the line it opens a nanosecond before, for one that ends where it starts is
// none.
func (m *Machine) entered(s State, now clock.Mark) State {
	if s.open(now) {
		return s
	}
	return State{Start: min(now, clock.Never-1), End: m.endOf(now), Permits: Permits{Count: m.count}, Number: s.Number + 1}
}

// countOf returns the permits of an open window: a lower count of another configuration
// holds at once, a higher one from the next window on.
func (m *Machine) countOf(s *State) uint32 { return min(s.Count, m.count) }

// endOf returns the end of a window that opens at now.
func (m *Machine) endOf(now clock.Mark) clock.Mark {
	if m.calendar.Unit == calendar.NoUnit {
		return now.Add(m.period)
	}
	return m.calendar.End(now)
}

// Turn returns the least mark from now on at which the cost is admitted if
// nothing else happens, clock.Never for a cost above the capacity.
func (m *Machine) Turn(s State, cost uint32, now clock.Mark) clock.Mark {
	switch {
	case cost == 0:
		return now
	case cost > m.count:
		return clock.Never
	case !s.open(now) || uint64(s.Used)+uint64(cost) <= uint64(m.countOf(&s)):
		return now
	}
	return s.End
}

// Take takes a cost that is admitted at now; else it returns false and the same
// state.
func (m *Machine) Take(s State, cost uint32, now clock.Mark) (State, bool) {
	switch {
	case cost == 0:
		return s, true
	case now == clock.Never: // at the end of the line no window can open
		return s, false
	case !s.open(now):
		if cost > m.count {
			return s, false
		}
		s = m.entered(s, now)
	case uint64(s.Used)+uint64(cost) > uint64(m.countOf(&s)):
		return s, false
	}
	s.Used += cost
	return s, true
}

// Free returns the permits that are free at now.
func (m *Machine) Free(s State, now clock.Mark) uint32 {
	if !s.open(now) {
		return m.count
	}
	count := m.countOf(&s)
	return count - min(s.Used, count)
}

// Drain discards the permits that are free at now.
func (m *Machine) Drain(s State, now clock.Mark) State {
	s = m.entered(s, now)
	s.Used = max(s.Used, m.countOf(&s))
	return s
}

// Carry returns the state with a window that opens at now with free permits, and
// without one where the whole count is free.
func (m *Machine) Carry(s State, free uint32, now clock.Mark) State {
	s = State{Number: s.Number}
	if free < m.count {
		s = m.entered(s, now)
		s.Used = m.count - free
	}
	return s
}

// Refund returns cost permits of a window that is still open. When all of them were
// taken at the mark at which it opened, it counts as never opened. It returns false,
// and the same state, when no permit is returned.
func (m *Machine) Refund(s State, number uint64, cost uint32, now clock.Mark) (State, bool) {
	if cost == 0 || cost > s.Used || number != s.Number || !s.open(now) {
		return s, false
	}
	s.Used -= cost
	if s.Used == 0 && now == s.Start {
		s = State{Number: s.Number}
	}
	return s, true
}

// Chargeable returns how many permits may be charged until the window has given twice its
// count.
func (m *Machine) Chargeable(s State, now clock.Mark) uint64 {
	if !s.open(now) {
		return 2 * uint64(m.count)
	}
	most := 2 * uint64(m.countOf(&s))
	return most - min(uint64(s.Used), most)
}

// Charge takes permits that were used without an acquire, also more than the window
// has.
func (m *Machine) Charge(s State, permits uint64, now clock.Mark) State {
	s = m.entered(s, now)
	s.Used += uint32(min(permits, 1<<32-1-uint64(s.Used)))
	return s
}

// Move returns the state with its marks shifted.
func (m *Machine) Move(s State, by time.Duration) State {
	if s.Start != s.End {
		s.Start, s.End = s.Start.Add(by), s.End.Add(by)
	}
	return s
}

// Fresh reports that no window is open.
func (m *Machine) Fresh(s State, now clock.Mark) bool { return !s.open(now) }

var errWindow = wire.Invalid("fixed window: ends before it starts, starts after the last mark, is used and not open, or has no count")

// Check returns an error when a machine cannot make the state up to the last mark.
func Check(s State, last clock.Mark) error {
	switch {
	case s.Start == s.End && s.Start == 0 && s.Used == 0 && s.Count == 0:
		return nil
	case s.Start >= s.End || s.Start > last || s.Count == 0:
		return errWindow
	}
	return nil
}

// AppendText appends the window at now for people, as in "used 3/10 until 5s".
func (m *Machine) AppendText(dst []byte, s State, now clock.Mark) []byte {
	if m.Fresh(s, now) {
		return append(dst, "no window"...)
	}
	dst = append(dst, "used "...)
	dst = strconv.AppendUint(dst, uint64(s.Used), 10)
	dst = append(dst, '/')
	dst = strconv.AppendUint(dst, uint64(m.countOf(&s)), 10)
	dst = append(dst, " until "...)
	return append(dst, s.End.String()...)
}
