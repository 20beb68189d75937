package document

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/policy/tree"
)

// defaultQueue is how many may wait where a wait is set and no queue.
const defaultQueue = 100

// timeout reads a duration, or {after, soft}.
func (p place) timeout(s *step) timeout.Config {
	var c timeout.Config
	if p.node.Kind == tree.Text {
		c.After, _ = p.duration(1)
		return c
	}
	if p.node.Kind == tree.Number {
		p.mistyped(durationText)
		return c
	}
	f, ok := p.fields("a duration as in 10s, or a map of after and soft", common("after", "soft")...)
	if !ok {
		return c
	}
	f.common(s, false, "on a timeout, which keeps no state")
	whole := false
	if v, ok := f.need("after", durationText); ok {
		c.After, whole = v.duration(1)
	}
	if v, ok := f.get("soft"); ok {
		soft, ok := v.duration(1)
		if ok && whole && soft >= c.After {
			v.fail(describe(v.node), "a duration less than after", "")
		}
		c.Soft = soft
	}
	return c
}

// algorithms in the order of limiter.Algorithm, and those of later versions.
var (
	algorithms      = []string{"token-bucket", "fixed-window", "sliding-counter"}
	laterAlgorithms = []string{"sliding-log", "leaky-bucket"}
)

// limit reads a rate, or a map of settings.
func (p place) limit(s *step) limiter.Config {
	var c limiter.Config
	if p.node.Kind == tree.Text {
		if c.Count, c.Period, _ = p.rate(1); c.Count > 0 {
			p.fills(c)
		}
		return c
	}
	if p.node.Kind == tree.Number {
		p.mistyped(rateText)
		return c
	}
	f, ok := p.fields("a rate as in 50/1m, or a map of settings", common("algorithm", "rate", "burst", "wait", "queue", "order")...)
	if !ok {
		return c
	}
	f.common(s, true, "")
	rate, rated := f.need("rate", rateText)
	if rated {
		c.Count, c.Period, rated = rate.rate(1)
	}
	if v, ok := f.get("algorithm"); ok {
		c.Algorithm = v.algorithm()
	}
	if c.Algorithm != limiter.TokenBucket {
		f.refuse("beside "+algorithms[c.Algorithm], "beside token-bucket alone", "burst")
	} else if v, ok := f.get("burst"); ok {
		c.Burst, ok = v.integer(1, limiter.MaxCount)
		rate, rated = v, rated && ok
	}
	if rated {
		rate.fills(c)
	}
	f.limitQueue(&c)
	return c
}

// fills reports a bucket that takes too long to fill, or a window that is too
// long, at the place of what makes it so.
func (p place) fills(c limiter.Config) {
	permits := uint64(1)
	interval := uint64(c.Period)
	if c.Algorithm == limiter.TokenBucket {
		permits = uint64(cmp.Or(c.Burst, c.Count))
		interval = (interval-1)/uint64(c.Count) + 1
	}
	if high, low := bits.Mul64(permits, interval); high > 0 || low > uint64(tokenbucket.MaxFill) {
		p.fail(describe(p.node), "a bucket that fills, or a window that lasts, at most 53375d23h (2^62 ns)", "")
	}
}

// algorithm reads how a limiter counts.
func (p place) algorithm() limiter.Algorithm {
	for _, name := range laterAlgorithms {
		if p.node.Kind == tree.Text && p.node.Text == name {
			p.fail("the algorithm "+quote(name)+", which this version does not have", orList(algorithms), "")
			return limiter.TokenBucket
		}
	}
	return limiter.Algorithm(max(p.word(algorithms...), 0))
}

// limitQueue reads wait, queue and order of a limiter: the latter two need a
// wait, for nobody waits without.
func (f *fields) limitQueue(c *limiter.Config) {
	v, waits := f.get("wait")
	if waits {
		c.Wait, waits = v.duration(0)
		if !waits {
			return
		}
	}
	if c.Wait == 0 {
		if slices.Contains(f.meant, "wait") {
			return
		}
		found := "without wait"
		if waits {
			found = "beside a wait of nothing"
		}
		f.refuse(found, "beside a wait of more than 0", "queue", "order")
		return
	}
	c.Queue = defaultQueue
	if v, ok := f.get("queue"); ok {
		c.Queue, _ = v.integer(1, limiter.MaxQueue)
	}
	c.Order = f.order()
}

// order reads in which order waiters are served.
func (f *fields) order() limiter.Order {
	if v, ok := f.get("order"); ok {
		return limiter.Order(max(v.word("oldest", "newest"), 0))
	}
	return limiter.Oldest
}

// bulkhead reads a number of places, or a map of settings.
func (p place) bulkhead(s *step) bulkhead.Config {
	var c bulkhead.Config
	if p.node.Kind == tree.Number {
		c.Concurrent, _ = p.integer(1, bulkhead.MaxConcurrent)
		return c
	}
	f, ok := p.fields("a number of places as in 5, or a map of settings", common("concurrent", "queue", "wait", "order", "lease")...)
	if !ok {
		return c
	}
	f.common(s, true, "")
	if v, ok := f.need("concurrent", "how many may run at once"); ok {
		c.Concurrent, _ = v.integer(1, bulkhead.MaxConcurrent)
	}
	if v, ok := f.get("lease"); ok {
		c.Lease, _ = v.duration(1)
	}
	f.bulkheadQueue(&c)
	return c
}

// bulkheadQueue reads queue, wait and order of a bulkhead: a queue alone lets
// callers wait as long as they do themselves, a wait needs a queue.
func (f *fields) bulkheadQueue(c *bulkhead.Config) {
	v, waits := f.get("wait")
	if waits {
		c.Wait, waits = v.duration(0)
		if !waits {
			return
		}
	}
	if c.Wait > 0 {
		c.Queue = defaultQueue
	}
	if v, ok := f.get("queue"); ok {
		if c.Queue, ok = v.integer(0, limiter.MaxQueue); !ok {
			return
		}
		switch {
		case waits && c.Wait == 0 && c.Queue > 0:
			f.refuse("beside a wait of nothing", "beside a wait of more than 0, or without wait", "queue")
			return
		case c.Wait > 0 && c.Queue == 0:
			f.refuse("beside a queue of 0", "beside a queue of 1 or more", "wait")
		}
	}
	if c.Queue == 0 {
		f.refuse("without a queue", "beside a queue of 1 or more, or a wait", "order")
		return
	}
	c.Order = f.order()
}
