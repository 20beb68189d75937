package slidinglog

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/sorting"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/core/wire"
)

// Log has the admissions that may still count, an entry for each mark, in the order
// in which they stop counting. Copies share memory until Clone. A nil one is empty,
// and can be read.
type Log struct {
	buffer []entry
	head   int // of the entries in the buffer
	// gone is the sum of all that was admitted before the first entry. Sums wrap
	// around; only differences are used.
	gone uint32
}

// entry is what was admitted at one mark.
type entry struct {
	ends clock.Mark // at which it counts no longer
	sum  uint32     // of all that was admitted, this entry included
}

func (e entry) compare(ends clock.Mark) int { return cmp.Compare(e.ends, ends) }

// maxUsed bounds what counts at one time, by charges more than MaxCount.
const maxUsed = 2 * MaxCount

func (l *Log) entries() []entry {
	if l == nil {
		return nil
	}
	return l.buffer[l.head:]
}

// Len returns how many marks the log keeps.
func (l *Log) Len() int { return len(l.entries()) }

// before returns the sum of what was admitted before entry i.
func (l *Log) before(i int) uint32 {
	switch {
	case i > 0:
		return l.entries()[i-1].sum
	case l == nil:
		return 0
	}
	return l.gone
}

func (l *Log) cost(i int) uint32 { return l.entries()[i].sum - l.before(i) }

// live returns the first entry that counts at now. An entry that ends at the end of
// the line of marks never stops counting.
func (l *Log) live(now clock.Mark) int {
	all := l.entries()
	if len(all) == 0 || all[0].ends > now {
		return 0
	}
	if now == clock.Never {
		now--
	}
	// Few entries stop counting between two calls, so the search starts at the first
	// ones. The entry stopped no longer counts.
	stopped, probe := 0, 1
	for probe < len(all) && all[probe].ends <= now {
		stopped, probe = probe, 2*probe
	}
	i, _ := slices.BinarySearchFunc(all[stopped:min(probe, len(all))], now+1, entry.compare)
	return stopped + i
}

// used returns the sum from an entry on.
func (l *Log) used(first int) uint32 { return l.before(l.Len()) - l.before(first) }

// covers returns the entry after whose end so many permits no longer count.
func (l *Log) covers(first int, permits uint32) int {
	base := l.before(first)
	i, _ := slices.BinarySearchFunc(l.entries()[first:], permits, func(e entry, permits uint32) int {
		return cmp.Compare(e.sum-base, permits)
	})
	return first + i
}

// forget drops the entries before one.
func (l *Log) forget(first int) {
	l.gone = l.before(first)
	l.head += first
	if l.head == len(l.buffer) {
		l.buffer, l.head = l.buffer[:0], 0
	}
}

// add notes an admission. It is the last one to stop counting, but for admissions of a
// longer period before a reconfiguration.
func (l *Log) add(ends clock.Mark, cost uint32) {
	all := l.entries()
	i, found := len(all), false
	if i > 0 && all[i-1].ends >= ends {
		i, found = slices.BinarySearchFunc(all, ends, entry.compare)
	}
	if !found {
		if len(l.buffer) == cap(l.buffer) && l.head > len(l.buffer)/2 {
			l.buffer, l.head = l.buffer[:copy(l.buffer, all)], 0
		}
		l.buffer = sorting.Insert(l.buffer, l.head+i, entry{ends, l.before(i)})
	}
	l.shift(i, cost)
}

// shift adds to the sums from an entry on.
func (l *Log) shift(i int, cost uint32) {
	all := l.entries()
	for ; i < len(all); i++ {
		all[i].sum += cost
	}
}

// remove takes permits out of an entry.
func (l *Log) remove(i int, cost uint32) {
	l.shift(i, -cost)
	if l.cost(i) == 0 {
		l.buffer = sorting.Remove(l.buffer, l.head+i)
		l.forget(0)
	}
}

// Version changes with every change of a log.
type Version struct {
	sum  uint32
	size int
}

// Version returns the version of the log.
func (l *Log) Version() Version { return Version{l.before(l.Len()), l.Len()} }

// Clone returns a log that shares no memory with this one.
func (l *Log) Clone() Log { return Log{buffer: slices.Clone(l.entries()), gone: l.gone} }

// Move shifts the marks of the log.
func (l *Log) Move(by time.Duration) {
	for i := range l.entries() {
		e := &l.entries()[i]
		e.ends = e.ends.Add(by)
	}
}

var errLog = wire.Invalid("sliding log: marks out of order or too far apart, or costs out of range")

// Check returns an error when a machine cannot make the log up to the last mark.
func (l *Log) Check(last clock.Mark) error {
	all := l.entries()
	if len(all) == 0 {
		return nil
	}
	for i := range all {
		if c := l.cost(i); c == 0 || c > maxUsed || i > 0 && all[i].ends <= all[i-1].ends {
			return errLog
		}
	}
	first, newest := all[0].ends, all[len(all)-1].ends
	if len(all) > MaxCount || l.used(0) > maxUsed || newest.Sub(first) > tokenbucket.MaxFill || newest > last.Add(tokenbucket.MaxFill) {
		return errLog
	}
	return nil
}

// Code codes the log: how many entries it has, the mark at which the first one
// stops counting in 8 bytes, and for each the time since the one before it, and
// what it admitted where that is more than one permit.
func (l *Log) Code(c *wire.Coder) {
	n := uint64(l.Len())
	c.Uvarint(&n)
	if n == 0 {
		return
	}
	if c.Reads() {
		if n > MaxCount {
			c.Fail(errLog)
			return
		}
		l.buffer = make([]entry, n)
	}
	all := l.entries()
	ends, sum := all[0].ends, l.gone
	c.Mark(&ends)
	for i := range all {
		since, cost := uint64(all[i].ends-ends), uint64(all[i].sum-sum)
		codeEntry(c, &since, &cost)
		ends, sum = ends+clock.Mark(since), all[i].sum
		if c.Reads() {
			sum = l.before(i) + uint32(min(cost, maxUsed+1))
			all[i] = entry{ends, sum}
			if i == 0 && since != 0 {
				c.Fail(errLog)
			}
		}
	}
}

// codeEntry codes both in a word where the cost is 1.
func codeEntry(c *wire.Coder, since, cost *uint64) {
	word := *since << 1
	if *cost > 1 {
		word |= 1
	}
	c.Uvarint(&word)
	*since = word >> 1
	if word&1 == 0 {
		*cost = 1
		return
	}
	more := *cost - 2
	c.Uvarint(&more)
	*cost = more + 2
}
