package lint

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/document"
)

// none is a count without a bound.
const none = math.MaxUint64

// Admits returns the most permits that one cell of a limit grants in any window
// of the length, both of its ends included.
func Admits(c limiter.Config, window time.Duration) uint64 {
	count, period := uint64(c.Count), uint64(c.Period)
	w := uint64(max(0, window))
	switch {
	case c.Algorithm == limiter.TokenBucket:
		return uint64(burst(c)) + w/uint64(interval(c))
	case c.Algorithm == limiter.LeakyBucket:
		// The last departure may be of any cost.
		return count + w/uint64(interval(c))
	case c.Algorithm == limiter.SlidingLog:
		return multiply(count, w/period+1)
	case w == 0:
		return count
	case c.Algorithm == limiter.FixedWindow:
		// One window's permits at its very end, then those of each that begins.
		return multiply(count, (w-1)/period+2)
	}
	high, low := bits.Mul64(count, w+period-1)
	if high >= period {
		return none
	}
	most, _ := bits.Div64(high, low, period)
	return max(count, most)
}

// Started returns the most requests that a policy starts in any window of the
// length, both ends included: of all callers, or of those who have the same
// values of the attributes. It returns false where there is no bound.
func Started(p *document.Policy, per []string, window time.Duration) (most uint64, ok bool) {
	a := newAnalysis(p)
	n := a.started(scope(per), window)
	return n, n != none
}

// interval is the time between two permits of a bucket, a whole number of
// nanoseconds.
func interval(c limiter.Config) time.Duration {
	return (c.Period-1)/time.Duration(max(1, c.Count)) + 1
}

// burst is the most permits of a token bucket at one instant.
func burst(c limiter.Config) uint32 {
	if c.Burst == 0 {
		return c.Count
	}
	return c.Burst
}

// multiply returns a x b, at most none.
func multiply(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high > 0 {
		return none
	}
	return low
}

// sum returns a + b, at most none.
func sum(a, b uint64) uint64 {
	if a > none-b {
		return none
	}
	return a + b
}

// scope returns attributes as a set, so that those of one partition are equal.
func scope(per []string) []string {
	set := slices.Clone(per)
	slices.Sort(set)
	return slices.Compact(set)
}

// within reports whether callers with the same values of the scope have the
// same cell of a step that has cells per those attributes.
func within(per, scope []string) bool {
	for _, attribute := range per {
		if !slices.Contains(scope, attribute) {
			return false
		}
	}
	return true
}

// started is Started, none for no bound.
func (a *analysis) started(scope []string, window time.Duration) uint64 {
	most := uint64(none)
	for i := range a.steps {
		if s := &a.steps[i]; s.Kind() == pipeline.Limit && !s.Shadow && within(s.Per, scope) {
			most = min(most, a.startedBehind(i, scope, window))
		}
	}
	return most
}

// startedBehind bounds what starts by what passes one limit.
func (a *analysis) startedBehind(i int, scope []string, window time.Duration) uint64 {
	c := pipeline.ConfigOf[limiter.Config](a.steps[i])
	// What starts in the window passed in it or waited when it began.
	most := sum(Admits(c, window), a.places(i, scope))
	if wait := a.within(a.waits(i), i); wait != forever {
		most = min(most, Admits(c, plus(window, wait)))
	}
	repeats := a.repeats(i)
	if repeats == 1 {
		return most
	}
	// The other attempts of calls that passed as long ago as a call may last.
	ago := a.within(a.between(i+1, max(a.retry, a.hedge), forever), i)
	if ago == forever {
		return none
	}
	return sum(most, multiply(Admits(c, plus(window, ago)), repeats-1))
}

// places returns how many calls that passed the step can wait below it.
func (a *analysis) places(i int, scope []string) uint64 {
	n := uint64(0)
	for _, s := range a.steps[i+1:] {
		places := uint64(0)
		switch {
		case s.Shadow:
		case s.Kind() == pipeline.Limit:
			places = uint64(pipeline.ConfigOf[limiter.Config](s).Queue)
		case s.Kind() == pipeline.Bulkhead:
			places = uint64(pipeline.ConfigOf[bulkhead.Config](s).Queue)
		}
		if places > 0 && !within(s.Per, scope) {
			return none
		}
		n += places
	}
	return n
}
