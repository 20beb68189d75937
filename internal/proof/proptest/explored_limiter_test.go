package proptest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The explorations of rate limiters.

// rate is the bound that a limiter must keep.
type rate struct {
	capacity uint32
	// most permits that were not taken back may have been granted in a stretch
	// from one grant to another, both included.
	most   func(length int64) int64
	stated string // what most says
	memory time.Duration
	bursts bool // a cost of 2 is 2 costs of 1
}

// countScene is a limiter without a queue.
func countScene(name, new string, c limiter.Config, r rate, depth int) scene[limiter.State] {
	asks := func(kind reducer.Kind, cost uint32) reducer.Action { return reducer.Action{Kind: kind, Cost: cost} }
	m := must(limiter.New(c))
	s := scene[limiter.State]{
		name: name, depth: depth,
		use: explore.Use[limiter.State]{Cell: m, New: new, Callers: 2, Memory: r.memory,
			Alphabet: []reducer.Action{asks(reducer.Acquire, 1), asks(reducer.Acquire, 2), asks(reducer.TryAcquire, r.capacity+1),
				{Kind: reducer.Cancel}, {Kind: reducer.Release}, {Kind: reducer.Commit}, {Kind: reducer.Drain}, tick}},
		marks: explore.Marks{After: []time.Duration{0, 1, 3}},
		last:  func(s *limiter.State) (clock.Mark, bool) { return s.Last, true },
		move:  moveLimit(c.Algorithm),
		rules: countRules(r),
	}
	s.key = limitKey(m)
	return s
}

// limitKey omits the parts that no later step depends on: absolute marks, the time
// since the last change, and the number of the first window.
func limitKey(m *limiter.Machine) relativeKey[limiter.State] {
	move := moveLimit(m.Config().Algorithm)
	return func(dst []byte, r room[limiter.State], now clock.Mark) []byte {
		by := clock.Mark(0).Sub(now)
		state := reducer.ValuesOf(m).Shift(r.State, by)
		state.Last = 0
		const header = 6 + 8 // and Last
		encoded := m.Encode(nil, &state)[header:]
		high, n := binary.Uvarint(encoded)
		encoded = encoded[n:]
		low, n := binary.Uvarint(encoded)
		relative := func(p reducer.Permit) reducer.Permit {
			if p = move(p, by); p != (reducer.Permit{}) {
				p.Generation = min(4, high<<32+low-p.Generation)
			}
			return p
		}
		next := r
		next.Bytes = encoded[n:]
		next.Callers, next.Recent = slices.Clone(r.Callers), slices.Clone(r.Recent)
		for i := range next.Callers {
			c := &next.Callers[i]
			c.Permit, c.Since = relative(c.Permit), c.Since.Add(by)
		}
		for i := range next.Recent {
			g := &next.Recent[i]
			g.Permit, g.At = relative(g.Permit), g.At.Add(by)
		}
		return explore.AppendKey(dst, next, 0)
	}
}

func bucketScene() scene[limiter.State] {
	return countScene("token bucket of 1 in 3 ns with a burst of 2, 2 callers", "rate=1/3ns burst=2", limiter.Config{Count: 1, Period: 3, Burst: 2},
		rate{2, func(length int64) int64 { return 2 + length/3 }, "at most the burst and the permits that have refilled", 7, true}, 6)
}

// moveLimit moves the permits of an algorithm: the ID of a window's permit has no
// mark.
func moveLimit(a limiter.Algorithm) func(p reducer.Permit, by time.Duration) reducer.Permit {
	if a == limiter.FixedWindow || a == limiter.SlidingCounter {
		return moveMark
	}
	return func(p reducer.Permit, by time.Duration) reducer.Permit {
		if p != (reducer.Permit{}) {
			p.ID, p.Mark = uint64(clock.Mark(p.ID).Add(by)), p.Mark.Add(by)
		}
		return p
	}
}

func fixedScene() scene[limiter.State] {
	return countScene("fixed window of 2 in 3 ns, 2 callers", "algorithm=fixed-window rate=2/3ns", limiter.Config{Algorithm: limiter.FixedWindow, Count: 2, Period: 3},
		rate{2, twice(2, 3), "at most twice the count in a period", 4, true}, 7)
}

func slidingScene() scene[limiter.State] {
	return countScene("sliding counter of 2 in 3 ns, 2 callers", "algorithm=sliding-counter rate=2/3ns", limiter.Config{Algorithm: limiter.SlidingCounter, Count: 2, Period: 3},
		rate{2, twice(2, 3), "at most twice the count in a period", 4, true}, 6)
}

func logScene() scene[limiter.State] {
	return countScene("sliding log of 2 in 3 ns, 2 callers", "algorithm=sliding-log rate=2/3ns", limiter.Config{Algorithm: limiter.SlidingLog, Count: 2, Period: 3},
		rate{2, func(length int64) int64 { return 2 * (length/3 + 1) }, "at most the count in every period", 7, true}, 6)
}

func leakyScene() scene[limiter.State] {
	return countScene("leaky bucket of 2 in 4 ns, 2 callers", "algorithm=leaky-bucket rate=2/4ns", limiter.Config{Algorithm: limiter.LeakyBucket, Count: 2, Period: 4},
		rate{2, func(length int64) int64 { return 2 + length/2 }, "at most the cost of the first departure and what has refilled since", 7, false}, 6)
}

// twice the count in each stretch of the period's length.
func twice(count, period int64) func(int64) int64 {
	return func(length int64) int64 { return count * (length/period + 2) }
}

// stretches looks for one with more grants than it may have, among those that
// end with the last grant.
func (r rate) stretches(recent []explore.Grant) error {
	sum := int64(0)
	for i := len(recent) - 1; i >= 0; i-- {
		sum += int64(recent[i].Cost)
		if length := int64(recent[len(recent)-1].At - recent[i].At); sum > r.most(length) && (i == 0 || recent[i-1].At < recent[i].At) {
			return fmt.Errorf("%d were granted within %dns, which may hold %d", sum, length, r.most(length))
		}
	}
	return nil
}
