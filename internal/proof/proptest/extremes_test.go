package proptest

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/slidinglog"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

const year = 365 * 24 * time.Hour

// extreme draws a configuration at the limits of its ranges, of the same mechanism.
func extreme(m machine, w uint64) config {
	_, c := m.begin(history{w})
	long := pick(w>>4, time.Duration(1), year, math.MaxInt64)
	switch m.kind {
	case limiters:
		c.limit.Count, c.limit.Period = 1, pick(w>>6, 1, time.Second, year, tokenbucket.MaxFill)
		if c.limit.Calendar.Unit != calendar.NoUnit {
			c.limit.Calendar.Epoch = pick(w>>6, 0, 1, year, math.MaxInt64)
			c.limit.Period = c.limit.Calendar.Unit.Length()
		}
		if w>>8%2 == 1 && c.limit.Period >= time.Second {
			c.limit.Count = tokenbucket.MaxCount
		}
		switch c.limit.Algorithm {
		case limiter.SlidingLog:
			c.limit.Count = min(c.limit.Count, slidinglog.MaxCount)
		case limiter.LeakyBucket:
			c.limit.Period = min(c.limit.Period, tokenbucket.MaxFill/2)
		case limiter.TokenBucket:
			interval := (c.limit.Period-1)/time.Duration(c.limit.Count) + 1
			c.limit.Burst = uint32(min(pick(w>>9, 1, time.Duration(tokenbucket.MaxCount)), tokenbucket.MaxFill/interval))
		}
		if c.limit.Wait > 0 {
			c.limit.Wait = long
		}
	case breakerFamily:
		c.breaker.Open = backoff.Config{Kind: backoff.Exponential, Base: long, Factor: backoff.MaxFactor}
		c.breaker.HalfOpenMax = pick(w>>10, 0, long)
		if c.breaker.SlowOver > 0 {
			c.breaker.SlowOver = long
		}
		if c.breaker.Window == breaker.Time {
			c.breaker.Span = max(long, time.Duration(c.breaker.Count))
		}
	case bulkheads:
		c.bulkhead = bulkhead.Config{Concurrent: pick(w>>10, uint32(1), bulkhead.MaxConcurrent), Queue: limiter.MaxQueue, Wait: long, Lease: pick(w>>12, 0, long)}
	case tokenBudgets:
		if c.budget.Rule == budget.Adaptive {
			c.budget.Window, c.budget.Wait = max(long, 10), long
			break
		}
		if c.budget.Tokens = budget.MaxThrottle; c.budget.Rule == budget.Tokens {
			c.budget.Tokens, c.budget.Timeout, c.budget.Refund = budget.MaxTokens, budget.MaxTokens, budget.MaxTokens
		} else {
			c.budget.TokenRatio = reducer.Millionths(budget.MaxThrottle * reducer.Whole)
		}
	case budgets:
		c.budget = budget.Config{Ratio: reducer.Millionths(budget.MaxRatio), Window: max(long, 10), MinimumCount: 1_000_000_000, MinimumPeriod: long}
		if _, err := budget.New(c.budget); err != nil {
			c.budget.MinimumPeriod = math.MaxInt64
		}
	}
	return c
}

// ends of the line of marks, and its middle.
var lineEnds = [...]clock.Mark{clock.Always, clock.Always + 1, -1, 0, 1, clock.Never - 1, clock.Never}

// G11: at the ends of the line, with the greatest and the least values and with
// unknown permits, no step panics, overflows or goes back in time.
func G11(m machine, h history) error {
	c := extreme(m, h.word(0))
	s := m.make(c)
	var known []reducer.Permit
	for i, w := range h.steps() {
		now := lineEnds[w%uint64(len(lineEnds))]
		if h.word(1)%2 == 1 {
			// In the order of time.
			now = lineEnds[min(i*len(lineEnds)/len(h.steps()), len(lineEnds)-1)]
		}
		a := reducer.Action{Kind: reducer.Kind(w >> 4 % 20), Outcome: reducer.Outcome(w >> 10 % 8), Cost: pick(w>>14, uint32(1), 0, 1_000_000_000, math.MaxUint32)}
		a.Permit = reducer.Permit{Generation: w >> 20, ID: pick(w>>30, w, math.MaxUint64), Mark: lineEnds[w>>40%uint64(len(lineEnds))]}
		if len(known) > 0 && w>>16%3 > 0 {
			a.Permit = known[int(w>>18)%len(known)]
		}
		wake, _ := s.NextWake()
		x := step(s, a, now)
		m.meet()
		if after, ok := x.answer.RetryAfter(now); ok && after < 0 {
			return fmt.Errorf("G11: %+v: %s", c, x)
		}
		if at, ok := x.answer.RetryAt(); ok && a.Kind != reducer.Transition && at < now && x.answer.Reason != reducer.ReasonOpen {
			return fmt.Errorf("G11: %+v: a retry-after in the past: %s", c, x)
		}
		if err := s.Check(); err != nil {
			return fmt.Errorf("G11: %+v: %s: %w", c, x, err)
		}
		if _, err := s.Restored(); err != nil {
			return fmt.Errorf("G11: %+v: %s: %w", c, x, err)
		}
		if a.Kind == reducer.Tick && wake == clock.Never && len(x.out) > 0 && now < clock.Never {
			return fmt.Errorf("G11: %+v: nothing was due: %s", c, x)
		}
		known = append(known, x.answer.Permit)
		_, _ = s.Text(now), s.Fresh(now)
	}
	return nil
}
