package slidinglog

import (
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// MaxCount is the most permits of a log, and by it the most marks that it keeps.
const MaxCount = 10_000

// Config is the configuration of a sliding log.
type Config struct {
	// Count permits in any window of Period. Required, 1 to MaxCount.
	Count uint32
	// Period for which an admission counts. Required, more than 0 and at most
	// tokenbucket.MaxFill.
	Period time.Duration
}

// Machine is an immutable sliding log: the arithmetic on its Log. It is an algorithm
// of package limiter, which has the actions, the queue and the codec. Its marks must
// not go back.
type Machine struct {
	count  uint32
	period time.Duration
}

// New validates the configuration.
func New(c Config) (*Machine, error) {
	var e reducer.ConfigErrors
	e.Count(c.Count == 0 || c.Count > MaxCount, "rate.count", uint64(c.Count), "1 to 10000 for a sliding log")
	e.Duration(c.Period <= 0 || c.Period > tokenbucket.MaxFill, "rate.period", c.Period, "more than 0 and at most 146 years")
	if err := e.Err(); err != nil {
		return nil, err
	}
	return &Machine{count: c.Count, period: c.Period}, nil
}

// Capacity returns the greatest cost that can ever be admitted.
func (m *Machine) Capacity() uint32 { return m.count }

// Turn returns the least mark from now on at which the cost is admitted if
// nothing else happens, clock.Never for a cost above the capacity.
func (m *Machine) Turn(l *Log, cost uint32, now clock.Mark) clock.Mark {
	if cost == 0 {
		return now
	}
	if cost > m.count {
		return clock.Never
	}
	first := l.live(now)
	used := l.used(first)
	if used+cost <= m.count {
		return now
	}
	// So many permits have to stop counting.
	return l.entries()[l.covers(first, used+cost-m.count)].ends
}

// Take takes a cost that is admitted at now; else it returns false and changes
// nothing. Entries that no longer count are removed.
func (m *Machine) Take(l *Log, cost uint32, now clock.Mark) bool {
	if cost == 0 {
		return true
	}
	if cost > m.count || now == clock.Never { // at the end of the line nothing ends after now
		return false
	}
	first := l.live(now)
	if l.used(first)+cost > m.count {
		return false
	}
	l.forget(first)
	l.add(now.Add(m.period), cost)
	return true
}

// MaxSize returns the most bytes that Log.Code appends: a mark for each permit, as far
// apart as the period allows, and as much charged as is possible.
func (m *Machine) MaxSize() int {
	n := uint64(m.count)
	between := 1 + wire.UvarintsSize(n-1, 2*uint64(m.period)+n-1)
	return wire.UvarintSize(n) + 8 + between + wire.UvarintsSize(n, maxUsed)
}

// Record names an admission at now in its permit: the mark at which it stops
// counting.
func (m *Machine) Record(now clock.Mark) clock.Mark { return now.Add(m.period) }

// Free returns the permits that are free at now.
func (m *Machine) Free(l *Log, now clock.Mark) uint32 {
	return m.count - min(l.used(l.live(now)), m.count)
}

// Drain discards the permits that are free at now. It returns false where no permit
// is free.
func (m *Machine) Drain(l *Log, now clock.Mark) bool {
	free := m.Free(l, now)
	return free > 0 && m.Take(l, free, now)
}

// Carry fills an empty log so that it has free permits at now, at most its count.
func (m *Machine) Carry(l *Log, free uint32, now clock.Mark) {
	if free < m.count {
		m.Take(l, m.count-free, now)
	}
}

// Refund returns cost permits of the admission that stops counting at the mark, while
// it counts. It returns false, and changes nothing, when no permit is returned.
func (m *Machine) Refund(l *Log, ends clock.Mark, cost uint32, now clock.Mark) bool {
	i, found := slices.BinarySearchFunc(l.entries(), ends, entry.compare)
	if !found || cost == 0 || ends <= now && ends != clock.Never || cost > l.cost(i) {
		return false
	}
	l.remove(i, cost)
	return true
}

// Chargeable returns how many permits may be charged until twice the count counts.
func (m *Machine) Chargeable(l *Log, now clock.Mark) uint64 {
	most := 2 * m.count
	return uint64(most - min(l.used(l.live(now)), most))
}

// Charge takes permits that were used without an acquire, also more than are free;
// the sum at one time stays below twice MaxCount. In a log with its maximum number of
// marks the charge replaces the newest mark, whose permits then count as long as the
// charge.
func (m *Machine) Charge(l *Log, permits uint64, now clock.Mark) {
	l.forget(l.live(now))
	cost := uint32(min(permits, uint64(maxUsed-min(l.used(0), maxUsed))))
	if cost == 0 {
		return
	}
	if last := l.Len() - 1; last+1 >= int(m.count) {
		merged := l.cost(last)
		l.remove(last, merged)
		cost += merged
	}
	l.add(now.Add(m.period), cost)
}

// Fresh reports that no admission counts.
func (m *Machine) Fresh(l *Log, now clock.Mark) bool { return l.live(now) == l.Len() }

// FreshAt returns the mark at which the last entry of a log stops counting.
func (m *Machine) FreshAt(l *Log) clock.Mark {
	all := l.entries()
	if len(all) == 0 {
		return clock.Always
	}
	return all[len(all)-1].ends
}

// AppendText appends the log at now for people, as in "used 3/10".
func (m *Machine) AppendText(dst []byte, l *Log, now clock.Mark) []byte {
	dst = append(dst, "used "...)
	dst = strconv.AppendUint(dst, uint64(l.used(l.live(now))), 10)
	dst = append(dst, '/')
	return strconv.AppendUint(dst, uint64(m.count), 10)
}
