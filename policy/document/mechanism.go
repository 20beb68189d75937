package document

import (
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/policy/tree"
)

// defaultQueue is how many may wait where a wait is set and no queue.
const defaultQueue = 100

// timeout reads a duration, or {after, soft}.
func (r *reader) timeout(f *fields, n *tree.Node, c *timeout.Config) {
	if n.Kind == tree.Text {
		r.asDuration(n, 1, &c.After)
		return
	}
	if n.Kind == tree.Number {
		r.mistyped(n, "$d")
		return
	}
	if !f.read(r, n, "a duration as in 10s, or a map of after and soft", "after soft"+common) {
		return
	}
	f.need("after", "$d")
	whole := f.duration("after", 1, &c.After)
	if f.duration("soft", 1, &c.Soft) && whole && c.Soft >= c.After {
		r.mistyped(f.get("soft"), "a duration less than after")
	}
}

// algorithms in the order of limiter.Algorithm.
const algorithms = "token-bucket fixed-window sliding-counter sliding-log leaky-bucket"

// maxLogged is the greatest count of a sliding log, which keeps a mark for each
// admission.
const maxLogged = 10_000

// limit reads a rate, or a map of settings.
func (r *reader) limit(f *fields, n *tree.Node, c *limiter.Config) {
	if n.Kind == tree.Text {
		if r.asRate(n, 1, &c.Count, &c.Period) {
			r.fills(n, c)
		}
		return
	}
	if n.Kind == tree.Number {
		r.mistyped(n, "$r")
		return
	}
	if !f.read(r, n, "a rate as in 50/1m, or a map of settings", "algorithm rate burst wait queue order"+common) {
		return
	}
	rate := f.need("rate", "$r")
	rated := rate != nil && r.asRate(rate, 1, &c.Count, &c.Period)
	if n := f.get("algorithm"); n != nil {
		c.Algorithm = limiter.Algorithm(max(r.asWord(n, algorithms), 0))
	}
	if c.Algorithm == limiter.SlidingLog && rated && c.Count > maxLogged {
		p := r.fail(rate, "a count of $x", "a count of at most $y beside sliding-log, which keeps a mark for each admission")
		p.x, p.y = int(c.Count), maxLogged
	}
	if c.Algorithm != limiter.TokenBucket {
		f.refuse("burst", "$t beside $w", "$t beside token-bucket alone", word(algorithms, int(c.Algorithm)))
	} else if burst := f.get("burst"); burst != nil {
		rated = r.asInteger(burst, 1, limiter.MaxCount, &c.Burst) && rated
		rate = burst
	}
	if rated {
		r.fills(rate, c)
	}
	f.limitQueue(c)
}

// fills reports a bucket that takes too long to fill, or a window that is too
// long, at the place of what makes it so.
func (r *reader) fills(n *tree.Node, c *limiter.Config) {
	permits, interval := uint64(1), uint64(c.Period)
	if c.Algorithm == limiter.TokenBucket || c.Algorithm == limiter.LeakyBucket {
		permits = uint64(c.Burst)
		if permits == 0 {
			permits = uint64(c.Count)
		}
		interval = (interval-1)/uint64(c.Count) + 1
	}
	if interval > uint64(tokenbucket.MaxFill)/permits {
		r.mistyped(n, "a bucket that fills, or a window that lasts, at most 53375d23h (2^62 ns)")
	}
}

// limitQueue reads wait, queue and order of a limiter: the latter two need a
// wait, for nobody waits without.
func (f *fields) limitQueue(c *limiter.Config) {
	wait := f.get("wait")
	if wait != nil && !f.asDuration(wait, 0, &c.Wait) {
		return
	}
	if c.Wait == 0 {
		if f.meant[index(f.known, "wait")] {
			return
		}
		found := "$t without wait"
		if wait != nil {
			found = "$t beside a wait of nothing"
		}
		f.refuse("queue", found, "$t beside a wait of more than 0", "")
		f.refuse("order", found, "$t beside a wait of more than 0", "")
		return
	}
	c.Queue = defaultQueue
	f.integer("queue", 1, limiter.MaxQueue, &c.Queue)
	f.order(&c.Order)
}

// order reads in which order waiters are served.
func (f *fields) order(into *limiter.Order) {
	if n := f.get("order"); n != nil {
		*into = limiter.Order(max(f.asWord(n, "oldest newest"), 0))
	}
}

// bulkhead reads a number of places, or a map of settings.
func (r *reader) bulkhead(f *fields, n *tree.Node, c *bulkhead.Config) {
	if n.Kind == tree.Number {
		r.asInteger(n, 1, bulkhead.MaxConcurrent, &c.Concurrent)
		return
	}
	if !f.read(r, n, "a number of places as in 5, or a map of settings", "concurrent queue wait order lease"+common) {
		return
	}
	f.need("concurrent", "how many may run at once")
	f.integer("concurrent", 1, bulkhead.MaxConcurrent, &c.Concurrent)
	f.duration("lease", 1, &c.Lease)
	f.bulkheadQueue(c)
}

// bulkheadQueue reads queue, wait and order of a bulkhead: a queue alone lets
// callers wait as long as they do themselves, a wait needs a queue.
func (f *fields) bulkheadQueue(c *bulkhead.Config) {
	wait, queue := f.get("wait"), f.get("queue")
	if wait != nil && !f.asDuration(wait, 0, &c.Wait) {
		return
	}
	if c.Wait > 0 {
		c.Queue = defaultQueue
	}
	if queue != nil {
		if !f.asInteger(queue, 0, limiter.MaxQueue, &c.Queue) {
			return
		}
		if wait != nil && c.Wait == 0 && c.Queue > 0 {
			f.refuse("queue", "$t beside a wait of nothing", "$t beside a wait of more than 0, or without wait", "")
			return
		}
		if c.Wait > 0 && c.Queue == 0 {
			f.refuse("wait", "$t beside a queue of 0", "$t beside a queue of 1 or more", "")
		}
	}
	if c.Queue == 0 {
		f.refuse("order", "$t without a queue", "$t beside a queue of 1 or more, or a wait", "")
		return
	}
	f.order(&c.Order)
}
