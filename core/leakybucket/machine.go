package leakybucket

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/core/wire"
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

// Machine is an immutable leaky bucket: the arithmetic on its State. It is an algorithm of
// package limiter, which has the actions, the queue and the codec.
type Machine struct {
	interval time.Duration
	count    uint32
}

// New validates the configuration. The interval is the same as in the token bucket:
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

// State is a leaky bucket.
type State struct {
	// Next is the mark before which the next call does not depart.
	Next clock.Mark
	// Charged is the part of the time until Next that was charged since the last departure,
	// of which a refund of that departure returns nothing.
	Charged time.Duration
}

// Departed is the record of the last departure: the mark before which the next call would
// not depart without what was charged since.
func (s State) Departed() clock.Mark { return s.Next.Add(-s.Charged) }

// after returns the mark so many intervals after another one.
func (m *Machine) after(mark clock.Mark, intervals uint64) clock.Mark {
	hi, lo := bits.Mul64(uint64(m.interval), intervals)
	if hi != 0 || lo > 1<<63-1 {
		return clock.Never
	}
	return mark.Add(time.Duration(lo))
}

// Take lets a cost depart at now, or returns false and the same state.
func (m *Machine) Take(s State, cost uint32, now clock.Mark) (State, bool) {
	if cost == 0 {
		return s, true
	}
	if cost > m.count || now < s.Next || now == clock.Never { // at the end of the line nothing could follow
		return s, false
	}
	return State{Next: m.after(now, uint64(cost))}, true
}

// Turn returns the least mark from now on at which the cost departs if nothing
// else happens, clock.Never for a cost above the capacity.
func (m *Machine) Turn(s State, cost uint32, now clock.Mark) clock.Mark {
	return m.TurnAfter(s, 0, cost, now)
}

// TurnAfter is Turn behind waiters that ask for ahead permits in all.
func (m *Machine) TurnAfter(s State, ahead uint64, cost uint32, now clock.Mark) clock.Mark {
	switch {
	case cost == 0:
		return now
	case cost > m.count:
		return clock.Never
	}
	return m.after(max(s.Next, now), ahead)
}

// Reserve takes the next departure for a cost.
func (m *Machine) Reserve(s State, cost uint32, now clock.Mark) State {
	return State{Next: m.after(max(s.Next, now), uint64(cost))}
}

// Free returns the greatest cost that departs at now: the count, or nothing.
func (m *Machine) Free(s State, now clock.Mark) uint32 {
	if now < s.Next {
		return 0
	}
	return m.count
}

// Drain discards a departure that is free at now.
func (m *Machine) Drain(s State, now clock.Mark) State {
	if next := m.after(now, 1); next > s.Next {
		return State{Next: next}
	}
	return s
}

// Carry returns a bucket that has free permits at now, at most its count: the others
// count as taken at now.
func (m *Machine) Carry(free uint32, now clock.Mark) State {
	return State{Next: m.after(now, uint64(m.count-min(free, m.count)))}
}

// Refund returns cost permits of a departure that took total, from the mark of the
// departure to its record, if no call departed since: as much of their time as has not
// passed. It returns false, and the same state, when no permit is returned.
func (m *Machine) Refund(s State, departed, record clock.Mark, cost, total uint32, now clock.Mark) (State, bool) {
	if cost == 0 || cost > total || s.Departed() != record || record <= max(now, departed) || s.Next == clock.Never {
		return s, false
	}
	hi, lo := bits.Mul64(uint64(record.Sub(departed)), uint64(cost))
	back, _ := bits.Div64(hi, lo, uint64(total))
	s.Next = s.Next.Add(-min(time.Duration(back), record.Sub(now)))
	return s, true
}

// Chargeable returns how many permits may be charged until as much as the count is taken
// twice.
func (m *Machine) Chargeable(s State, now clock.Mark) uint64 {
	taken, most := uint64(max(0, s.Next.Sub(now))), 2*uint64(m.count)*uint64(m.interval)
	return (most - min(taken, most)) / uint64(m.interval)
}

// Charge takes permits that were used without an acquire: the next departure is so
// many intervals later.
func (m *Machine) Charge(s State, permits uint64, now clock.Mark) State {
	if s.Next < now {
		s = State{Next: now}
	}
	next := m.after(s.Next, permits)
	s.Charged += next.Sub(s.Next)
	s.Next = next
	return s
}

var errCharged = wire.Invalid("leaky bucket: less than nothing was charged")

// Check returns an error when a machine cannot make the state.
func Check(s State) error {
	if s.Charged < 0 {
		return errCharged
	}
	return nil
}

// AppendText appends the bucket at now for people, as in "next at 5s", or "ready".
func (m *Machine) AppendText(dst []byte, s State, now clock.Mark) []byte {
	if s.Next <= now {
		return append(dst, "ready"...)
	}
	return append(append(dst, "next at "...), s.Next.String()...)
}
