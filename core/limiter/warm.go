package limiter

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/core/wire"
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
// origin it reads origin.
func (u *WarmUp) read(origin, at clock.Mark) clock.Mark {
	w := at.Sub(origin)
	if w >= u.Over {
		return at.Add(-u.lag())
	}
	return origin.Add(u.progress(max(0, w)))
}

// when returns the least mark from origin on at which the clock reads at least a
// reading.
func (u *WarmUp) when(origin, reading clock.Mark) clock.Mark {
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

// warming is what a bucket with a warm-up has beside its State.
type warming struct {
	// origin is the mark at which the bucket was cold, had it been in use since.
	origin clock.Mark
	// full says that the TAT of the State is the mark up to which the bucket is counted: it
	// was full then. The TAT of a bucket in use is on the clock of the bucket. Several marks
	// may read alike there, so that the mark at which it became full would be lost.
	full bool
}

// warmBucket is the count of a bucket with a warm-up. All that the bucket takes is on its
// clock, which is never faster than the time, so that no window has more permits than a window
// of the bucket without warm-up.
type warmBucket struct {
	tokenbucket.State
	warming
}

func (c *count) warmed() warmBucket { return warmBucket{c.bucket(), c.more.warming} }

func (c *count) setWarmed(b warmBucket) {
	c.setBucket(b.State)
	if w := &c.ownMore().warming; *w != b.warming {
		*w, c.changed = b.warming, true
	}
}

// at returns the bucket at a mark. It is full from the least mark on at which its clock has
// come to TAT; from then on the warm-up, which rose with the time, falls back with the time.
func (u *WarmUp) at(b warmBucket, now clock.Mark) warmBucket {
	since := b.TAT
	if !b.full {
		if b.TAT > u.read(b.origin, now) {
			return b
		}
		since = u.when(b.origin, b.TAT)
	}
	warmth := max(0, min(u.Over, since.Sub(b.origin))-now.Sub(since))
	b.TAT, b.warming = now, warming{now.Add(-warmth), true}
	return b
}

// inUse returns the bucket at a mark with its TAT on its clock, and what that reads. What a
// full bucket took before has refilled, and the clock does not go back: no permit from before
// has anything to return.
func (u *WarmUp) inUse(b warmBucket, now clock.Mark) (used warmBucket, reading clock.Mark) {
	b = u.at(b, now)
	reading = u.read(b.origin, now)
	if b.full {
		b.TAT, b.full = reading, false
	}
	return b, reading
}

// keep stores a bucket in use at a mark at which its clock has the reading.
func (u *WarmUp) keep(c *count, b warmBucket, reading, now clock.Mark) {
	if b.TAT <= reading {
		b.TAT, b.warming = now, warming{max(b.origin, now.Add(-u.Over)), true}
	}
	c.setWarmed(b)
}

// warmth returns how far the warm-up of a bucket is at a mark.
func (u *WarmUp) warmth(b warmBucket, now clock.Mark) time.Duration {
	return min(u.Over, now.Sub(u.at(b, now).origin))
}

// fullAt returns the mark at which the bucket is full again if nothing else happens.
func (u *WarmUp) fullAt(b warmBucket) clock.Mark {
	if b.full {
		return b.TAT
	}
	return u.when(b.origin, b.TAT)
}

// turnWarm is turnAfter of a bucket with a warm-up: until the turn the bucket is not
// full, so that its warmth rises.
func (a *algorithm) turnWarm(c *count, ahead uint64, cost uint32, now clock.Mark) clock.Mark {
	b, reading := a.warm.inUse(c.warmed(), now)
	at := a.bucket.TurnAfter(b.TAT, ahead, cost, reading)
	if at <= reading {
		return now
	}
	return a.warm.when(b.origin, at)
}

func (a *algorithm) takeWarm(c *count, cost uint32, now clock.Mark) (ok bool) {
	b, reading := a.warm.inUse(c.warmed(), now)
	if b.TAT, ok = a.bucket.Take(b.TAT, cost, reading); ok && cost > 0 {
		a.warm.keep(c, b, reading, now)
	}
	return ok
}

// refundWarm is refund of a bucket with a warm-up. A permit of another mark is none of this
// reading, also where both marks read alike.
func (a *algorithm) refundWarm(c *count, p *reducer.Permit, cost uint32, now clock.Mark) (ok bool) {
	b := a.warm.at(c.warmed(), now)
	if b.full {
		return false
	}
	reading, granted := a.warm.read(b.origin, now), clock.Always
	if p.Mark == now {
		granted = reading
	}
	if b.State, ok = a.bucket.Refund(b.State, p.ID, granted, cost, reading); ok {
		a.warm.keep(c, b, reading, now)
	}
	return ok
}

// moveWarm replaces the TAT of a bucket with a warm-up by what a function returns for it
// and for the reading of its clock.
func (a *algorithm) moveWarm(c *count, now clock.Mark, to func(tat, reading clock.Mark) clock.Mark) {
	b, reading := a.warm.inUse(c.warmed(), now)
	b.TAT = to(b.TAT, reading)
	a.warm.keep(c, b, reading, now)
}

// adoptBucket continues the count of a bucket of another configuration. Its warm-up is
// as long as it was; a bucket that had none begins cold.
func (a *algorithm) adoptBucket(c *count, from *algorithm, now clock.Mark) {
	if a.warm == from.warm && a.bucket == from.bucket {
		return
	}
	warmth := time.Duration(0)
	if from.warm.Over > 0 {
		b, reading := from.warm.inUse(c.warmed(), now)
		warmth = min(a.warm.Over, from.warm.Over, now.Sub(b.origin))
		b.shift(now.Sub(reading))
		c.setBucket(b.State)
	}
	c.setBucket(a.bucket.Adopt(c.bucket(), &from.bucket, now))
	if c.more = nil; a.warm.Over > 0 {
		b := warmBucket{c.bucket(), warming{origin: now.Add(-warmth)}}
		reading := a.warm.read(b.origin, now)
		b.shift(reading.Sub(now))
		a.warm.keep(c, b, reading, now)
	}
}

// shift moves the TAT as the clock is moved. A refund knows the permits by the sum of the
// two words, which stays.
func (b *warmBucket) shift(by time.Duration) {
	if moved := b.TAT.Add(by); moved != clock.Never && moved != clock.Always {
		b.Refunded += uint64(b.TAT - moved)
		b.TAT = moved
	}
}

// burst returns the burst for the arithmetic of the bucket, 0 for the count of the rate.
func (c *Config) burst() uint32 {
	if c.WarmUp.Over > 0 {
		return c.AtOnce()
	}
	return c.Burst
}

func codeWarming(w *wire.Coder, b *warming) {
	w.Mark(&b.origin)
	full := uint8(0)
	if b.full {
		full = 1
	}
	if w.U8(&full); full > 1 {
		w.Refuse()
	}
	b.full = full == 1
}

// checkWarm returns an error when no bucket up to the last mark is such a one.
func (a *algorithm) checkWarm(c *count, last clock.Mark) error {
	b := c.warmed()
	if b.origin > last || b.full && (b.TAT > last || b.TAT < b.origin || b.TAT.Sub(b.origin) > a.warm.Over) {
		return errWarm
	}
	return nil
}

var errWarm = wire.Invalid("limiter: a warm-up that begins after the latest change, or longer than it is")
