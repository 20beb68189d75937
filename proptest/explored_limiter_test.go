package proptest

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/fixedwindow"
	"github.com/sluice-go/sluice/core/slidingcounter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The explorations of rate limiters.

// rate is what a limiter is to keep to.
type rate struct {
	capacity uint32
	// most permits that were not taken back may have been granted in a stretch
	// from one grant to another, both included.
	most   func(length int64) int64
	stated string // what most says
	memory time.Duration
}

// countScene is a limiter at which nobody waits.
func countScene[S any](name, new string, c reducer.Cell[S], r rate, depth int) scene[S] {
	asks := func(kind reducer.Kind, cost uint32) reducer.Action { return reducer.Action{Kind: kind, Cost: cost} }
	return scene[S]{
		name: name, depth: depth,
		use: explore.Use[S]{Cell: c, New: new, Callers: 2, Memory: r.memory,
			Alphabet: []reducer.Action{asks(reducer.Acquire, 1), asks(reducer.Acquire, 2), asks(reducer.TryAcquire, r.capacity+1),
				{Kind: reducer.Cancel}, {Kind: reducer.Release}, {Kind: reducer.Commit}, {Kind: reducer.Drain}, tick}},
		marks: explore.Marks{After: []time.Duration{0, 1, 3}},
		last:  func(*S) (clock.Mark, bool) { return 0, false },
		move:  moveMark,
		rules: countRules[S](r),
	}
}

func bucketScene() scene[bucketState] {
	c := must(tokenbucket.New(tokenbucket.Config{Count: 1, Period: 3, Burst: 2}))
	s := countScene("token bucket of 1 in 3 ns with a burst of 2, 2 callers", "rate=1/3ns burst=2", reducer.Cell[bucketState](c),
		rate{2, func(length int64) int64 { return 2 + length/3 }, "at most the burst and what has refilled", 7}, 6)
	s.move = moveBucket
	return s
}

// moveBucket moves a token bucket's permit, whose ID is a mark.
func moveBucket(p reducer.Permit, by time.Duration) reducer.Permit {
	if p != (reducer.Permit{}) {
		p.ID, p.Mark = uint64(clock.Mark(p.ID).Add(by)), p.Mark.Add(by)
	}
	return p
}

func fixedScene() scene[fixedState] {
	c := must(fixedwindow.New(fixedwindow.Config{Count: 2, Period: 3}))
	s := countScene("fixed window of 2 in 3 ns, 2 callers", "rate=2/3ns", reducer.Cell[fixedState](c),
		rate{2, twice(2, 3), "at most twice the count in a period", 4}, 7)
	s.move = moveWindow
	return s
}

func slidingScene() scene[slidingState] {
	c := must(slidingcounter.New(slidingcounter.Config{Count: 2, Period: 3}))
	s := countScene("sliding counter of 2 in 3 ns, 2 callers", "rate=2/3ns", reducer.Cell[slidingState](c),
		rate{2, twice(2, 3), "at most twice the count in a period", 4}, 6)
	s.move = moveWindow
	s.last = func(s *slidingState) (clock.Mark, bool) { return s.Last, true }
	s.plain = plainSliding
	return s
}

// plainSliding leaves out where a window before was in which nobody is left.
func plainSliding(s slidingState) slidingState {
	for _, w := range [...]*slidingcounter.Window{&s.Window, &s.Before} {
		if w.Prev == 0 {
			w.PrevStart = w.Start
		}
	}
	if s.Span == 0 {
		s.First = s.Last
	}
	return s
}

// moveWindow moves a window's permit, whose generation is the window's start.
func moveWindow(p reducer.Permit, by time.Duration) reducer.Permit {
	if p != (reducer.Permit{}) {
		p.Generation, p.Mark = uint64(clock.Mark(p.Generation).Add(by)), p.Mark.Add(by)
	}
	return p
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
