package lint

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/policy/document"
)

// none is a count without a bound.
const none = math.MaxUint64

// admits returns what one cell of an enforced step admits in a window, nil for a
// step without such a bound.
func (a *analysis) admits(i int) func(time.Duration) uint64 {
	s, docs := &a.steps[i], a.docs[i]
	if s.Shadow || docs.Admits == nil {
		return nil
	}
	return func(window time.Duration) uint64 { return docs.Admits(s.Config, window) }
}

// Started returns the most requests that a policy starts in any window of the
// length, both ends included: of all callers, or of those who have the same
// values of the attributes. It returns false where there is no bound.
func Started(p *document.Policy, per []string, window time.Duration) (most uint64, ok bool) {
	a := newAnalysis(p)
	n := a.started(scope(per), window)
	return n, n != none
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

// scope returns attributes as a set, so that sets of one partition are equal.
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
		if s := &a.steps[i]; a.admits(i) != nil && within(s.Per, scope) {
			most = min(most, a.startedBehind(i, scope, window))
		}
	}
	return most
}

// startedBehind bounds what starts by what passes one limit.
func (a *analysis) startedBehind(i int, scope []string, window time.Duration) uint64 {
	admits := a.admits(i)
	// What starts in the window passed in it or waited when it began.
	most := sum(admits(window), a.places(i, scope))
	if wait := a.within(a.waits(i), i); wait != forever {
		most = min(most, admits(mechanism.Plus(window, wait)))
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
	return sum(most, multiply(admits(mechanism.Plus(window, ago)), repeats-1))
}

// places returns how many calls that passed the step can wait below it.
func (a *analysis) places(i int, scope []string) uint64 {
	n := uint64(0)
	for j := i + 1; j < len(a.steps); j++ {
		queue, _ := a.queue(j)
		places := uint64(queue)
		if places > 0 && !within(a.steps[j].Per, scope) {
			return none
		}
		n += places
	}
	return n
}
