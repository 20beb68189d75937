package backoff

import (
	"encoding/binary"
	"time"

	"github.com/sluice-go/sluice/core/planwire"
	"github.com/sluice-go/sluice/reducer"
)

// MaxDelays is the most delays of a List.
const MaxDelays = 16

// List is a list of delays: that after the first attempt, after the second one, and
// so on; the last one repeats. It is comparable, and a copy shares nothing with the
// original. Delays makes one; the zero value has no delays.
type List struct{ packed string } // 8 bytes a delay

// Delays makes a list.
func Delays(delays ...time.Duration) List {
	packed := make([]byte, 0, delayBytes*len(delays))
	for _, d := range delays {
		packed = binary.LittleEndian.AppendUint64(packed, uint64(d))
	}
	return List{string(packed)}
}

const delayBytes = 8

// Len returns how many delays the list has.
func (l List) Len() int { return len(l.packed) / delayBytes }

// At returns the delay of an index, which is less than Len.
func (l List) At(i int) time.Duration {
	d := uint64(0)
	for k := delayBytes - 1; k >= 0; k-- {
		d = d<<8 | uint64(l.packed[delayBytes*i+k])
	}
	return time.Duration(d)
}

// after returns the delay after an attempt, 1 for the first.
func (l List) after(attempt uint32) time.Duration {
	return l.At(int(min(attempt, uint32(l.Len()))) - 1)
}

// longest returns the longest delay after the first n attempts.
func (l List) longest(n uint32) (longest time.Duration) {
	for i := range int(min(n, uint32(l.Len()))) {
		longest = max(longest, l.At(i))
	}
	return longest
}

// Shortest returns the shortest delay, 0 of a list without delays.
func (l List) Shortest() time.Duration {
	if l.Len() == 0 {
		return 0
	}
	shortest := l.At(0)
	for i := range l.Len() {
		shortest = min(shortest, l.At(i))
	}
	return shortest
}

// String returns the delays as a document has them: [100ms, 1s].
func (l List) String() string { return l.text(time.Duration.String) }

func (l List) text(of func(time.Duration) string) string {
	text := "["
	for i := range l.Len() {
		if i > 0 {
			text += ", "
		}
		text += of(l.At(i))
	}
	return text + "]"
}

// check validates the delays of Listed.
func (l List) check() error {
	if l.Len() == 0 || l.Len() > MaxDelays {
		return reducer.BadCount("backoff.delays", uint64(l.Len()), "1 to 16 delays")
	}
	for i := range l.Len() {
		if d := l.At(i); d < 0 {
			return reducer.BadDuration("backoff.delays", d, "0 or more")
		}
	}
	return nil
}

// plan codes a list for plan bytes: how many delays, and each of them.
func (l *List) plan(v *planwire.Coder, name string) {
	count := uint32(l.Len())
	if v.Count(name, &count); count > MaxDelays {
		v.Refuse(name)
		return
	}
	read := make([]time.Duration, count)
	for i := range read {
		if !v.Reads() {
			read[i] = l.At(i)
		}
		v.Duration(name, &read[i])
	}
	if v.Reads() {
		*l = Delays(read...)
	}
}
