package tokenbucket

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Limits of a configuration.
const (
	// MaxCount is the most permits in a rate or a burst.
	MaxCount = 1_000_000_000
	// MaxFill is the longest time that an empty bucket may take to fill. It
	// keeps every sum of two such times on the line of marks.
	MaxFill = time.Duration(1 << 62)
)

// Config is what a token bucket is made of.
type Config struct {
	// Count permits for each Period. Required: 1 to MaxCount, at most one
	// permit a nanosecond.
	Count uint32
	// Period of the rate. Required, more than 0.
	Period time.Duration
	// Burst is the most permits at one instant, 0 to MaxCount; 0 means Count.
	// A greater burst admits more at once after a quiet time and takes longer
	// to fill.
	Burst uint32
}

// Machine is an immutable token bucket.
type Machine struct {
	interval time.Duration
	fill     time.Duration // interval x burst
	burst    uint32
}

var _ reducer.Cell[State] = (*Machine)(nil)

// New validates the configuration. The interval between permits is
// Period / Count, rounded up to a whole nanosecond.
func New(c Config) (*Machine, error) {
	if c.Count == 0 || c.Count > MaxCount {
		return nil, reducer.BadCount("rate.count", uint64(c.Count), "1 to 1000000000")
	}
	if c.Period <= 0 {
		return nil, reducer.BadDuration("rate.period", c.Period, "more than 0")
	}
	if time.Duration(c.Count) > c.Period {
		return nil, reducer.BadCount("rate.count", uint64(c.Count), "at most one permit a nanosecond")
	}
	if c.Burst == 0 {
		c.Burst = c.Count
	}
	if c.Burst > MaxCount {
		return nil, reducer.BadCount("burst", uint64(c.Burst), "1 to 1000000000")
	}
	interval := (c.Period-1)/time.Duration(c.Count) + 1
	hi, lo := bits.Mul64(uint64(interval), uint64(c.Burst))
	if hi != 0 || lo > uint64(MaxFill) {
		return nil, reducer.BadCount("burst", uint64(c.Burst), "a bucket that fills within 146 years")
	}
	return &Machine{interval: interval, fill: time.Duration(lo), burst: c.Burst}, nil
}

// Interval returns the time between two permits.
func (m *Machine) Interval() time.Duration { return m.interval }

// Capacity returns the greatest cost that can ever be admitted.
func (m *Machine) Capacity() uint32 { return m.burst }

// Init returns a full bucket.
func (m *Machine) Init(now clock.Mark) State { return State{TAT: now} }

// Take is the whole decision on one word: the theoretical arrival time after a
// cost that is admitted at now, or false and nothing changed. It suits an
// atomic compare-and-swap where no refund is ever asked for.
func (m *Machine) Take(tat clock.Mark, cost uint32, now clock.Mark) (clock.Mark, bool) {
	need := time.Duration(cost) * m.interval
	switch {
	case cost > m.burst:
		return tat, false
	case tat <= now:
		return now.Add(need), cost == 0 || now != clock.Never // where nothing could be taken
	case tat == clock.Never || tat.Sub(now) > m.fill-need:
		return tat, cost == 0 // a debt that reaches the end of the line has no known size
	}
	return tat.Add(need), true
}

// Enter is the Acquire of a step that admits, without its words; false, and
// nothing changed, when Step is to be asked.
func (m *Machine) Enter(s *State, cost uint32, now clock.Mark) (reducer.Permit, bool) {
	tat, ok := m.Take(s.TAT, cost, now)
	if !ok || cost == 0 {
		return reducer.Permit{}, false
	}
	s.TAT = tat
	return reducer.Permit{Generation: s.Refunded, ID: uint64(tat), Mark: now}, true
}

// Turn returns the least mark from now on at which the cost is admitted if
// nothing else happens, clock.Never for a cost above the capacity.
func (m *Machine) Turn(s *State, cost uint32, now clock.Mark) clock.Mark {
	return m.turn(max(s.TAT, now), uint64(cost), cost, now)
}

// TurnAfter is Turn behind waiters that ask for ahead permits in all.
func (m *Machine) TurnAfter(s *State, ahead uint64, cost uint32, now clock.Mark) (clock.Mark, bool) {
	return m.turn(max(s.TAT, now), ahead+uint64(cost), cost, now), true
}

func (m *Machine) turn(tat clock.Mark, permits uint64, cost uint32, now clock.Mark) clock.Mark {
	if cost > m.burst {
		return clock.Never
	}
	if cost == 0 {
		return now
	}
	hi, lo := bits.Mul64(uint64(m.interval), permits)
	if hi != 0 || lo > 1<<63-1 {
		return clock.Never
	}
	return max(now, tat.Add(time.Duration(lo)-m.fill))
}

// Free returns the whole permits that are free at now.
func (m *Machine) Free(s *State, now clock.Mark) uint32 {
	if s.TAT <= now {
		return m.burst
	}
	debt := s.TAT.Sub(now)
	if s.TAT == clock.Never || debt >= m.fill {
		return 0
	}
	return uint32((m.fill - debt) / m.interval)
}

// carried is what a bucket begins with that took over another algorithm's
// permits: no permit of a bucket before that can be younger.
const carried = 1 << 63

// Carry returns a bucket that has free permits at now, at most its burst.
func (m *Machine) Carry(free uint32, now clock.Mark) State {
	return State{Refunded: carried, TAT: now.Add(time.Duration(m.burst-min(free, m.burst)) * m.interval)}
}

// Adopt takes over the state of a bucket with another configuration: its whole
// free permits, at most the new burst. Permits of before can be refunded at
// this very mark alone. An equal configuration changes nothing.
func (m *Machine) Adopt(s State, from *Machine, now clock.Mark) State {
	if *m == *from {
		return s
	}
	next := m.Carry(from.Free(&s, now), now)
	next.Refunded = s.Refunded + uint64(max(0, s.TAT.Sub(now)))
	return next
}

// Reduce implements reducer.Machine.
func (m *Machine) Reduce(s State, a reducer.Action, now clock.Mark) (State, reducer.Effects) {
	answer := m.Step(&s, a, now, nil)
	return s, reducer.Effects{Answer: answer}
}

// Step implements reducer.Cell. Nothing happens to others than the caller.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, _ *reducer.Out) reducer.Answer {
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire:
		tat, ok := m.Take(s.TAT, a.Cost, now)
		if !ok {
			return m.refuse(s, a.Cost, now)
		}
		if a.Cost > 0 {
			s.TAT = tat
		}
		return m.permit(s, now)
	case reducer.Peek:
		answer := m.permit(s, now)
		if _, ok := m.Take(s.TAT, a.Cost, now); !ok {
			answer = m.refuse(s, a.Cost, now)
		}
		answer.Free = m.Free(s, now)
		return answer
	case reducer.Reserve:
		at := m.Turn(s, a.Cost, now)
		if at > a.Mark || at == clock.Never {
			return m.refuse(s, a.Cost, now)
		}
		s.TAT = max(s.TAT, now).Add(time.Duration(a.Cost) * m.interval)
		return m.permit(s, now)
	case reducer.Cancel:
		return m.refund(s, a, now)
	case reducer.Commit, reducer.Release:
		return reducer.Answer{Verdict: reducer.Done}
	case reducer.Drain:
		s.TAT = max(s.TAT, now.Add(m.fill))
		return reducer.Answer{Verdict: reducer.Done}
	case reducer.Reset:
		// Permits of before must find that all they took was given back.
		*s = State{TAT: now, Refunded: s.Refunded + uint64(max(0, s.TAT.Sub(now)))}
		return reducer.Answer{Verdict: reducer.Done}
	}
	return reducer.Answer{}
}

func (m *Machine) permit(s *State, now clock.Mark) reducer.Answer {
	return reducer.Admitted(reducer.Permit{Generation: s.Refunded, ID: uint64(s.TAT), Mark: now})
}

func (m *Machine) refuse(s *State, cost uint32, now clock.Mark) reducer.Answer {
	if cost > m.burst {
		return reducer.Rejected(reducer.ReasonCapacity, clock.Never)
	}
	return reducer.Rejected(reducer.ReasonRate, m.Turn(s, cost, now))
}

// ReadyAt returns the mark from which a reserved permit may be used.
func (m *Machine) ReadyAt(p reducer.Permit) clock.Mark {
	return max(p.Mark, clock.Mark(p.ID).Add(-m.fill))
}

// refund gives back what a permit took as far as nobody has built on it. At
// the mark of the grant that is all of it. Later it is what has not yet
// refilled since, less what others gave back (their refunds moved the bucket
// back too). While reservations lie ahead, it is no more than what none of the
// later ones stands on.
func (m *Machine) refund(s *State, a reducer.Action, now clock.Mark) reducer.Answer {
	hi, lo := bits.Mul64(uint64(m.interval), uint64(a.Cost))
	if a.Cost == 0 || hi != 0 || lo > uint64(MaxFill) {
		return reducer.Answer{}
	}
	took := time.Duration(lo)
	granted := clock.Mark(a.ID)
	since := time.Duration(s.Refunded - a.Generation)
	if granted < a.Mark || since < 0 {
		return reducer.Answer{} // of another algorithm, which the limiter had before
	}
	if now == a.Mark && s.TAT == granted && since == 0 {
		s.TAT = s.TAT.Add(-took)
		return reducer.Answer{Verdict: reducer.Done}
	}
	back := took
	if now != a.Mark {
		back = min(took, granted.Add(-since).Sub(now))
	}
	if s.TAT.Sub(now) > m.fill {
		back = min(back, took-s.TAT.Sub(granted.Add(-since)))
	}
	if back <= 0 {
		return reducer.Answer{}
	}
	s.TAT = s.TAT.Add(-back)
	s.Refunded += uint64(back)
	return reducer.Answer{Verdict: reducer.Done}
}

// NextWake implements reducer.Machine: a bucket refills by itself.
func (m *Machine) NextWake(State) (clock.Mark, bool) { return clock.Never, false }

// Clone implements reducer.Cell.
func (m *Machine) Clone(s State) State { return s }

// Shift implements reducer.Cell.
func (m *Machine) Shift(s State, by time.Duration) State {
	m.Move(&s, by)
	return s
}

// Move is Shift in place.
func (m *Machine) Move(s *State, by time.Duration) { s.TAT = s.TAT.Add(by) }

// Fresh reports a full bucket. A permit must not outlive the state that it
// came from: whoever holds one keeps the state.
func (m *Machine) Fresh(s State, now clock.Mark) bool { return s.TAT <= now }

// AppendText implements reducer.Cell, as in "free 3/10".
func (m *Machine) AppendText(dst []byte, s State, now clock.Mark) []byte {
	dst = append(dst, "free "...)
	dst = strconv.AppendUint(dst, uint64(m.Free(&s, now)), 10)
	dst = append(dst, '/')
	return strconv.AppendUint(dst, uint64(m.burst), 10)
}
