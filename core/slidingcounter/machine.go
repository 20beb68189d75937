package slidingcounter

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/fixedwindow"
	"github.com/sluice-go/sluice/core/wire"
)

// Config is the configuration of a sliding counter: about Count permits in any window
// of Period, with the ranges of a fixed window.
type Config = fixedwindow.Config

// Machine is an immutable sliding counter: the arithmetic on its State. It is an
// algorithm of package limiter, which has the actions, the queue and the codec. Its
// marks must not go back.
type Machine struct {
	count  uint32
	period time.Duration
}

// New validates the configuration.
func New(c Config) (*Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &Machine{count: c.Count, period: c.Period}, nil
}

// Capacity returns the greatest cost that can ever be admitted.
func (m *Machine) Capacity() uint32 { return m.count }

// Period returns how long a window lasts.
func (m *Machine) Period() time.Duration { return m.period }

// State is the window of the last admission and the count of the one before it.
// A Span of 0 is no window.
type State struct {
	Start     clock.Mark
	Span      time.Duration
	Prev, Cur uint32
	// Idle is how many windows, up to this one, had no admission: 0 to 2; begun where
	// it is the first of new windows.
	Idle uint8
	// Undone is what Idle becomes when all that was taken at the mark of the window's
	// first admission is refunded at that mark.
	Undone uint8
	// Number of the window, which its permits name; the number of the one before is one
	// less.
	Number uint64
}

// begun is the Idle of a window that follows no other.
const begun = 3

func (s *State) left(now clock.Mark) time.Duration { return s.Span - now.Sub(s.Start) }

// covers reports that now lies in the window.
func (s *State) covers(now clock.Mark) bool { return s.Span > 0 && now.Sub(s.Start) < s.Span }

// over reports that no window has begun, or that two windows passed after the
// last one that had an admission.
func (m *Machine) over(s *State, now clock.Mark) bool {
	return s.Span == 0 || now >= m.FreshAt(*s)
}

// FreshAt returns the mark from which on nothing that was counted in a window counts.
func (m *Machine) FreshAt(s State) clock.Mark {
	end := s.Start.Add(s.Span)
	for range 2 - s.Idle {
		end = end.Add(m.period)
	}
	return end
}

// at returns the state with the window that now lies in.
func (m *Machine) at(s State, now clock.Mark) State {
	if s.covers(now) {
		return s
	}
	end := s.Start.Add(s.Span)
	next := end.Add(m.period)
	switch {
	case m.over(&s, now):
		return State{Start: now, Span: m.period, Idle: begun, Number: s.Number + 2}
	case now < next:
		return State{Start: end, Span: m.period, Prev: s.Cur, Idle: s.Idle + 1, Number: s.Number + 1}
	}
	return State{Start: next, Span: m.period, Idle: s.Idle + 2, Number: s.Number + 2}
}

// enter notes an admission in the window.
func (s *State) enter() {
	if s.Idle > 0 {
		s.Undone, s.Idle = s.Idle, 0
	}
}

// Turn returns the least mark from now on at which the cost is admitted if
// nothing else happens, clock.Never for a cost above the capacity.
func (m *Machine) Turn(s State, cost uint32, now clock.Mark) clock.Mark {
	if cost == 0 {
		return now
	}
	if cost > m.count {
		return clock.Never
	}
	s = m.at(s, now)
	if uint64(s.Cur)+uint64(cost) <= uint64(m.count) {
		return max(now, s.Start.Add(s.Span-fading(m.count-s.Cur-cost, s.Prev, s.Span)))
	}
	// The count of this window fades in the next one.
	return max(now, s.Start.Add(s.Span).Add(m.period-fading(m.count-cost, s.Cur, m.period)))
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

// Take takes a cost that is admitted at now; else it returns false and changes
// nothing. It works in place, because a call costs less than copies of the state.
func (m *Machine) Take(s *State, cost uint32, now clock.Mark) bool {
	if cost == 0 {
		return true
	}
	if s.covers(now) {
		if !m.admits(s, cost, now) {
			return false
		}
	} else {
		w := m.at(*s, now)
		if !m.admits(&w, cost, now) {
			return false
		}
		*s = w
	}
	s.enter()
	s.Cur += cost
	return true
}

// admits reports whether the cost is admitted at now, which lies in the window.
func (m *Machine) admits(w *State, cost uint32, now clock.Mark) bool {
	used := uint64(w.Cur) + uint64(cost)
	if used > uint64(m.count) || now == clock.Never { // at the end of the line no window can open
		return false
	}
	if w.Prev == 0 {
		return true
	}
	hi, lo := bits.Mul64(uint64(w.Prev), uint64(w.left(now)))
	roomHi, roomLo := bits.Mul64(uint64(m.count)-used, uint64(w.Span))
	return hi < roomHi || hi == roomHi && lo <= roomLo
}

// taken returns what counts at now, rounded up.
func (m *Machine) taken(s State, now clock.Mark) uint64 {
	s = m.at(s, now)
	taken := uint64(s.Cur)
	if s.Prev > 0 {
		hi, lo := bits.Mul64(uint64(s.Prev), uint64(s.left(now)))
		weight, rest := bits.Div64(hi, lo, uint64(s.Span))
		taken += weight
		if rest > 0 {
			taken++
		}
	}
	return taken
}

// Free returns the permits that are free at now.
func (m *Machine) Free(s State, now clock.Mark) uint32 {
	return m.count - uint32(min(m.taken(s, now), uint64(m.count)))
}

// Drain discards the permits that are free at now.
func (m *Machine) Drain(s State, now clock.Mark) State {
	if free := m.Free(s, now); free > 0 {
		s = m.at(s, now)
		s.enter()
		s.Cur += free
	}
	return s
}

// Carry returns the state with a window that starts at now with free permits,
// and without one where the whole count is free.
func (m *Machine) Carry(s State, free uint32, now clock.Mark) State {
	if free >= m.count {
		return State{Number: s.Number}
	}
	return State{Start: now, Span: m.period, Cur: m.count - free, Number: s.Number + 2}
}

// Adopt adopts the state of a counter with another configuration: counts stay, a
// changed period begins with the window after the present one.
func (m *Machine) Adopt(s State, from *Machine, now clock.Mark) State {
	switch {
	case m.period == from.period:
		return s
	case from.over(&s, now):
		return State{Number: s.Number}
	}
	return from.at(s, now)
}

// Refund returns cost permits of a permit of the window with the number, which was
// granted at the mark, while that window is the present one or the one before. The
// window stays as it is, unless it began at this mark and is empty after the refund:
// then it counts as never begun. It returns false, and the same state, when no permit
// is returned.
func (m *Machine) Refund(s State, number uint64, granted clock.Mark, cost uint32, now clock.Mark) (State, bool) {
	present := m.at(s, now).Number
	w := s
	switch {
	case cost == 0 || present-number > 1:
		return s, false
	case number == w.Number && cost <= w.Cur:
		w.Cur -= cost
		if now != granted {
			w.Undone = 0
		}
	case number == w.Number-1 && cost <= w.Prev:
		w.Prev -= cost
	default:
		return s, false
	}
	if w.Cur == 0 && w.Undone > 0 && number == w.Number {
		w.Idle, w.Undone = w.Undone, 0
		if w.Idle == begun {
			w = State{Number: w.Number}
		}
	}
	return w, true
}

// Chargeable returns how many permits may be charged until twice the count counts.
func (m *Machine) Chargeable(s State, now clock.Mark) uint64 {
	most := 2 * uint64(m.count)
	return most - min(m.taken(s, now), most)
}

// Charge takes permits that were used without an acquire, also more than the window
// has.
func (m *Machine) Charge(s State, permits uint64, now clock.Mark) State {
	s = m.at(s, now)
	s.enter()
	s.Cur += uint32(min(permits, 1<<32-1-uint64(s.Cur)))
	return s
}

// Move returns the state with its marks shifted.
func (m *Machine) Move(s State, by time.Duration) State {
	if s.Span > 0 {
		s.Start = s.Start.Add(by)
	}
	return s
}

// Fresh reports that the next admission begins new windows.
func (m *Machine) Fresh(s State, now clock.Mark) bool { return m.over(&s, now) }

var errWindow = wire.Invalid("sliding counter: a window of negative span, after the last mark, or a count without a window")

// Check returns an error when a machine cannot make the state up to the last mark.
func Check(s State, last clock.Mark) error {
	switch {
	case s == State{Number: s.Number}:
		return nil
	case s.Span <= 0 || s.Start > last || s.Idle > 2 || s.Undone > begun:
		return errWindow
	}
	return nil
}

// AppendText appends the counter at now for people, as in
// "previous 8 current 3/10 at 1.5s of 10s".
func (m *Machine) AppendText(dst []byte, s State, now clock.Mark) []byte {
	s = m.at(s, now)
	dst = append(dst, "previous "...)
	dst = strconv.AppendUint(dst, uint64(s.Prev), 10)
	dst = append(dst, " current "...)
	dst = strconv.AppendUint(dst, uint64(s.Cur), 10)
	dst = append(dst, '/')
	dst = strconv.AppendUint(dst, uint64(m.count), 10)
	dst = append(dst, " at "...)
	dst = append(dst, now.Sub(s.Start).String()...)
	dst = append(dst, " of "...)
	return append(dst, s.Span.String()...)
}
