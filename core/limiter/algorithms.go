package limiter

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/fixedwindow"
	"github.com/sluice-go/sluice/core/leakybucket"
	"github.com/sluice-go/sluice/core/slidingcounter"
	"github.com/sluice-go/sluice/core/slidinglog"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// algorithm is the arithmetic of the configured algorithm; the field of that one
// is set. A switch costs less than an interface, also in size. A switch names every algorithm, or
// has a default: what is true of an algorithm that says nothing else. TestAlgorithms counts
// them. Behind a switch without a default is what an algorithm that nothing implements does,
// which admits nothing.
type algorithm struct {
	kind    Algorithm
	bucket  tokenbucket.Machine
	window  fixedwindow.Machine
	counter slidingcounter.Machine
	log     slidinglog.Machine
	leaky   leakybucket.Machine
	warm    WarmUp // of the bucket
}

// set sets the algorithm of a configuration. It is set where it lies: a copy of all the
// fields is half a kilobyte of a WebAssembly module.
func (a *algorithm) set(c *Config) error {
	a.kind, a.warm = c.Algorithm, c.WarmUp
	var e reducer.ConfigErrors
	e.Add(c.WarmUp.check(c.Algorithm))
	e.Count(c.Calendar != (calendar.Config{}) && c.Algorithm != FixedWindow, "calendar.unit", uint64(c.Calendar.Unit), "fixed-window alone has a calendar")
	e.Count(c.Burst != 0 && c.Algorithm != TokenBucket, "burst", uint64(c.Burst), "token-bucket alone has a burst")
	var err error
	switch c.Algorithm {
	case TokenBucket:
		err = keep(&a.bucket)(tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: c.burst()}))
	case FixedWindow:
		err = keep(&a.window)(fixedwindow.New(fixedwindow.Config{Count: c.Count, Period: c.Period, Calendar: c.Calendar}))
	case SlidingCounter:
		err = keep(&a.counter)(slidingcounter.New(slidingcounter.Config{Count: c.Count, Period: c.Period}))
	case SlidingLog:
		err = keep(&a.log)(slidinglog.New(slidinglog.Config{Count: c.Count, Period: c.Period}))
	case LeakyBucket:
		err = keep(&a.leaky)(leakybucket.New(leakybucket.Config{Count: c.Count, Period: c.Period}))
	default:
		err = reducer.BadCount("algorithm", uint64(c.Algorithm), "TokenBucket, FixedWindow, SlidingCounter, SlidingLog or LeakyBucket")
	}
	e.Add(err)
	return e.Err()
}

// keep stores what a constructor returns.
func keep[M any](to *M) func(*M, error) error {
	return func(m *M, err error) error {
		if err == nil {
			*to = *m
		}
		return err
	}
}

// digest is the digest of the settings that determine the meaning of an encoded
// count. Fixed windows, logs and leaky buckets only have marks, whose meaning does
// not depend on the rate.
func (a *algorithm) digest() uint32 {
	d := wire.NewDigest.Add(uint64(a.kind))
	switch a.kind {
	case TokenBucket:
		if d = wire.NewDigest.Add(uint64(digestOf(&a.bucket))); a.warm.Over == 0 {
			return digestOf(&a.bucket)
		}
		d = d.Add(uint64(a.warm.Over)).Add(uint64(a.warm.Factor))
	case SlidingCounter:
		d = d.Add(uint64(a.counter.Period()))
	case FixedWindow, SlidingLog, LeakyBucket:
	}
	return uint32(d)
}

func digestOf(m *tokenbucket.Machine) uint32 {
	return uint32(wire.NewDigest.Add(uint64(TokenBucket)).Add(uint64(m.Interval())).Add(uint64(m.Capacity())))
}

// capacity returns the greatest cost that can ever be admitted.
func (a *algorithm) capacity() uint32 {
	switch a.kind {
	case TokenBucket:
		return a.bucket.Capacity()
	case FixedWindow:
		return a.window.Capacity()
	case SlidingCounter:
		return a.counter.Capacity()
	case SlidingLog:
		return a.log.Capacity()
	case LeakyBucket:
		return a.leaky.Capacity()
	}
	return 0
}

// begin returns the count of a limiter that begins at now.
func (a *algorithm) begin(now clock.Mark) count {
	c := count{generation: 1}
	switch a.kind {
	case TokenBucket, LeakyBucket:
		c.mark = now
	default:
	}
	if a.warm.Over > 0 {
		c.more = &more{warming: warming{now, true}}
	}
	return c
}

// turn returns the least mark from now on at which the cost is admitted if
// nothing else happens, clock.Never for a cost above the capacity.
func (a *algorithm) turn(c *count, cost uint32, now clock.Mark) clock.Mark {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			return a.turnWarm(c, 0, cost, now)
		}
		return a.bucket.Turn(c.mark, cost, now)
	case FixedWindow:
		return a.window.Turn(c.window(), cost, now)
	case SlidingCounter:
		return a.counter.Turn(c.counter(), cost, now)
	case SlidingLog:
		return a.log.Turn(c.log(), cost, now)
	case LeakyBucket:
		return a.leaky.Turn(c.leaky(), cost, now)
	}
	return clock.Never
}

// turnAfter is turn behind waiters that ask for ahead permits in all, where there
// is a closed form.
func (a *algorithm) turnAfter(c *count, ahead uint64, cost uint32, now clock.Mark) (at clock.Mark, ok bool) {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			return a.turnWarm(c, ahead, cost, now), true
		}
		return a.bucket.TurnAfter(c.mark, ahead, cost, now), true
	case LeakyBucket:
		return a.leaky.TurnAfter(c.leaky(), ahead, cost, now), true
	default:
		return clock.Never, false
	}
}

// take takes a cost that is admitted at now; else it returns false and changes
// nothing.
func (a *algorithm) take(c *count, cost uint32, now clock.Mark) (ok bool) {
	if a.kind == TokenBucket && a.warm.Over == 0 {
		tat, ok := a.bucket.Take(c.mark, cost, now)
		c.setTAT(tat)
		return ok
	}
	return a.takeCounted(c, cost, now)
}

// takeCounted is take for the algorithms with larger states, apart from the token
// bucket, whose calls need no stack for those.
func (a *algorithm) takeCounted(c *count, cost uint32, now clock.Mark) (ok bool) {
	switch a.kind {
	case TokenBucket:
		ok = a.takeWarm(c, cost, now)
	case FixedWindow:
		var w fixedwindow.State
		if w, ok = a.window.Take(c.window(), cost, now); ok {
			c.setWindow(w)
		}
	case SlidingCounter:
		s := c.counter()
		if ok = a.counter.Take(&s, cost, now); ok {
			c.setCounter(s)
		}
	case SlidingLog:
		if cost == 0 {
			return true
		}
		ok = a.log.Take(c.ownEntries(), cost, now)
		c.changed = c.changed || ok
	case LeakyBucket:
		var s leakybucket.State
		if s, ok = a.leaky.Take(c.leaky(), cost, now); ok {
			c.setLeaky(s)
		}
	}
	return ok
}

// reserve takes a cost for use at the latest at a mark, and returns the mark of its
// permit. Windows and logs can only reserve permits that are free now.
func (a *algorithm) reserve(c *count, cost uint32, latest, now clock.Mark) (at clock.Mark, ok bool) {
	turn := a.turn(c, cost, now)
	if turn > latest || turn == clock.Never {
		return now, false
	}
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			a.moveWarm(c, now, func(tat, reading clock.Mark) clock.Mark { return a.bucket.Reserve(tat, cost, reading) })
			break
		}
		c.setTAT(a.bucket.Reserve(c.mark, cost, now))
	case LeakyBucket:
		c.setLeaky(a.leaky.Reserve(c.leaky(), cost, now))
		return turn, true
	default:
		return now, a.take(c, cost, now)
	}
	return now, true
}

// readyAt returns the mark from which a permit may be used that was just granted.
func (a *algorithm) readyAt(c *count, p *reducer.Permit) clock.Mark {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			return max(p.Mark, a.warm.when(c.more.origin, c.mark.Add(-a.bucket.Fill())))
		}
		return max(p.Mark, c.mark.Add(-a.bucket.Fill()))
	default:
		return p.Mark
	}
}

// permit returns the record of what was just taken: its mark is the mark of the grant, of
// a leaky bucket the mark of the departure.
func (a *algorithm) permit(c *count, at clock.Mark) reducer.Permit {
	p := reducer.Permit{Generation: c.generation, Mark: at}
	switch a.kind {
	case TokenBucket:
		p.ID = c.bucket().Potential()
	case SlidingLog:
		p.ID = uint64(a.log.Record(at))
	case LeakyBucket:
		p.ID = uint64(c.leaky().Departed())
	case FixedWindow, SlidingCounter: // they have permits of a window
	}
	return p
}

// refund returns cost permits of a permit that took total. It returns false, and
// changes nothing, when no permit is returned.
func (a *algorithm) refund(c *count, p *reducer.Permit, cost, total uint32, now clock.Mark) (ok bool) {
	switch a.kind {
	case FixedWindow:
		var w fixedwindow.State
		if w, ok = a.window.Refund(c.window(), p.Generation, cost, now); ok {
			c.setWindow(w)
		}
	case SlidingCounter:
		var s slidingcounter.State
		if s, ok = a.counter.Refund(c.counter(), p.Generation, p.Mark, cost, now); ok {
			c.setCounter(s)
		}
	case TokenBucket:
		switch {
		case p.Generation != c.generation:
		case a.warm.Over > 0:
			ok = a.refundWarm(c, p, cost, now)
		default:
			var b tokenbucket.State
			if b, ok = a.bucket.Refund(c.bucket(), p.ID, p.Mark, cost, now); ok {
				c.setBucket(b)
			}
		}
	case SlidingLog:
		ok = p.Generation == c.generation && a.log.Refund(c.log(), clock.Mark(p.ID), cost, now)
		c.changed = c.changed || ok
	case LeakyBucket:
		if p.Generation != c.generation {
			return false
		}
		var s leakybucket.State
		if s, ok = a.leaky.Refund(c.leaky(), p.Mark, clock.Mark(p.ID), cost, total, now); ok {
			c.setLeaky(s)
		}
	}
	return ok
}

// chargeable returns how many permits may be charged at now: the debt that they leave is at
// most the capacity.
func (a *algorithm) chargeable(c *count, now clock.Mark) uint64 {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			b, reading := a.warm.inUse(c.warmed(), now)
			return a.bucket.Chargeable(b.TAT, reading)
		}
		return a.bucket.Chargeable(c.mark, now)
	case FixedWindow:
		return a.window.Chargeable(c.window(), now)
	case SlidingCounter:
		return a.counter.Chargeable(c.counter(), now)
	case SlidingLog:
		return a.log.Chargeable(c.log(), now)
	case LeakyBucket:
		return a.leaky.Chargeable(c.leaky(), now)
	}
	return 0
}

// charge takes permits that were used without an acquire.
func (a *algorithm) charge(c *count, permits uint64, now clock.Mark) {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			a.moveWarm(c, now, func(tat, reading clock.Mark) clock.Mark { return a.bucket.Charge(tat, permits, reading) })
			break
		}
		c.setTAT(a.bucket.Charge(c.mark, permits, now))
	case FixedWindow:
		c.setWindow(a.window.Charge(c.window(), permits, now))
	case SlidingCounter:
		c.setCounter(a.counter.Charge(c.counter(), permits, now))
	case SlidingLog:
		a.log.Charge(c.ownEntries(), permits, now)
		c.changed = true
	case LeakyBucket:
		c.setLeaky(a.leaky.Charge(c.leaky(), permits, now))
	}
}

// free returns the whole permits that are free at now.
func (a *algorithm) free(c *count, now clock.Mark) uint32 {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			b, reading := a.warm.inUse(c.warmed(), now)
			return a.bucket.Free(b.TAT, reading)
		}
		return a.bucket.Free(c.mark, now)
	case FixedWindow:
		return a.window.Free(c.window(), now)
	case SlidingCounter:
		return a.counter.Free(c.counter(), now)
	case SlidingLog:
		return a.log.Free(c.log(), now)
	case LeakyBucket:
		return a.leaky.Free(c.leaky(), now)
	}
	return 0
}

// spaces reports whether one call alone is admitted at a mark, whatever is free.
func (a *algorithm) spaces() bool {
	switch a.kind {
	case LeakyBucket:
		return true
	default:
		return false
	}
}

// drain discards the permits that are free at now.
func (a *algorithm) drain(c *count, now clock.Mark) {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			a.moveWarm(c, now, a.bucket.Drain)
			break
		}
		c.setTAT(a.bucket.Drain(c.mark, now))
	case FixedWindow:
		c.setWindow(a.window.Drain(c.window(), now))
	case SlidingCounter:
		c.setCounter(a.counter.Drain(c.counter(), now))
	case SlidingLog:
		c.changed = a.log.Drain(c.ownEntries(), now) || c.changed
	case LeakyBucket:
		c.setLeaky(a.leaky.Drain(c.leaky(), now))
	}
}

// carry returns the count of a limiter that has free permits at now, at most its
// capacity, and whose earlier permits are void.
func (a *algorithm) carry(old *count, free uint32, now clock.Mark) count {
	c := a.begin(now)
	c.generation = old.generation
	c.void()
	switch a.kind {
	case TokenBucket:
		c.mark = a.bucket.Carry(free, now)
		if a.warm.Over > 0 {
			c.more.full = c.mark == now // the clock of a cold bucket reads now
		}
	case FixedWindow:
		c.setWindow(a.window.Carry(c.window(), free, now))
	case SlidingCounter:
		c.setCounter(a.counter.Carry(c.counter(), free, now))
	case SlidingLog:
		a.log.Carry(c.ownEntries(), free, now)
	case LeakyBucket:
		c.setLeaky(a.leaky.Carry(free, now))
	}
	return c
}

// adopt returns a count that continues the count of another configuration.
func (a *algorithm) adopt(c *count, from *algorithm, now clock.Mark) count {
	if a.kind != from.kind {
		return a.carry(c, from.free(c, now), now)
	}
	next := *c
	switch a.kind {
	case TokenBucket:
		a.adoptBucket(&next, from, now)
	case SlidingCounter:
		next.setCounter(a.counter.Adopt(c.counter(), &from.counter, now))
	case FixedWindow, SlidingLog, LeakyBucket: // their counts hold under every rate
	}
	return next
}

// fresh reports that the count is equivalent to a new one.
func (a *algorithm) fresh(c *count, now clock.Mark) bool {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			b := a.warm.at(c.warmed(), now)
			return b.full && b.origin == b.TAT
		}
		return c.mark <= now
	case FixedWindow:
		return a.window.Fresh(c.window(), now)
	case SlidingCounter:
		return a.counter.Fresh(c.counter(), now)
	case SlidingLog:
		return a.log.Fresh(c.log(), now)
	case LeakyBucket:
		return c.mark <= now
	}
	return false
}

// freshAt returns a mark before which a count that is not equivalent to a new one now
// is not if nothing but time passes.
func (a *algorithm) freshAt(c *count) clock.Mark {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			b := c.warmed()
			full := a.warm.fullAt(b)
			return full.Add(max(0, min(a.warm.Over, full.Sub(b.origin))))
		}
		return c.mark
	case FixedWindow:
		return clock.Mark(c.span)
	case SlidingCounter:
		return a.counter.FreshAt(c.counter())
	case SlidingLog:
		return a.log.FreshAt(c.log())
	case LeakyBucket:
		return c.mark
	}
	return clock.Never
}

// move shifts the marks of the count.
func (a *algorithm) move(c *count, by time.Duration) {
	switch a.kind {
	case TokenBucket, LeakyBucket:
		if c.mark = c.mark.Add(by); a.warm.Over > 0 {
			c.more.origin = c.more.origin.Add(by)
		}
	case FixedWindow:
		c.setWindow(a.window.Move(c.window(), by))
	case SlidingCounter:
		c.setCounter(a.counter.Move(c.counter(), by))
	case SlidingLog:
		c.log().Move(by)
	}
}

// check returns an error when the algorithm cannot make the count up to the last
// mark.
func (a *algorithm) check(c *count, last clock.Mark) error {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			return a.checkWarm(c, last)
		}
	case FixedWindow:
		return fixedwindow.Check(c.window(), last)
	case SlidingCounter:
		return slidingcounter.Check(c.counter(), last)
	case SlidingLog:
		return c.log().Check(last)
	case LeakyBucket:
		return leakybucket.Check(c.leaky())
	}
	return nil
}

// code codes the fields that the algorithm uses.
func (a *algorithm) code(w *wire.Coder, c *count) {
	switch a.kind {
	case TokenBucket:
		w.Mark(&c.mark)
		w.U64(&c.span)
		if a.warm.Over > 0 {
			codeWarming(w, &c.ownMore().warming)
		}
	case FixedWindow:
		w.Mark(&c.mark)
		w.U64(&c.span)
		w.U32(&c.used)
		w.U32(&c.previous)
	case SlidingCounter:
		w.Mark(&c.mark)
		w.U64(&c.span)
		w.U32(&c.previous)
		w.U32(&c.used)
		w.U8(&c.idle)
		w.U8(&c.undone)
	case SlidingLog:
		c.ownEntries().Code(w)
	case LeakyBucket:
		w.Mark(&c.mark)
		w.U64(&c.span)
	}
}

// maxSize returns the most bytes that code appends.
func (a *algorithm) maxSize() int {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over > 0 {
			return 8 + 8 + 8 + 1
		}
		return 8 + 8
	case FixedWindow:
		return 8 + 8 + 4 + 4
	case SlidingCounter:
		return 8 + 8 + 4 + 4 + 1 + 1
	case SlidingLog:
		return a.log.MaxSize()
	case LeakyBucket:
		return 8 + 8
	}
	return 0
}

func (a *algorithm) appendText(dst []byte, c *count, now clock.Mark) []byte {
	switch a.kind {
	case TokenBucket:
		if a.warm.Over == 0 {
			return a.bucket.AppendText(dst, c.mark, now)
		}
		b, reading := a.warm.inUse(c.warmed(), now)
		dst = a.bucket.AppendText(dst, b.TAT, reading)
		dst = strconv.AppendUint(append(dst, " warm "...), uint64(a.warm.warmth(b, now))*100/uint64(a.warm.Over), 10)
		return append(dst, '%')
	case FixedWindow:
		return a.window.AppendText(dst, c.window(), now)
	case SlidingCounter:
		return a.counter.AppendText(dst, c.counter(), now)
	case SlidingLog:
		return a.log.AppendText(dst, c.log(), now)
	case LeakyBucket:
		return a.leaky.AppendText(dst, c.leaky(), now)
	}
	return dst
}
