package lint

import (
	"fmt"
	"math/bits"

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

// checkLeases finds leases that may expire while an attempt still runs.
func checkLeases(a *analysis) {
	for i := range a.steps {
		c, ok := a.steps[i].Config.(bulkhead.Config)
		if !ok || a.steps[i].Shadow || c.Lease == 0 {
			continue
		}
		held := a.within(a.between(i+1, len(a.steps), forever), i)
		if i < max(a.retry, a.hedge) {
			held = a.within(forever, i)
		}
		if c.Lease < held {
			a.find(Note, ShortLease, i, fmt.Sprintf("the lease of %s runs out on an attempt that lasts longer without renewing it: then more than %d run at once", Duration(c.Lease), c.Concurrent), "")
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
