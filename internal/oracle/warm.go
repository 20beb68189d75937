package oracle

import (
	"math/big"
	"sort"

	"github.com/sluice-go/sluice/core/limiter"
)

// warmBucket is a token bucket on a clock of its own, which is slow while the bucket is
// cold, see policy/REFERENCE.md#warm-up.
type warmBucket struct {
	tokenBucket       // on its clock
	at          int64 // up to here the clock is counted
	clock       int64
	use         int64 // for how long the bucket was in use since it was cold
	begun       bool
}

func (b *warmBucket) clone() meter {
	c := *b
	return &c
}

// progress returns what the clock advances in a time of use from cold on.
func (b *warmBucket) progress(use int64) int64 {
	w := min(use, int64(b.cfg.WarmUp.Over))
	over, factor := big.NewInt(int64(b.cfg.WarmUp.Over)), big.NewInt(int64(b.cfg.WarmUp.Factor))
	twice := new(big.Int).Lsh(over, 1)
	sum := new(big.Int).Mul(new(big.Int).Sub(factor, big.NewInt(1)), big.NewInt(w))
	sum.Add(sum, twice).Mul(sum, big.NewInt(w))
	return sum.Div(sum, twice.Mul(twice, factor)).Int64() + use - w
}

// after returns the clock after a time in which the bucket is not full.
func (b *warmBucket) after(time int64) int64 {
	return b.clock + b.progress(b.use+time) - b.progress(b.use)
}

// until returns the least time after which the clock has come to a reading.
func (b *warmBucket) until(reading int64) int64 {
	most := max(0, reading-b.clock+1) * int64(b.cfg.WarmUp.Factor)
	return int64(sort.Search(int(most), func(time int) bool { return b.after(int64(time)) >= reading }))
}

// count counts up to now. A bucket is full from the first mark on at which its clock has
// come to TAT.
func (b *warmBucket) count(now int64) {
	if !b.begun {
		b.begun, b.at, b.clock, b.tat = true, now, now, now
	}
	passed := now - b.at
	b.at = now
	if b.after(passed) < b.tat {
		b.clock, b.use = b.after(passed), b.use+passed
		return
	}
	used := b.until(b.tat)
	b.clock, b.use = b.after(used), b.use+used
	b.use = max(0, min(b.use, int64(b.cfg.WarmUp.Over))-(passed-used))
	b.tat = b.clock
}

func (b *warmBucket) earliest(cost, now int64) int64 {
	c := *b
	c.count(now)
	return now + c.until(c.tokenBucket.earliest(cost, c.clock))
}

func (b *warmBucket) take(cost, now int64) permit {
	b.count(now)
	return b.tokenBucket.take(cost, b.clock)
}

// refund refunds as the bucket does, on its clock. A permit of another mark is never one of
// this reading.
func (b *warmBucket) refund(p permit, now int64) {
	c := *b
	c.count(now)
	if p.at == now {
		p.at = c.clock
	} else {
		p.at = c.clock - 1
	}
	tat := c.tat
	if c.tokenBucket.refund(p, c.clock); c.tat != tat {
		*b = c
	}
}

func (b *warmBucket) chargeable(now int64) int64 {
	c := *b
	c.count(now)
	return c.tokenBucket.chargeable(c.clock)
}

func (b *warmBucket) charge(permits, now int64) {
	b.count(now)
	b.tokenBucket.charge(permits, b.clock)
}

func (b *warmBucket) free(now int64) int64 {
	c := *b
	c.count(now)
	return c.tokenBucket.free(c.clock)
}

// configure keeps the warmth, at most as much as a bucket has that is warm now.
func (b *warmBucket) configure(cfg limiter.Config, now int64) {
	if cfg.WarmUp == b.cfg.WarmUp && interval(cfg) == interval(b.cfg) && capacity(cfg) == capacity(b.cfg) {
		b.cfg = cfg
		return
	}
	b.count(now)
	b.use = min(b.use, int64(b.cfg.WarmUp.Over))
	b.tokenBucket.configure(cfg, b.clock)
	b.use = min(b.use, int64(cfg.WarmUp.Over))
}

// move sets the clock. What the permits remember is the sum of the words.
func (b *warmBucket) move(clock int64) {
	by := clock - b.clock
	b.clock += by
	b.tat += by
	b.refunded -= by
}

// warmOrNot replaces the meter of a limit that gets a warm-up or loses it. One that gets
// it begins cold.
func (l *limitCell) warmOrNot(now int64) {
	switch b := l.meter.(type) {
	case *tokenBucket:
		if l.cfg.Algorithm == limiter.TokenBucket && l.cfg.WarmUp.Over > 0 {
			warm := &warmBucket{tokenBucket: *b, at: now, clock: now, begun: true}
			warm.cfg.WarmUp = l.cfg.WarmUp
			l.meter = warm
		}
	case *warmBucket:
		if l.cfg.Algorithm == limiter.TokenBucket && l.cfg.WarmUp.Over == 0 {
			b.count(now)
			b.move(now)
			l.meter = &b.tokenBucket
		}
	}
}

// unused says that the bucket is full and cold.
func (b *warmBucket) unused(now int64) bool {
	c := *b
	c.count(now)
	return c.tat <= c.clock && c.use == 0
}
