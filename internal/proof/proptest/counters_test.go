package proptest

import (
	"slices"

	"github.com/sluice-go/sluice/clock"
)

// The algorithms of limiters, which step through every nanosecond.

// counter is a naive algorithm. It steps through every nanosecond.
type counter interface {
	pass()
	fits(cost int64) bool
	take(cost int64)
	// charge takes permits that were used without an acquire, also more than are
	// free.
	charge(permits int64)
	// bears reports whether a charge leaves a debt of at most the capacity.
	bears(permits int64) bool
	drain()
	capacity() int64
	copy() counter
}

// credit is a token bucket that counts nanoseconds: a permit costs an interval,
// and a nanosecond gives one, up to burst intervals.
type credit struct{ have, interval, burst int64 }

func (c *credit) pass()                { c.have = min(c.have+1, c.interval*c.burst) }
func (c *credit) fits(cost int64) bool { return c.have >= cost*c.interval }
func (c *credit) take(cost int64)      { c.have -= cost * c.interval }
func (c *credit) charge(permits int64) { c.take(permits) }
func (c *credit) bears(n int64) bool   { return c.have-n*c.interval >= -c.burst*c.interval }
func (c *credit) drain()               { c.have = min(c.have, 0) }
func (c *credit) capacity() int64      { return c.burst }
func (c *credit) copy() counter        { next := *c; return &next }

// window counts down its remaining time.
type window struct{ left, used, count, period int64 }

func (c *window) pass() {
	if c.left--; c.left <= 0 {
		c.left, c.used = 0, 0
	}
}
func (c *window) fits(cost int64) bool { return c.used+cost <= c.count }
func (c *window) take(cost int64) {
	if c.left == 0 && cost > 0 {
		c.left = c.period
	}
	c.used += cost
}
func (c *window) charge(permits int64) { c.take(permits) }
func (c *window) bears(n int64) bool   { return c.used+n <= 2*c.count }
func (c *window) drain() {
	c.take(max(0, c.count-c.used))
}
func (c *window) capacity() int64 { return c.count }
func (c *window) copy() counter   { next := *c; return &next }

// trailing keeps all uses and cuts them into windows of the period.
type trailing struct {
	now, origin, last, count, period int64
	uses                             []use
}

func (c *trailing) pass() { c.now++ }

func (c *trailing) fits(cost int64) bool {
	if len(c.uses) == 0 || (c.now-c.origin)/c.period-(c.last-c.origin)/c.period > 2 {
		return cost <= c.count
	}
	n := (c.now - c.origin) / c.period
	previous, current := int64(0), int64(0)
	for _, u := range c.uses {
		switch (int64(u.at) - c.origin) / c.period {
		case n - 1:
			previous += u.cost
		case n:
			current += u.cost
		}
	}
	return previous*(c.period-(c.now-c.origin-n*c.period))+(current+cost)*c.period <= c.count*c.period
}

func (c *trailing) take(cost int64) {
	if cost == 0 {
		return
	}
	if len(c.uses) == 0 || (c.now-c.origin)/c.period-(c.last-c.origin)/c.period > 2 {
		c.origin, c.uses = c.now, nil
	}
	c.uses = append(slices.Clone(c.uses), use{clock.Mark(c.now), cost})
	c.last = c.now
}

func (c *trailing) charge(permits int64) { c.take(permits) }
func (c *trailing) bears(n int64) bool   { return c.fits(n - c.count) }

func (c *trailing) drain() {
	for c.fits(1) {
		c.take(1)
	}
}
func (c *trailing) capacity() int64 { return c.count }
func (c *trailing) copy() counter   { next := *c; return &next }

// entries keeps all uses, each as long as it counts.
type entries struct {
	now, count, period int64
	uses               []use
}

func (c *entries) pass() {
	c.now++
	c.uses = slices.DeleteFunc(slices.Clone(c.uses), func(u use) bool { return int64(u.at)+c.period <= c.now })
}

func (c *entries) fits(cost int64) bool {
	for _, u := range c.uses {
		cost += u.cost
	}
	return cost <= c.count
}

func (c *entries) take(cost int64) {
	c.uses = append(slices.Clone(c.uses), use{clock.Mark(c.now), cost})
}

// charge lets the latest mark count as long as the charge does where there are as many
// marks as permits.
func (c *entries) charge(permits int64) {
	marks := map[clock.Mark]bool{}
	latest := clock.Always
	for _, u := range c.uses {
		if u.cost > 0 {
			marks[u.at], latest = true, max(latest, u.at)
		}
	}
	c.uses = slices.Clone(c.uses)
	for i := range c.uses {
		if len(marks) >= int(c.count) && c.uses[i].at == latest {
			c.uses[i].at = clock.Mark(c.now)
		}
	}
	c.take(permits)
}

func (c *entries) bears(n int64) bool { return c.fits(n - c.count) }

func (c *entries) drain() {
	for c.fits(1) {
		c.take(1)
	}
}
func (c *entries) capacity() int64 { return c.count }
func (c *entries) copy() counter   { next := *c; return &next }

// spaced counts down to the next departure.
type spaced struct{ left, interval, count int64 }

func (c *spaced) pass()                { c.left = max(0, c.left-1) }
func (c *spaced) fits(cost int64) bool { return c.left == 0 && cost <= c.count }
func (c *spaced) take(cost int64)      { c.left += cost * c.interval }
func (c *spaced) charge(permits int64) { c.take(permits) }
func (c *spaced) bears(n int64) bool   { return c.left+n*c.interval <= 2*c.count*c.interval }
func (c *spaced) drain()               { c.left = max(c.left, c.interval) }
func (c *spaced) capacity() int64      { return c.count }
func (c *spaced) copy() counter        { next := *c; return &next }
