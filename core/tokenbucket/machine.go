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

// Config is the configuration of a token bucket.
type Config struct {
	// Count permits for each Period. Required: 1 to MaxCount, at most one
	// permit a nanosecond.
	Count uint32
	// Period of the rate. Required, more than 0.
	Period time.Duration
	// Burst is the most permits at one instant, 0 to MaxCount; 0 means Count. A
	// greater burst admits more at once after an idle time and takes longer to fill.
	Burst uint32
}

// Machine is an immutable token bucket: the arithmetic on its State. It is an
// algorithm of package limiter, which has the actions, the queue and the codec.
type Machine struct {
	interval time.Duration
	fill     time.Duration // interval x burst
	burst    uint32
}

// New validates the configuration. The interval between permits is
// Period / Count, rounded up to a whole nanosecond.
func New(c Config) (*Machine, error) {
	var e reducer.ConfigErrors
	count := c.Count > 0 && c.Count <= MaxCount
	e.Count(!count, "rate.count", uint64(c.Count), "1 to 1000000000")
	e.Duration(c.Period <= 0, "rate.period", c.Period, "more than 0")
	e.Count(count && c.Period > 0 && time.Duration(c.Count) > c.Period, "rate.count", uint64(c.Count), "at most one permit a nanosecond")
	e.Count(c.Burst > MaxCount, "burst", uint64(c.Burst), "1 to 1000000000")
	if err := e.Err(); err != nil {
		return nil, err
	}
	if c.Burst == 0 {
		c.Burst = c.Count
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

// Fill returns the time in which an empty bucket fills.
func (m *Machine) Fill() time.Duration { return m.fill }

// Capacity returns the greatest cost that can ever be admitted.
func (m *Machine) Capacity() uint32 { return m.burst }

// State is a token bucket that may refund later. Without refunds TAT alone is the
// state: 8 bytes, see Machine.Take.
type State struct {
	// TAT is the theoretical arrival time: when the bucket is full again.
	TAT clock.Mark
	// Refunded is the sum of all refunds so far. It wraps around; only differences
	// are used.
	Refunded uint64
}

// Potential is the record of a permit that was granted last: TAT + Refunded. A grant
// raises it and a refund leaves it, so that as long as a permit's record is the record of
// the state, no permit was granted after it.
func (s State) Potential() uint64 { return uint64(s.TAT) + s.Refunded }

// Init returns a full bucket.
func (m *Machine) Init(now clock.Mark) State { return State{TAT: now} }

// Take decides by one word: it returns the theoretical arrival time after a cost that
// is admitted at now, or false and the same word. Without refunds this allows an
// atomic compare-and-swap.
func (m *Machine) Take(tat clock.Mark, cost uint32, now clock.Mark) (clock.Mark, bool) {
	if cost == 0 {
		return tat, true
	}
	if cost > m.burst {
		return tat, false
	}
	need := time.Duration(cost) * m.interval
	earliest := tat.Add(need - m.fill)
	if now < earliest || now == clock.Never { // at the end of the line nothing could be taken
		return tat, false
	}
	return max(tat, now).Add(need), true
}

// Turn returns the least mark from now on at which the cost is admitted if
// nothing else happens, clock.Never for a cost above the capacity.
func (m *Machine) Turn(tat clock.Mark, cost uint32, now clock.Mark) clock.Mark {
	return m.TurnAfter(tat, 0, cost, now)
}

// TurnAfter is Turn behind waiters that ask for ahead permits in all.
func (m *Machine) TurnAfter(tat clock.Mark, ahead uint64, cost uint32, now clock.Mark) clock.Mark {
	if cost == 0 {
		return now
	}
	if cost > m.burst {
		return clock.Never
	}
	hi, lo := bits.Mul64(uint64(m.interval), ahead+uint64(cost))
	if hi != 0 || lo > 1<<63-1 {
		return clock.Never
	}
	return max(now, max(tat, now).Add(time.Duration(lo)-m.fill))
}

// Reserve takes a cost for a later turn: it returns the theoretical arrival time
// after it.
func (m *Machine) Reserve(tat clock.Mark, cost uint32, now clock.Mark) clock.Mark {
	return m.after(max(tat, now), uint64(cost))
}

// Free returns the whole permits that are free at now.
func (m *Machine) Free(tat, now clock.Mark) uint32 {
	if tat <= now {
		return m.burst
	}
	debt := tat.Sub(now)
	if tat == clock.Never || debt >= m.fill {
		return 0
	}
	return uint32((m.fill - debt) / m.interval)
}

// Drain returns the theoretical arrival time of a bucket whose free permits are
// discarded at now.
func (m *Machine) Drain(tat, now clock.Mark) clock.Mark { return max(tat, now.Add(m.fill)) }

// Carry returns the theoretical arrival time of a bucket that has free permits
// at now, at most its burst.
func (m *Machine) Carry(free uint32, now clock.Mark) clock.Mark {
	return m.after(now, uint64(m.burst-min(free, m.burst)))
}

// after returns the mark so many intervals after another one.
func (m *Machine) after(mark clock.Mark, intervals uint64) clock.Mark {
	hi, lo := bits.Mul64(uint64(m.interval), intervals)
	if hi != 0 || lo > 1<<63-1 {
		return clock.Never
	}
	return mark.Add(time.Duration(lo))
}

// Adopt adopts the state of a bucket with another configuration: its free permits, at
// most the new burst, with the part of the next one that has refilled, as a share of the
// interval; or its debt. What is missing is rounded up to a whole nanosecond. An older
// permit can be refunded only at this same mark. An equal configuration changes nothing.
func (m *Machine) Adopt(s State, from *Machine, now clock.Mark) State {
	if *m == *from {
		return s
	}
	missing := max(0, s.TAT.Sub(now))
	s.Refunded += uint64(missing)
	if debt := missing - from.fill; debt > 0 {
		s.TAT = now.Add(m.fill).Add(m.scaled(debt, from, uint64(from.interval)-1))
	} else {
		s.TAT = now.Add(m.fill - min(m.fill, m.scaled(-debt, from, 0)))
	}
	return s
}

// scaled returns what a time of another bucket is in this one: as many intervals. The
// remainder is added before the division.
func (m *Machine) scaled(d time.Duration, from *Machine, remainder uint64) time.Duration {
	hi, lo := bits.Mul64(uint64(d), uint64(m.interval))
	lo, carry := bits.Add64(lo, remainder, 0)
	if hi += carry; hi >= uint64(from.interval) {
		return 1<<63 - 1
	}
	n, _ := bits.Div64(hi, lo, uint64(from.interval))
	return time.Duration(min(n, 1<<63-1))
}

// Refund returns cost permits of a permit that was granted at the mark, with the
// record, as far as no later permit depends on them. At the mark of the grant that is
// all of them. Later it is what has not yet refilled since, less the refunds of
// others, which moved the bucket back too. While there are later reservations, it is
// at most what none of them depends on. It returns false, and the same state, when no
// permit is returned.
func (m *Machine) Refund(s State, record uint64, granted clock.Mark, cost uint32, now clock.Mark) (State, bool) {
	hi, lo := bits.Mul64(uint64(m.interval), uint64(cost))
	if cost == 0 || hi != 0 || lo > uint64(MaxFill) || s.TAT == clock.Never { // a debt that reaches the end of the line has no known size
		return s, false
	}
	took := time.Duration(lo)
	ahead := int64(s.Potential() - record) // what others have taken since
	if ahead < 0 {
		return s, false
	}
	if now == granted && ahead == 0 {
		s.TAT = s.TAT.Add(-took)
		return s, true
	}
	// Without what others took since, the bucket would be full at this mark.
	full := s.TAT.Add(-time.Duration(ahead))
	back := took
	if now != granted {
		back = min(took, full.Sub(now))
	}
	if s.TAT.Sub(now) > m.fill {
		back = min(back, took-time.Duration(ahead))
	}
	if back <= 0 {
		return s, false
	}
	s.TAT = s.TAT.Add(-back)
	s.Refunded += uint64(back)
	return s, true
}

// Chargeable returns how many permits may be charged until the debt is the burst.
func (m *Machine) Chargeable(tat, now clock.Mark) uint64 {
	taken, most := uint64(max(0, tat.Sub(now))), 2*uint64(m.fill)
	return (most - min(taken, most)) / uint64(m.interval)
}

// Charge takes permits that were used without an acquire. The bucket goes into debt
// for permits that are not free.
func (m *Machine) Charge(tat clock.Mark, permits uint64, now clock.Mark) clock.Mark {
	return m.after(max(tat, now), permits)
}

// AppendText appends the bucket at now for people, as in "free 3/10".
func (m *Machine) AppendText(dst []byte, tat, now clock.Mark) []byte {
	dst = append(dst, "free "...)
	dst = strconv.AppendUint(dst, uint64(m.Free(tat, now)), 10)
	dst = append(dst, '/')
	return strconv.AppendUint(dst, uint64(m.burst), 10)
}
