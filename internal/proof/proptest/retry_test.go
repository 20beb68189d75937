package proptest

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of backoff, retries and their budget.

type (
	// delayer is backoff.Machine.Delay.
	delayer func(attempt uint32, before time.Duration, u uint64) time.Duration
	// nexter is retry.Machine.Next.
	nexter func(s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict)
)

var (
	backing = machine{name: "backoff", delays: func(c backoff.Config) delayer { return must(backoff.New(c)).Delay }}
	trying  = machine{name: "retry", retries: func(c retry.Config) nexter { return must(retry.New(c)).Next }}
)

// delaying is a backoff with a defect.
func delaying(name string, defect func(d delayer, attempt uint32, before time.Duration, u uint64) time.Duration) machine {
	return machine{name: "backoff that " + name, delays: func(c backoff.Config) delayer {
		d := backing.delays(c)
		return func(attempt uint32, before time.Duration, u uint64) time.Duration {
			return defect(d, attempt, before, u)
		}
	}}
}

// retrying is a retry with a defect.
func retrying(name string, defect func(n nexter, s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict)) machine {
	return machine{name: "retry that " + name, retries: func(c retry.Config) nexter {
		n := trying.retries(c)
		return func(s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict) {
			return defect(n, s, e, now)
		}
	}}
}

// drawBackoff draws any backoff, the extreme ones included.
func drawBackoff(w uint64) backoff.Config {
	c := backoff.Config{Kind: backoff.Kind(w % 7)}
	lengths := []time.Duration{1, 7, time.Millisecond, time.Hour, math.MaxInt64 / 2, math.MaxInt64}
	switch c.Kind {
	case backoff.None:
		return c
	case backoff.Listed:
		list := make([]time.Duration, 1+w>>3%backoff.MaxDelays)
		for i := range list {
			list[i] = pick(w>>(3+i), append(lengths, 0)...)
		}
		c.Delays = backoff.Delays(list...)
	default:
		c.Base = pick(w>>3, lengths...)
		c.Max = pick(w>>6, 0, c.Base, c.Base+(math.MaxInt64-c.Base)/1_000, math.MaxInt64)
	}
	if c.Kind == backoff.Decorrelated {
		return c
	}
	if c.Kind == backoff.Exponential {
		c.Factor = pick(w>>9, backoff.FactorOne, 3*backoff.FactorOne/2, 2*backoff.FactorOne, backoff.MaxFactor,
			backoff.FactorOne+1, backoff.FactorOne+backoff.Factor(w>>40%1_000))
	}
	c.Jitter = backoff.JitterKind(w >> 12 % 4)
	if c.Jitter == backoff.Fraction {
		c.Share = pick(w>>15, reducer.Millionths(1), reducer.Percent(20), reducer.Percent(100))
	}
	return c
}

// attempts from the first one to the greatest number.
func drawAttempt(w uint64) uint32 {
	return pick(w, uint32(1+w>>4%8), uint32(1+w>>4%100), uint32(w>>4), math.MaxUint32)
}

// extremes are random words, the least and the greatest included.
func extremes(w uint64) uint64 { return pick(w, w>>3*0x9e3779b97f4a7c15, 0, math.MaxUint64, 1) }

// interval64 is the interval of a jitter around a nominal delay.
func jittered(c backoff.Config, nominal time.Duration) (low, high time.Duration) {
	switch c.Jitter {
	case backoff.Full:
		return 0, nominal
	case backoff.Equal:
		return nominal / 2, nominal
	case backoff.Fraction:
		hi, lo := bits.Mul64(uint64(nominal), uint64(c.Share.Millionths()))
		part, _ := bits.Div64(hi, lo, uint64(reducer.Whole))
		return nominal - time.Duration(part), time.Duration(min(uint64(nominal)+part, math.MaxInt64))
	}
	return nominal, nominal
}

// R2: 0 <= delay <= maximum x (1 + the jitter's share), for every attempt.
func R2(m machine, h history) error {
	c := drawBackoff(h.word(0))
	delay := m.delays(c)
	top := c.Max
	if top == 0 {
		top = math.MaxInt64
	}
	if c.Jitter == backoff.Fraction {
		_, top = jittered(c, top)
	}
	before := time.Duration(0)
	for _, w := range h.steps() {
		attempt := drawAttempt(w)
		d := delay(attempt, before, extremes(w>>30))
		m.meet()
		if d < 0 || d > top {
			return fmt.Errorf("R2: %s: attempt %d is delayed by %d ns, at most %d", c, attempt, d, top)
		}
		before = d
	}
	return nil
}

// R3: without jitter a delay is never shorter than the one before, up to the maximum.
// The delays of a list may be.
func R3(m machine, h history) error {
	c := drawBackoff(h.word(0))
	c.Jitter, c.Share = backoff.NoJitter, reducer.Share{}
	switch c.Kind {
	case backoff.Decorrelated:
		c.Kind = backoff.Constant
	case backoff.Listed:
		return nil
	}
	delay := m.delays(c)
	for _, w := range h.steps() {
		attempt := min(drawAttempt(w), math.MaxUint32-1)
		m.meet()
		if x, y := delay(attempt, 0, 0), delay(attempt+1, 0, 0); y < x || c.Max > 0 && y > c.Max {
			return fmt.Errorf("R3: %s: attempt %d is delayed by %s, the next by %s", c, attempt, x, y)
		}
	}
	return nil
}

// R4: jitter stays in its interval, and reaches both of its ends.
func R4(m machine, h history) error {
	c := drawBackoff(h.word(0))
	delay := m.delays(c)
	nominal := must(backoff.New(c)).Nominal
	for _, w := range h.steps() {
		attempt := drawAttempt(w)
		low, high := jittered(c, nominal(attempt))
		before := time.Duration(0)
		if c.Kind == backoff.Decorrelated {
			before = time.Duration(w >> 20)
			high = time.Duration(min(3*new128(max(before, 1), c.Base), math.MaxInt64))
			if c.Max > 0 {
				high = min(high, c.Max)
			}
			low = c.Base
			high = max(c.Base, high)
		}
		for _, u := range [...]uint64{0, w * 0x9e3779b97f4a7c15, math.MaxUint64} {
			d := delay(attempt, before, u)
			if low < high {
				m.meet()
			}
			if d < low || d > high || u == 0 && d != low && c.Kind != backoff.Decorrelated || u == math.MaxUint64 && d != high && c.Kind != backoff.Decorrelated {
				return fmt.Errorf("R4: %s: attempt %d drew %d of [%d, %d] with %#x", c, attempt, d, low, high, u)
			}
		}
	}
	return nil
}

// new128 is the delay before, the base for none, as far as three times it fits.
func new128(before, base time.Duration) uint64 {
	if before <= 0 {
		before = base
	}
	return min(uint64(before), math.MaxUint64/3)
}

// attempt is one attempt of a call and what followed.
type attempt struct {
	end     retry.End
	at      clock.Mark // of its end
	verdict retry.Verdict
}

// called plays one call of a retry: attempts that end as the words say.
func called(m machine, h history) (retry.Config, []attempt) {
	w := h.word(0)
	c := retry.Config{Attempts: 1 + uint32(w>>20%5), Backoff: drawBackoff(w), MaxElapsed: pick(h.word(1)>>40, 0, time.Duration(1+w>>24%64), time.Millisecond, time.Minute)}
	next := m.retries(c)
	state, now := retry.State{}, start
	deadline := pick(h.word(1), clock.Never, clock.Mark(h.word(1)>>2%4096), clock.Mark(h.word(1)>>2%uint64(time.Hour)))
	var all []attempt
	for i := range 3 + len(h.steps()) {
		w := h.word(setup + i)
		now += clock.Mark(w % 8)
		state.Attempt++
		e := retry.End{Deadline: deadline, Began: start, Seed: w >> 40,
			Outcome: pick(w>>3, reducer.Fail, reducer.Timeout, reducer.Throttle, reducer.Fail, reducer.Fail, reducer.OK, reducer.Ignore, reducer.Cancelled)}
		if w>>6%3 == 1 {
			e.Told, e.RetryAfter = true, pick(w>>8, time.Duration(w>>12%512), -1, 0, math.MaxInt64, time.Minute)
		}
		var v retry.Verdict
		state, v = next(state, e, now)
		all = append(all, attempt{e, now, v})
		if !v.Again {
			break
		}
		now = v.Until
	}
	return c, all
}

// R1: a call has no more attempts than it may have, the first included.
func R1(m machine, h history) error {
	c, all := called(m, h)
	if all[len(all)-1].verdict.Reason == reducer.ReasonAttempts {
		m.meet()
	}
	if len(all) > int(c.Attempts) {
		return fmt.Errorf("R1: %d attempts of %d", len(all), c.Attempts)
	}
	return nil
}

// R5: no attempt is scheduled at or after the deadline.
func R5(m machine, h history) error {
	_, all := called(m, h)
	for _, a := range all {
		if a.verdict.Reason == reducer.ReasonDeadline {
			m.meet()
		}
		if a.verdict.Again && (a.verdict.Until < a.at || a.verdict.Until >= a.end.Deadline && a.end.Deadline != clock.Never) {
			return fmt.Errorf("R5: an attempt at %s, decided at %s, and the deadline is %s", a.verdict.Until, a.at, a.end.Deadline)
		}
	}
	return nil
}

// R11: no attempt is scheduled at or after the end of the longest time.
func R11(m machine, h history) error {
	c, all := called(m, h)
	for _, a := range all {
		if c.MaxElapsed > 0 && a.at > start && (a.verdict.Again || a.verdict.Reason == reducer.ReasonElapsed) {
			m.meet()
		}
		if c.MaxElapsed > 0 && a.verdict.Again && a.verdict.Until.Sub(start) >= c.MaxElapsed {
			return fmt.Errorf("R11: an attempt at %s of a call that began at %s and has %s", a.verdict.Until, start, c.MaxElapsed)
		}
	}
	return nil
}

// R6: the retry-after of the answer is the minimum of the delay. Where that is too
// late the call ends with that reason, and where the answer asks for no retry, with
// that reason.
func R6(m machine, h history) error {
	_, all := called(m, h)
	for _, a := range all {
		floor := a.at.Add(a.end.RetryAfter)
		if a.end.Told && retry.Retries(a.end.Outcome) {
			m.meet()
		}
		switch {
		case !a.end.Told:
		case a.verdict.Again && (a.end.RetryAfter < 0 || a.verdict.Until < floor):
			return fmt.Errorf("R6: asked for %s at %s, an attempt at %s", a.end.RetryAfter, a.at, a.verdict.Until)
		case !retry.Retries(a.end.Outcome) || a.verdict.Again || a.verdict.Reason == reducer.ReasonAttempts:
		case a.end.RetryAfter < 0 && a.verdict.Reason != reducer.ReasonPushback:
			return fmt.Errorf("R6: asked for no retry, the reason is %s", a.verdict.Reason)
		case a.end.RetryAfter >= 0 && floor >= a.end.Deadline && a.verdict.Reason != reducer.ReasonDeadline:
			return fmt.Errorf("R6: asked for a retry after the deadline, the reason is %s", a.verdict.Reason)
		}
	}
	return nil
}

// R7: a success, an error of the caller and a cancelled attempt are not retried, and
// the end has no reason.
func R7(m machine, h history) error {
	_, all := called(m, h)
	for _, a := range all {
		switch a.end.Outcome {
		case reducer.OK, reducer.Ignore, reducer.Cancelled:
			m.meet()
			if a.verdict.Again || a.verdict.Reason != reducer.NoReason {
				return fmt.Errorf("R7: after %s: %+v", a.end.Outcome, a.verdict)
			}
		}
	}
	return nil
}
