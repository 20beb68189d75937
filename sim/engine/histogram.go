package engine

import (
	"math/bits"
	"time"
)

// A histogram has a bucket for each value below a power of two, and from there on so
// many buckets for each octave.
const (
	fineBits   = 7 // within 1/256 of the value
	coarseBits = 4 // within 1/32
)

// bucket returns the bucket of a value.
func bucket(value uint64, precision int) int {
	octave := bits.Len64(value) - 1 - precision
	if octave < 0 {
		return int(value)
	}
	return octave<<precision + int(value>>octave)
}

// middle returns the value in the middle of a bucket.
func middle(i, precision int) uint64 {
	octave := i>>precision - 1
	if octave < 0 {
		return uint64(i)
	}
	least := uint64(i-octave<<precision) << octave
	return least + (uint64(1)<<octave)/2
}

// histogram counts durations so that percentiles are exact within 0.4 %.
type histogram struct {
	counts     []uint64
	count      uint64
	sum        float64
	least, max time.Duration
}

func newHistogram() histogram {
	return histogram{counts: make([]uint64, bucket(1<<63-1, fineBits)+1)}
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucket(uint64(d), fineBits)]++
	if h.count == 0 || d < h.least {
		h.least = d
	}
	h.count++
	h.sum += float64(d)
	h.max = max(h.max, d)
}

func (h *histogram) reset() {
	clear(h.counts)
	*h = histogram{counts: h.counts}
}

// mean is 0 without values.
func (h *histogram) mean() float64 {
	if h.count == 0 {
		return 0
	}
	return h.sum / float64(h.count)
}

// percentile returns the nearest rank of so many thousandths, 0 without values.
func (h *histogram) percentile(thousandths uint64) time.Duration {
	if h.count == 0 {
		return 0
	}
	rank := max((h.count*thousandths+999)/1000, 1)
	for i, n := range h.counts {
		if n >= rank {
			return min(max(time.Duration(middle(i, fineBits)), h.least), h.max)
		}
		rank -= n
	}
	return h.max
}

// Latencies counts durations in buckets that are exact within 3 %: Count[i] of the
// bucket From + i.
type Latencies struct {
	From  int
	Count []uint32
}

// LatencyBuckets is how many buckets of Latencies there are for each octave.
const LatencyBuckets = 1 << coarseBits

// LatencyOf returns the least duration of a bucket of Latencies.
func LatencyOf(i int) time.Duration {
	octave := i>>coarseBits - 1
	if octave < 0 {
		return time.Duration(i)
	}
	return time.Duration(i-octave<<coarseBits) << octave
}

func (l *Latencies) add(d time.Duration) {
	i := bucket(uint64(d), coarseBits)
	switch {
	case len(l.Count) == 0:
		l.From = i
		l.Count = append(l.Count, 0)
	case i < l.From:
		l.Count = append(make([]uint32, l.From-i), l.Count...)
		l.From = i
	}
	for i >= l.From+len(l.Count) {
		l.Count = append(l.Count, 0)
	}
	l.Count[i-l.From]++
}

// Percentile returns the nearest rank of so many thousandths within 3 %, 0 without
// values.
func (l *Latencies) Percentile(thousandths uint64) time.Duration {
	sum := uint64(0)
	for _, n := range l.Count {
		sum += uint64(n)
	}
	rank := max((sum*thousandths+999)/1000, 1)
	for i, n := range l.Count {
		if uint64(n) >= rank {
			return time.Duration(middle(l.From+i, coarseBits))
		}
		rank -= uint64(n)
	}
	return 0
}
