package leakybucket

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// Config is the configuration of a leaky bucket.
type Config struct {
	// Count permits for each Period. Required: 1 to tokenbucket.MaxCount, at most
	// one permit a nanosecond. A greater cost is never admitted.
	Count uint32
	// Period of the rate. Required, more than 0 and at most
	// tokenbucket.MaxFill.
	Period time.Duration
}

// Machine is an immutable leaky bucket: the arithmetic on the mark before which
// the next call does not depart. It is an algorithm of package limiter, which has
// the actions, the queue and the codec.
type Machine struct {
	interval time.Duration
	count    uint32
}

// New validates the configuration. The interval is that of the token bucket:
// Period / Count, rounded up to a whole nanosecond.
func New(c Config) (*Machine, error) {
	bucket, err := tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: 1})
	if err != nil {
		return nil, err
	}
	if bucket.Interval() > tokenbucket.MaxFill/time.Duration(c.Count) {
		return nil, reducer.BadDuration("rate.period", c.Period, "at most 146 years")
	}
	return &Machine{interval: bucket.Interval(), count: c.Count}, nil
}

// Interval returns the time between two departures of cost 1.
func (m *Machine) Interval() time.Duration { return m.interval }

// Capacity returns the greatest cost that can ever be admitted.
func (m *Machine) Capacity() uint32 { return m.count }

// after returns the mark so many intervals after another one.
func (m *Machine) after(mark clock.Mark, intervals uint64) clock.Mark {
	hi, lo := bits.Mul64(uint64(m.interval), intervals)
	if hi != 0 || lo > 1<<63-1 {
		return clock.Never
	}
	return mark.Add(time.Duration(lo))
}

// Take lets a cost depart at now: it returns the mark of the next departure, or
// false and the same mark.
func (m *Machine) Take(next clock.Mark, cost uint32, now clock.Mark) (clock.Mark, bool) {
	if cost == 0 {
		return next, true
	}
	if cost > m.count || now < next || now == clock.Never { // at the end of the line nothing could follow
		return next, false
	}
	return m.after(now, uint64(cost)), true
}

// Turn returns the least mark from now on at which the cost departs if nothing
// else happens, clock.Never for a cost above the capacity.
func (m *Machine) Turn(next clock.Mark, cost uint32, now clock.Mark) clock.Mark {
	return m.TurnAfter(next, 0, cost, now)
}

// TurnAfter is Turn behind waiters that ask for ahead permits in all.
func (m *Machine) TurnAfter(next clock.Mark, ahead uint64, cost uint32, now clock.Mark) clock.Mark {
	switch {
	case cost == 0:
		return now
	case cost > m.count:
		return clock.Never
	}
	return m.after(max(next, now), ahead)
}

// Reserve takes the next departure for a cost, and returns the mark of the one
// after it.
func (m *Machine) Reserve(next clock.Mark, cost uint32, now clock.Mark) clock.Mark {
	return m.after(max(next, now), uint64(cost))
}

// Free returns the greatest cost that departs at now: the count, or nothing.
func (m *Machine) Free(next, now clock.Mark) uint32 {
	if now < next {
		return 0
	}
	return m.count
}

// Drain returns the mark of the next departure when a departure that is free at now
// is discarded.
func (m *Machine) Drain(next, now clock.Mark) clock.Mark { return max(next, m.after(now, 1)) }

// Carry returns the mark of the next departure of a bucket that has free permits
// at now, at most its count: the others count as taken at now.
func (m *Machine) Carry(free uint32, now clock.Mark) clock.Mark {
	return m.after(now, uint64(m.count-min(free, m.count)))
}

// Refund returns cost permits of a departure that took total, from the mark of the
// departure to that of the next one, if no call departed since. It returns false, and
// the same mark, when no permit is returned.
func (m *Machine) Refund(next, departed, followed clock.Mark, cost, total uint32, now clock.Mark) (clock.Mark, bool) {
	if cost == 0 || cost > total || next != followed || next <= max(now, departed) || next == clock.Never {
		return next, false
	}
	hi, lo := bits.Mul64(uint64(next.Sub(departed)), uint64(cost))
	back, _ := bits.Div64(hi, lo, uint64(total))
	return max(now, next.Add(-time.Duration(back))), true
}

// Charge takes permits that were used without an acquire: the next departure is so
// many intervals later.
func (m *Machine) Charge(next clock.Mark, permits uint64, now clock.Mark) clock.Mark {
	return m.after(max(next, now), permits)
}

// AppendText appends the bucket at now for people, as in "next at 5s", or "ready".
func (m *Machine) AppendText(dst []byte, next, now clock.Mark) []byte {
	if next <= now {
		return append(dst, "ready"...)
	}
	return append(append(dst, "next at "...), next.String()...)
}
