package limiter

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/wire"
	"github.com/sluice-go/sluice/reducer"
)

// WarmUp lets a token bucket begin at a part of its rate after it was idle. The zero
// value is the whole rate at all times. Source: policy/REFERENCE.md#warm-up.
type WarmUp struct {
	// Over which time in use the rate rises to the whole, and in which idle time it
	// falls back, 0 to MaxWarmUp. 0 is no warm-up.
	Over time.Duration
	// Factor divides the rate of a cold bucket, 2 to MaxFactor; 0 without Over.
	// Default 3.
	Factor uint32
}

// Limits of a warm-up. They keep every product on two words.
const (
	MaxWarmUp = 720 * time.Hour
	MaxFactor = 1000
)

// check returns an error that names the field which is wrong.
func (u *WarmUp) check(a Algorithm) error {
	switch {
	case u.Over == 0 && u.Factor != 0:
		return reducer.BadCount("warm_up.factor", uint64(u.Factor), "0 without a time of the warm-up")
	case u.Over == 0:
		return nil
	case a != TokenBucket:
		return reducer.BadDuration("warm_up", u.Over, "token-bucket alone warms up")
	case u.Over < 0 || u.Over > MaxWarmUp:
		return reducer.BadDuration("warm_up.over", u.Over, "at most 720h")
	case u.Factor < 2 || u.Factor > MaxFactor:
		return reducer.BadCount("warm_up.factor", uint64(u.Factor), "2 to 1000")
	}
	return nil
}

// progress returns what the clock of a bucket, which is slow while the bucket is cold,
// advances in the first w of the warm-up: the integral of its speed, which rises evenly
// from 1/Factor to 1. w is at most Over.
func (u *WarmUp) progress(w time.Duration) time.Duration {
	over, factor := uint64(u.Over), uint64(u.Factor)
	hi, lo := bits.Mul64(uint64(w), 2*over+(factor-1)*uint64(w))
	part, _ := bits.Div64(hi, lo, 2*over*factor)
	return time.Duration(part)
}

// lag returns how far the clock of a warm bucket is behind.
func (u *WarmUp) lag() time.Duration { return u.Over - u.progress(u.Over) }

// read returns what the clock of a bucket that was cold at origin reads at a mark. At
// origin it reads origin. Without a warm-up it reads the mark, as for when and warm.
func (u *WarmUp) read(origin, at clock.Mark) clock.Mark {
	if u.Over == 0 {
		return at
	}
	w := at.Sub(origin)
	if w >= u.Over {
		return at.Add(-u.lag())
	}
	return origin.Add(u.progress(max(0, w)))
}

// when returns the least mark from origin on at which the clock reads at least a
// reading.
func (u *WarmUp) when(origin, reading clock.Mark) clock.Mark {
	if u.Over == 0 {
		return reading
	}
	part := reading.Sub(origin)
	if part > u.progress(u.Over) {
		return reading.Add(u.lag())
	}
	low, high := time.Duration(0), u.Over
	for low < high {
		if middle := low + (high-low)/2; u.progress(middle) >= part {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return origin.Add(low)
}

// warmth returns how far the warm-up of a bucket is at a mark: it rises with the time
// while permits are taken, and falls with the time while the bucket is full.
func (u *WarmUp) warmth(c *count, at clock.Mark) time.Duration {
	origin := c.origin()
	full := min(at, u.when(origin, c.mark))
	return max(0, min(u.Over, full.Sub(origin))-at.Sub(full))
}

// origin is the mark at which the bucket was cold, had it been in use since.
func (c *count) origin() clock.Mark {
	return clock.Mark(uint64(c.previous)<<32 | uint64(c.used))
}

func (c *count) setOrigin(m clock.Mark) {
	c.used, c.previous = uint32(uint64(m)), uint32(uint64(m)>>32)
}

// warm brings the count of a bucket to a mark: of a full bucket, the warm-up falls back.
// It returns what its clock reads then. All that the bucket counts is on that clock,
// which is never faster than the time, so that no window has more permits than those of
// the bucket without warm-up.
func (u *WarmUp) warm(c *count, now clock.Mark) clock.Mark {
	reading := u.read(c.origin(), now)
	if u.Over == 0 || c.mark > reading {
		return reading
	}
	c.setOrigin(now.Add(-u.warmth(c, now)))
	// What was taken before has refilled, and the clock does not go back: no permit from
	// before has anything to return.
	c.mark = u.read(c.origin(), now)
	return c.mark
}

// rebase moves what a bucket counts as its clock is moved. A refund knows the permits by
// the sum of the two words, which stays.
func (c *count) rebase(by time.Duration) {
	if moved := c.mark.Add(by); moved != clock.Never && moved != clock.Always {
		c.span += uint64(c.mark - moved)
		c.mark = moved
	}
}

// turnWarm is turnAfter of a bucket with a warm-up: until the turn the bucket is not
// full, so that its warmth rises.
func (a *algorithm) turnWarm(c *count, ahead uint64, cost uint32, now clock.Mark) clock.Mark {
	next := *c
	reading := a.warm.warm(&next, now)
	at := a.bucket.TurnAfter(next.mark, ahead, cost, reading)
	if at <= reading {
		return now
	}
	return a.warm.when(next.origin(), at)
}

// adoptBucket continues the count of a bucket of another configuration. Its warm-up is
// as long as it was; a bucket that had none begins cold.
func (a *algorithm) adoptBucket(c *count, from *algorithm, now clock.Mark) {
	if a.warm == from.warm && a.bucket == from.bucket {
		return
	}
	reading := from.warm.warm(c, now)
	warmth := time.Duration(0)
	if from.warm.Over > 0 {
		warmth = min(a.warm.Over, from.warm.warmth(c, now))
	}
	c.rebase(now.Sub(reading))
	c.setBucket(a.bucket.Adopt(c.bucket(), &from.bucket, now))
	if c.setOrigin(0); a.warm.Over > 0 {
		c.setOrigin(now.Add(-warmth))
		c.rebase(a.warm.read(c.origin(), now).Sub(now))
	}
}

// burst returns the burst for the arithmetic of the bucket, 0 for the count of the rate.
func (c *Config) burst() uint32 {
	if c.WarmUp.Over > 0 {
		return c.AtOnce()
	}
	return c.Burst
}

// FullAt returns the mark at which the token bucket is full again if nothing else
// happens.
func (m *Machine) FullAt(s *State) clock.Mark {
	return m.algorithm.warm.when(s.count.origin(), s.count.mark)
}

var errOrigin = wire.Invalid("limiter: a warm-up that begins after the latest change")
