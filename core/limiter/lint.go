package limiter

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/mechanism"
)

// lint finds consequences of a limit that a reader may not expect.
func lint(config mechanism.Config, p mechanism.Around) {
	c := config.(Config)
	if p.Enforced() {
		c.lintQueue(p)
		if c.Charge == ChargeEnd && !p.Bounded() {
			p.Warn("charge-unbounded", mechanism.Fill("%s takes nothing before the end of a call: calls that start together all pass while the cost is free", p.Name()), "- bulkhead: 10")
		}
		c.lintBlock(p)
		c.lintWarmUp(p)
	}
	if !c.bucket() {
		return
	}
	if c.Burst == 0 && c.Admits(0) > 1 && !c.Settles() { // a leaky bucket gives one at once
		p.Note("burst-default", mechanism.Fill("%s without a burst lets %d pass in the worst %s: the burst is %d", c.rate(), c.Admits(c.Period), unit(c.Period), c.AtOnce()),
			mechanism.Fill("limit: {burst: %d}", max(1, c.Count/10)))
	}
	if cost := c.roundingCost(); cost > 1_000 {
		p.Warn("interval-rounded", mechanism.Fill("%s becomes one permit each %s, a whole number of nanoseconds, which lowers the rate by %s", c.rate(), c.Interval(), percent(cost)),
			mechanism.Fill("limit: {rate: %s}", mechanism.RateText(uint32(c.Period/c.Interval()), c.Period)))
	}
}

// bucket reports whether permits come an interval apart.
func (c *Config) bucket() bool {
	switch c.Algorithm {
	case TokenBucket, LeakyBucket:
		return true
	default:
		return false
	}
}

// rate writes the rate as a document does.
func (c *Config) rate() string { return mechanism.RateText(c.Count, c.Period) }

// unit names a period in a sentence: the worst minute, the worst 5m.
func unit(period time.Duration) string {
	switch period {
	case time.Second:
		return "second"
	case time.Minute:
		return "minute"
	case time.Hour:
		return "hour"
	}
	return mechanism.Span(period)
}

// Servable returns the most callers that can wait at a cell at once, whatever its queue: those
// whose turns come within its wait. It returns false where there is no such bound.
func (c *Config) Servable() (most uint64, ok bool) {
	if c.Wait == 0 || c.Order != Oldest || !c.bucket() {
		return 0, false
	}
	// The turns are in (now, now + wait], an interval apart.
	return uint64((c.Wait-1)/c.Interval()) + 1, true
}

// lintQueue finds a queue with places that no call can use. It ignores one of the default
// length, which the document does not state.
func (c *Config) lintQueue(p mechanism.Around) {
	if c.Queue == 0 || c.Queue == DefaultQueue {
		return
	}
	if most, ok := c.Servable(); ok && uint64(c.Queue) > most {
		p.Warn("queue-too-long", mechanism.Fill("the wait of %s has room for %d turns, one each %s: %d of the %d places of the queue are never taken", c.Wait, most, c.Interval(), uint64(c.Queue)-most, c.Queue),
			mechanism.Fill("limit: {queue: %d}", most))
	}
}

// lintBlock finds blocks that are shorter than the time between two permits, and those that
// callers have in common.
func (c *Config) lintBlock(p mechanism.Around) {
	if c.Block.For.Kind == backoff.None {
		return
	}
	first, longest := c.Block.For.Longest()
	if c.bucket() && longest != mechanism.Forever && longest < c.Interval() {
		long := max(time.Minute, mechanism.Times(c.Interval(), 10))
		p.Warn("block-brief", mechanism.Fill("a block of %s lasts at most %s, less than the %s between two permits: it prolongs a refusal by no more than that", p.Name(), longest, c.Interval()),
			mechanism.Fill("limit: {block: {after: %d, for: %s}}", c.Block.After, long))
	}
	if !p.Keyed() {
		long := "a time without bound"
		if first != mechanism.Forever {
			long = mechanism.Span(first)
		}
		p.Note("block-of-all", mechanism.Fill("%s has one cell: a caller that exceeds %s blocks all callers, at first for %s", p.Name(), c.rate(), long), "limit: {per: key}")
	}
}

// lintWarmUp finds a warm-up in whose time a cold bucket gives, with its burst, what its rate
// is in that time. At full use the clock of a cold bucket advances by (F + 1) / 2F of the
// warm-up, F its factor.
func (c *Config) lintWarmUp(p mechanism.Around) {
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
	if high, low := bits.Mul64(4*factor*(uint64(c.AtOnce())+1), every); high == 0 && low/(factor-1) < uint64(MaxWarmUp) {
		over := time.Duration(low/(factor-1)).Truncate(time.Second) + time.Second
		mended = mechanism.Fill("limit: {warm_up: {over: %s, factor: %d}}", over, u.Factor)
	}
	p.Warn("warm-up-undone", mechanism.Fill("after an idle time %s lets %d pass in the %s of its warm-up, and its rate is %d in that time", p.Name(), cold, u.Over, warm), mended)
}

// roundingCost returns, in millionths of the rate and rounded up, how much the rounded
// interval lowers the rate.
func (c *Config) roundingCost() uint64 {
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

// percent writes millionths as a percentage with two decimals, as in 16.67 %.
func percent(millionths uint64) string {
	hundredths := (millionths + 50) / 100
	return strconv.FormatFloat(float64(hundredths)/100, 'f', 2, 64) + " %"
}

// waits says how a call waits in a proxy whose workers share cells.
func waits(config mechanism.Config) string {
	if c := config.(Config); c.bucket() {
		return "a wait takes its permits in advance: those behind a waiter that leaves do not move up"
	}
	return "a wait asks again when a permit may be free"
}

// adjust describes the burst, whose default depends on the rate, and which some algorithms do
// not have.
func adjust(config mechanism.Config, setting string, v *mechanism.Value) {
	if setting != "burst" {
		return
	}
	c := config.(Config)
	n := c.AtOnce()
	v.Field, v.Text = &n, mechanism.Number(n)
	switch c.Algorithm {
	case TokenBucket:
	default:
		v.Text, v.Effect = "none", mechanism.Other
	}
}

// covers reports whether the inner of two limits, at which a call takes the same, admits every
// call that the outer one admits.
func covers(outer, inner mechanism.Config) (mechanism.Covered, bool) {
	first, limit := outer.(Config), inner.(Config)
	if first.Cost != limit.Cost || first.Settles() || !first.conforms(&limit) {
		return mechanism.Covered{}, false
	}
	passes := first.Admits(limit.Period)
	return mechanism.Covered{
		Period: limit.Period, Passes: passes, Allows: limit.Admits(limit.Period),
		Mended: mechanism.Fill("limit: {rate: %s}", mechanism.RateText(max(1, uint32(min(passes/4, MaxCount))), limit.Period)),
	}, true
}

// conforms reports whether a limit admits every call of cost 1 that the first one admits.
func (c *Config) conforms(limit *Config) bool {
	switch limit.Algorithm {
	case TokenBucket:
		return c.peak() <= uint64(limit.AtOnce()) && c.slower(limit.Interval())
	case LeakyBucket:
		return c.peak() == 1 && c.slower(limit.Interval()) && c.bucket()
	case SlidingCounter:
		// Two windows of the counter may lie close together.
		return c.Admits(mechanism.Plus(limit.Period, limit.Period-1)) <= uint64(limit.Count)
	default:
		return c.Admits(limit.Period-1) <= uint64(limit.Count)
	}
}

// peak returns the p of the bound p + W / interval on what a limit admits in a window of
// length W.
func (c *Config) peak() uint64 {
	switch c.Algorithm {
	case TokenBucket:
		return uint64(c.AtOnce())
	case LeakyBucket:
		return 1
	case FixedWindow:
		return 2 * uint64(c.Count)
	case SlidingCounter, SlidingLog:
	}
	return uint64(c.Count)
}

// slower reports whether a limit admits on average no more than one call for each interval.
func (c *Config) slower(interval time.Duration) bool {
	if c.bucket() {
		return c.Interval() >= interval
	}
	high, low := bits.Mul64(uint64(c.Count), uint64(interval))
	return high == 0 && low <= uint64(c.Period)
}
