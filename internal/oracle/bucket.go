package oracle

import (
	"math/big"

	"github.com/sluice-go/sluice/core/limiter"
)

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

// refund gives back what has not refilled. While more is taken than the burst, what
// others have taken since comes first.
func (b *tokenBucket) refund(p permit, now int64) {
	t := interval(b.cfg)
	others := b.tat + b.refunded - p.tat - p.refunded
	if now == p.at && others == 0 {
		b.tat -= p.cost * t
		return
	}
	back := p.cost * t
	if now != p.at {
		back = min(back, p.tat-(b.refunded-p.refunded)-now)
	}
	if b.tat-now > capacity(b.cfg)*t {
		back = min(back, p.cost*t-others)
	}
	back = max(0, back)
	b.tat -= back
	b.refunded += back
}

func (b *tokenBucket) chargeable(now int64) int64 {
	t := interval(b.cfg)
	return max(0, 2*capacity(b.cfg)*t-max(0, b.tat-now)) / t
}

func (b *tokenBucket) charge(permits, now int64) { b.tat = max(b.tat, now) + permits*interval(b.cfg) }

func (b *tokenBucket) free(now int64) int64 {
	t := interval(b.cfg)
	return max(0, capacity(b.cfg)*t-max(0, b.tat-now)) / t
}

// configure carries over the free permits with their fraction, or the debt, in intervals,
// unless the interval and the burst are what they were. What is missing is rounded up to a
// nanosecond. Permits that were granted earlier are then refundable at this same mark only.
func (b *tokenBucket) configure(cfg limiter.Config, now int64) {
	old := b.cfg
	b.cfg = cfg
	if interval(old) == interval(cfg) && capacity(old) == capacity(cfg) {
		return
	}
	missing := max(0, b.tat-now)
	b.refunded += missing
	// missing / old interval - old burst + new burst, in new intervals.
	t := new(big.Int).Mul(big.NewInt(missing), big.NewInt(interval(cfg)))
	more := new(big.Int).Mul(big.NewInt(capacity(cfg)-capacity(old)), big.NewInt(interval(cfg)))
	t.Add(t, more.Mul(more, big.NewInt(interval(old))))
	t.Add(t, big.NewInt(interval(old)-1)).Div(t, big.NewInt(interval(old)))
	b.tat = now + max(0, t.Int64())
}

func (b *tokenBucket) unused(now int64) bool { return b.tat <= now }
