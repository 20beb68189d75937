package lint

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
)

// checkLimits finds consequences of a rate that a reader may not expect.
func checkLimits(a *analysis) {
	for i := range a.steps {
		c, ok := a.steps[i].Config.(limiter.Config)
		if ok && c.Charge == limiter.ChargeEnd && !a.steps[i].Shadow && !a.bounded(i) {
			a.find(Warning, LateCharge, i, fmt.Sprintf("%s takes nothing before the end of a call: calls that start together all pass while the cost is free", a.steps[i].Name), "- bulkhead: 10")
		}
		if ok && !a.steps[i].Shadow {
			a.checkBlock(i, c)
			a.checkWarmUp(i, c)
		}
		if !ok || c.Algorithm != limiter.TokenBucket && c.Algorithm != limiter.LeakyBucket {
			continue
		}
		if c.Algorithm == limiter.TokenBucket && c.Burst == 0 && c.AtOnce() > 1 && !c.Settles() {
			a.find(Note, Burst, i, fmt.Sprintf("%s without a burst lets %d pass in the worst %s: the burst is %d", rate(c), c.Admits(c.Period), unit(c.Period), c.AtOnce()), fmt.Sprintf("limit: {burst: %d}", max(1, c.Count/10)))
		}
		if cost := roundingCost(c); cost > 1_000 {
			a.find(Warning, Rounded, i, fmt.Sprintf("%s becomes one permit each %s, a whole number of nanoseconds, which lowers the rate by %s", rate(c), Duration(c.Interval()), millionths(cost)), fmt.Sprintf("limit: {rate: %s}", mechanism.RateText(uint32(c.Period/c.Interval()), c.Period)))
		}
	}
}

// checkBlock finds blocks that are shorter than the time between two permits, and those that
// callers have in common.
func (a *analysis) checkBlock(i int, c limiter.Config) {
	if c.Block.For.Kind == backoff.None {
		return
	}
	s := &a.steps[i]
	first, longest := openTimes(c.Block.For)
	bucket := c.Algorithm == limiter.TokenBucket || c.Algorithm == limiter.LeakyBucket
	if bucket && longest != nil && time.Duration(*longest) < c.Interval() {
		long := max(time.Minute, times(c.Interval(), 10))
		a.find(Warning, BriefBlock, i, fmt.Sprintf("a block of %s lasts at most %s, less than the %s between two permits: it prolongs a refusal by no more than that", s.Name, longest, Duration(c.Interval())),
			fmt.Sprintf("limit: {block: {after: %d, for: %s}}", c.Block.After, Duration(long)))
	}
	if len(s.Per) == 0 {
		long := "a time without bound"
		if first != nil {
			long = first.String()
		}
		a.find(Note, SharedBlock, i, fmt.Sprintf("%s has one cell: a caller that exceeds %s blocks all callers, at first for %s", s.Name, rate(c), long), "limit: {per: key}")
	}
}

// checkWarmUp finds a warm-up in whose time a cold bucket gives, with its burst, what its
// rate is in that time. At full use the clock of a cold bucket advances by (F + 1) / 2F of
// the warm-up, F its factor.
func (a *analysis) checkWarmUp(i int, c limiter.Config) {
	u := c.WarmUp
	if u.Over == 0 {
		return
	}
	factor, every := uint64(u.Factor), uint64(c.Interval())
	high, low := bits.Mul64(uint64(u.Over), factor+1)
	advance, _ := bits.Div64(high, low, 2*factor)
	cold, warm := uint64(c.AtOnce())+advance/every, uint64(u.Over)/every
	if cold < warm {
		return
	}
	mended := "limit: {burst: 1}"
	// Twice the burst is kept back by a warm-up that is (F - 1) / 2F of itself longer than
	// its clock says.
	if high, low := bits.Mul64(4*factor*(uint64(c.AtOnce())+1), every); high == 0 && low/(factor-1) < uint64(limiter.MaxWarmUp) {
		over := time.Duration(low/(factor-1)).Truncate(time.Second) + time.Second
		mended = fmt.Sprintf("limit: {warm_up: {over: %s, factor: %d}}", Duration(over), u.Factor)
	}
	a.find(Warning, UndoneWarmUp, i, fmt.Sprintf("after an idle time %s lets %d pass in the %s of its warm-up, and its rate is %d in that time", a.steps[i].Name, cold, Duration(u.Over), warm), mended)
}

// roundingCost returns, in millionths of the rate and rounded up, how much the
// rounded interval lowers the rate.
func roundingCost(c limiter.Config) uint64 {
	spent := uint64(c.Interval()) * uint64(c.Count)
	high, low := bits.Mul64(spent-uint64(c.Period), 1_000_000)
	if high >= spent {
		return 1_000_000
	}
	cost, rest := bits.Div64(high, low, spent)
	if rest > 0 {
		cost++
	}
	return cost
}

// millionths writes a part as a percentage with two decimals, as in 16.67 %.
func millionths(n uint64) string {
	hundredths := (n + 50) / 100
	return fmt.Sprintf("%d.%02d %%", hundredths/100, hundredths%100)
}

// rate writes a rate as the document does.
func rate(c limiter.Config) string { return mechanism.RateText(c.Count, c.Period) }

// checkShares finds shares of times that no timeout makes known.
func checkShares(a *analysis) {
	for i := range a.steps {
		c, ok := a.steps[i].Config.(adaptive.Config)
		if !ok || a.steps[i].Shadow || !c.OverShare.Positive() || c.OverShare.Millionths() == adaptive.DefaultOverShare || a.timed(i) {
			continue
		}
		a.find(Warning, UnknownShare, i, fmt.Sprintf("over is %s of a time that no timeout makes known: where the caller has no deadline, an answer is late after %s", c.OverShare, Duration(adaptive.DefaultOver)), "adaptive: {over: 500ms}")
	}
}

// timed reports whether a timeout bounds the attempts of a step: one above it, or one below
// it that no retry or hedge repeats.
func (a *analysis) timed(i int) bool {
	for j := range a.steps {
		if j > i && (j == a.retry || j == a.hedge) {
			return false
		}
		if a.enforced(j, mechanism.Cuts) {
			return true
		}
	}
	return false
}

// checkLeases finds leases that may expire while an attempt still runs.
func checkLeases(a *analysis) {
	for i := range a.steps {
		lease, more := time.Duration(0), ""
		switch c := a.steps[i].Config.(type) {
		case bulkhead.Config:
			lease, more = c.Lease, fmt.Sprintf("more than %d", c.Concurrent)
		case adaptive.Config:
			lease, more = c.Lease, "more than the limit"
		}
		if a.steps[i].Shadow || lease == 0 {
			continue
		}
		held := a.within(a.between(i+1, len(a.steps), forever), i)
		if i < max(a.retry, a.hedge) {
			held = a.within(forever, i)
		}
		if lease < held {
			a.find(Note, ShortLease, i, fmt.Sprintf("the lease of %s runs out on an attempt that lasts longer without renewing it: then %s run at once", Duration(lease), more), "")
		}
	}
}

// checkNames finds mechanisms with several unnamed steps.
func checkNames(a *analysis) {
	var first [mechanism.Kinds]int
	for i := range a.steps {
		s := &a.steps[i]
		if i < len(a.policy.Extras) && a.policy.Extras[i].Named {
			continue
		}
		before := first[s.Kind()] - 1
		if before < 0 {
			first[s.Kind()] = i + 1
			continue
		}
		if !a.rows[i].Traits.Has(mechanism.Keyed) {
			a.find(Note, Unnamed, i, fmt.Sprintf("another timeout without a name: it is %s in the log; a name would say what it bounds", s.Name), s.Kind().String()+": {name: "+letter(s.Kind(), i)+"}")
			continue
		}
		a.find(Warning, Unnamed, i, fmt.Sprintf("another %s without a name: %s and %s are identified by their positions, and swap states when these change; name them", s.Kind(), a.steps[before].Name, s.Name), s.Kind().String()+": {name: "+letter(s.Kind(), i)+"}")
	}
}

// letter is a name for the step at an index; it is not a default name.
func letter(k mechanism.Kind, i int) string { return k.String() + "-" + string(rune('a'+i)) }

// checkShadow finds steps that enforce nothing.
func checkShadow(a *analysis) {
	for i := range a.steps {
		if a.policy.Steps[i].Shadow {
			a.find(Note, Shadow, i, fmt.Sprintf("%s enforces nothing: it is in shadow mode, and no guarantee counts on it", a.steps[i].Name), "")
		}
	}
}
