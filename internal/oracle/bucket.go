package oracle

import "github.com/sluice-go/sluice/core/limiter"

// tokenBucket is a bucket of burst permits, kept as the mark TAT at which it
// will be full: each permit taken moves it on by the interval. refunded is the
// sum of all refunds, see policy/REFERENCE.md#token-bucket.
type tokenBucket struct {
	cfg      limiter.Config
	tat      int64
	refunded int64
}

// interval returns the time between permits, rounded up to a nanosecond.
func interval(cfg limiter.Config) int64 {
	count := int64(cfg.Count)
	return (int64(cfg.Period) + count - 1) / count
}

func (b *tokenBucket) clone() meter {
	c := *b
	return &c
}

func (b *tokenBucket) earliest(cost, now int64) int64 {
	t := interval(b.cfg)
	return max(now, max(b.tat, now)+cost*t-capacity(b.cfg)*t)
}

func (b *tokenBucket) take(cost, now int64) permit {
	b.tat = max(b.tat, now) + cost*interval(b.cfg)
	return permit{tat: b.tat, refunded: b.refunded}
}

func (b *tokenBucket) refund(p permit, now int64) {
	t := interval(b.cfg)
	if now == p.at {
		undo := b.tat == p.tat && b.refunded == p.refunded
		b.tat -= p.cost * t
		if !undo {
			b.refunded += p.cost * t
		}
		return
	}
	back := min(p.cost*t, max(0, p.tat-(b.refunded-p.refunded)-now))
	b.tat -= back
	b.refunded += back
}

func (b *tokenBucket) free(now int64) int64 {
	t := interval(b.cfg)
	return (capacity(b.cfg)*t - max(0, b.tat-now)) / t
}

// configure carries over the free whole permits unless the interval and the
// burst are what they were. Permits that were granted earlier are then refundable at
// this same mark only.
func (b *tokenBucket) configure(cfg limiter.Config, now int64) {
	old := b.cfg
	carried := min(b.free(now), capacity(cfg))
	b.cfg = cfg
	if interval(old) == interval(cfg) && capacity(old) == capacity(cfg) {
		return
	}
	b.refunded += max(0, b.tat-now)
	b.tat = now + (capacity(cfg)-carried)*interval(cfg)
}
