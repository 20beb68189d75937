package generate

import (
	"time"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// drawn are the mechanisms of random policies, each as often as it is drawn.
var drawn = []pipeline.Kind{
	mechanism.Limit, mechanism.Bulkhead, mechanism.Breaker, mechanism.Retry, mechanism.Timeout,
	mechanism.Limit, mechanism.Bulkhead, mechanism.Breaker, mechanism.Retry, mechanism.Hedge, mechanism.Adaptive,
}

// settings draws settings for a mechanism.
func (m *maker) settings(kind pipeline.Kind) mechanism.Config {
	return m.others(m.choices(kind), chosen[kind])
}

// choices draws the chosen settings of a mechanism.
func (m *maker) choices(kind pipeline.Kind) mechanism.Config {
	switch kind {
	case mechanism.Retry:
		return m.retry()
	case mechanism.Breaker:
		return m.breaker()
	case mechanism.Limit:
		return m.limit()
	case mechanism.Bulkhead:
		return m.bulkhead()
	case mechanism.Hedge:
		return m.hedge()
	case mechanism.Adaptive:
		return m.adaptive()
	case mechanism.Chaos:
		return m.chaos()
	default:
		return timeout.Config{After: m.units(of(m, 4, 12, 30))}
	}
}

func (m *maker) retry() retry.Config {
	c := retry.Config{Attempts: uint32(m.upTo(5)), Backoff: m.backoff(true)}
	if m.chance(40) {
		c.Budgeted, c.Budget = true, m.budget()
	}
	if m.chance(25) {
		c.MaxElapsed = m.units(20)
	}
	if m.chance(25) {
		c.Refusals = retry.WaitRefused
	}
	return c
}

func (m *maker) budget() budget.Config {
	switch n := m.IntN(100); {
	case n < 25:
		tokens := uint32(m.upTo(12))
		return budget.Config{Rule: budget.Tokens, Tokens: tokens, Retry: uint32(m.upTo(int(min(tokens, 4)))), Timeout: uint32(m.upTo(int(min(tokens, 6)))), Refund: uint32(m.upTo(int(min(tokens, 2))))}
	case n >= 45 && n < 60:
		return budget.Config{Rule: budget.Adaptive, Window: m.parts(10, 20), OneAbove: reducer.Millionths(of(m, uint32(500_000), 333_333, 1_000_000)),
			TwoAbove: reducer.Millionths(of(m, uint32(200_000), 333_333, 1)), Wait: m.units(4)}
	case n < 45:
		return budget.Config{Rule: budget.Throttle, Tokens: uint32(m.upTo(6)), TokenRatio: reducer.Millionths(of(m, uint32(500_000), 100_000, 1_000, 333_000, 1_600_000))}
	}
	count := uint32(m.upTo(2))
	return budget.Config{
		Ratio:        reducer.Millionths(of(m, uint32(100_000), 333_333, 500_000, 1_000_000, 2_000_000)),
		MinimumCount: count, MinimumPeriod: max(m.units(20), time.Duration(count)), Window: m.parts(10, 20),
	}
}

func (m *maker) hedge() hedge.Config {
	c := hedge.Config{Max: uint32(m.upTo(3))}
	switch n := m.IntN(100); {
	case n < 60:
		c.After = m.units(4)
	case n < 80:
		c.Percentile = reducer.Millionths(of(m, uint32(500_000), 333_333, 333_334, 900_000, 999_900, 1_000_000, 1))
		c.Samples = uint32(m.upTo(5))
		c.Minimum = uint32(m.upTo(int(min(c.Samples, 2))))
	default:
		c.Parallel = true
	}
	if m.chance(30) {
		c.Budgeted, c.Budget = true, m.budget()
	}
	return c
}

// backoff draws a backoff; none is one of a retry alone.
func (m *maker) backoff(none bool) backoff.Config {
	kinds := []backoff.Kind{
		backoff.Constant, backoff.Linear, backoff.Exponential, backoff.Fibonacci, backoff.Listed, backoff.Decorrelated,
	}
	if none && m.chance(15) {
		return backoff.Config{}
	}
	if m.grid == onGrid {
		kinds = kinds[:5] // what is drawn at random is on no grid
	}
	c := backoff.Config{Kind: of(m, kinds...), Base: m.units(3)}
	switch c.Kind {
	case backoff.Listed:
		list := make([]time.Duration, m.upTo(4))
		for i := range list {
			list[i] = time.Duration(m.IntN(5)) * m.unit
			if !none {
				list[i] = max(list[i], m.unit)
			}
			if m.grid == offGrid {
				list[i] = m.units(5)
			}
		}
		c.Base, c.Delays = 0, backoff.Delays(list...)
	case backoff.Constant:
	case backoff.Exponential:
		c.Factor = of(m, backoff.Factor(2_000_000), 1_000_000, 3_000_000, 1_500_000, 1_234_567)
		if m.grid == onGrid {
			c.Factor = of(m, backoff.Factor(2_000_000), 1_000_000, 3_000_000)
		}
		c.Max = c.Base + time.Duration(m.IntN(8))*m.unit
	default:
		if m.chance(70) {
			c.Max = c.Base + time.Duration(m.IntN(8))*m.unit
		}
	}
	if c.Kind != backoff.Decorrelated && m.grid != onGrid && m.chance(40) {
		c.Jitter = of(m, backoff.Full, backoff.Equal, backoff.Fraction)
		if c.Jitter == backoff.Fraction {
			c.Share = reducer.Millionths(of(m, uint32(200_000), 1_000_000, 333_333, 5_000))
		}
	}
	return c
}

func (m *maker) breaker() breaker.Config {
	c := breaker.Config{
		Window: of(m, breaker.Calls, breaker.Time, breaker.Consecutive),
		Count:  uint32(m.upTo(5)), Probes: uint32(m.upTo(3)),
		Open: backoff.Config{Kind: backoff.Constant, Base: m.units(5)},
	}
	if m.chance(40) {
		c.Open = m.backoff(false)
	}
	if m.chance(40) {
		c.HalfOpenMax = m.units(6)
	}
	if m.chance(30) {
		c.Successes = uint32(m.upTo(int(c.Probes)))
	}
	if m.chance(40) {
		m.newer(&c)
	}
	if c.Window == breaker.Consecutive {
		if m.chance(50) {
			c.Forget = m.units(6)
		}
		return c
	}
	c.FailureRate = reducer.Millionths(of(m, uint32(500_000), 333_333, 333_334, 250_000, 666_667, 1_000_000, 1))
	c.Minimum = uint32(m.upTo(int(c.Count)))
	if c.Window == breaker.Time {
		c.Minimum = uint32(m.upTo(4))
		c.Span = m.parts(c.Count, 8)
	}
	if m.chance(40) {
		c.SlowOver = m.units(3)
		c.SlowRate = reducer.Millionths(of(m, uint32(500_000), 800_000, 333_333, 1_000_000))
	}
	return c
}

// newer draws the settings of a breaker that few have.
func (m *maker) newer(c *breaker.Config) {
	if m.chance(30) {
		c.Initial = of(m, breaker.Open, breaker.HalfOpen, breaker.HalfOpen, breaker.ForcedOpen, breaker.ForcedClosed, breaker.MetricsOnly)
	}
	if m.chance(50) {
		c.ObeyRetryAfter = m.units(6)
	}
	if m.chance(50) {
		c.RampOver, c.RampFrom = m.units(12), reducer.Millionths(of(m, uint32(100_000), 333_333, 500_000, 750_000, 999_999, 1))
	}
	if m.chance(50) {
		c.SlowOver, c.SlowConsecutive = m.units(3), uint32(m.upTo(3))
	}
}

func (m *maker) limit() limiter.Config {
	c := limiter.Config{
		Algorithm: of(m, limiter.TokenBucket, limiter.FixedWindow, limiter.SlidingCounter, limiter.SlidingLog, limiter.LeakyBucket),
		Count:     m.count(),
	}
	c.Period = m.parts(c.Count, 8) // at most one permit a nanosecond
	if c.Algorithm == limiter.TokenBucket {
		c.Burst = m.count()
	}
	if m.chance(75) {
		c.Wait = m.units(of(m, 4, 10, 20))
		c.Queue = uint32(m.upTo(4))
		c.Order = m.order()
	} else if m.chance(50) {
		c.Block = m.block()
	}
	if c.Algorithm == limiter.FixedWindow {
		m.windows(&c)
	}
	if c.Algorithm == limiter.TokenBucket {
		c.WarmUp = m.warmUp()
		if c.WarmUp.Over > 0 && m.chance(40) {
			c.Burst = 0
		}
	}
	if m.priced && m.chance(60) {
		c.Cost = of(m, limiter.Cost{Permits: 1}, limiter.Cost{Permits: 2}, limiter.Cost{Attribute: "header:n"}, limiter.Cost{Attribute: "header:n", Permits: 1})
	}
	if m.priced && m.chance(50) {
		c.Charge = of(m, limiter.ChargeSettle, limiter.ChargeSettle, limiter.ChargeEnd)
		c.SettleMax = of(m, uint32(0), 0, 1, 2, 7)
	}
	if m.priced && m.chance(30) {
		c.Counts = of(m, limiter.OutcomesOf(reducer.Fail), limiter.OutcomesOf(reducer.OK, reducer.Timeout), limiter.OutcomesOf(reducer.Throttle, reducer.Ignore, reducer.Cancelled))
	}
	return c
}

// block draws blocks, whose times are not random.
func (m *maker) block() limiter.Block {
	c := m.backoff(false)
	if c.Kind == backoff.Decorrelated {
		c.Kind, c.Max = backoff.Constant, 0
	}
	c.Jitter, c.Share = backoff.NoJitter, reducer.Share{}
	return limiter.Block{For: c, After: of(m, uint32(1), 1, 2, 3)}
}

// windows draws windows of the calendar for some limits: their first ends are near.
func (m *maker) windows(c *limiter.Config) {
	unit := int32(max(m.unit, time.Second) / time.Second)
	if c.Calendar = (calendar.Config{}); !m.all || m.unit < 100*time.Millisecond || !m.chance(40) {
		return
	}
	const day = 24 * 60 * 60
	soon := func() int32 { return int32(m.upTo(20)) * unit }
	z := calendar.Zone{Offset: day - soon()}
	if m.chance(40) {
		z.Summer = max(-day, min(day, z.Offset+of(m, int32(1), -1)*soon()))
		// 1970-01-01 was the first Thursday of its month.
		z.Begins = calendar.Change{Month: 1, Week: 1, Day: of(m, uint8(4), 4, 5), Time: z.Offset + soon()}
		z.Ends = calendar.Change{Month: of(m, uint8(1), 1, 7), Week: 1, Day: of(m, uint8(4), 5), Time: z.Summer + soon() + soon()}
	}
	if m.chance(20) {
		z = calendar.Zone{Offset: z.Offset - day}
	}
	c.Calendar = calendar.Config{Unit: of(m, calendar.Day, calendar.Day, calendar.Week, calendar.Month), Zone: z}
	c.Period = c.Calendar.Unit.Length()
}

// warmUp draws none or one, none where all turns are on a grid.
func (m *maker) warmUp() limiter.WarmUp {
	if m.grid == onGrid || !m.chance(25) {
		return limiter.WarmUp{}
	}
	return limiter.WarmUp{Over: m.units(of(m, 4, 20, 60)), Factor: of(m, uint32(2), 3, 3, 10, 1000)}
}

// count draws the permits of a limiter.
func (m *maker) count() uint32 { return of(m, uint32(1), 2, 2, 3, 3, 4, 6) }

func (m *maker) order() limiter.Order {
	if m.chance(35) {
		return limiter.Newest
	}
	return limiter.Oldest
}

func (m *maker) bulkhead() bulkhead.Config {
	c := bulkhead.Config{Concurrent: uint32(m.upTo(3))}
	if m.chance(70) {
		c.Queue = uint32(m.upTo(3))
		c.Order = m.order()
		if m.chance(70) {
			c.Wait = m.units(of(m, 5, 12))
		}
	}
	if m.chance(30) {
		c.Lease = m.units(5)
	}
	if m.priced && m.chance(60) {
		c.Concurrent += uint32(m.upTo(3))
		c.Cost = m.places()
	}
	return c
}

func (m *maker) chaos() (c chaos.Config) {
	c.Fail = reducer.Millionths(of(m, uint32(0), 200_000, 333_333))
	if m.chance(30) {
		c.Throttle = reducer.Millionths(of(m, uint32(0), 1, 400_000))
		if m.chance(60) {
			c.RetryAfter = m.units(4)
		}
	}
	if m.chance(20) {
		c.Ignore = reducer.Millionths(of(m, uint32(100_000), 266_666))
	}
	if m.chance(60) {
		c.Slow, c.By = reducer.Millionths(of(m, uint32(0), 300_000, 700_000, 1_000_000)), m.units(4)
		// What is drawn at random is on no grid.
		if m.grid != onGrid && m.chance(60) {
			c.To = c.By + time.Duration(m.IntN(4))*m.unit
		}
	}
	return c
}

func (m *maker) adaptive() adaptive.Config {
	c := adaptive.Config{
		Minimum: uint32(m.upTo(2)), Increase: of(m, uint32(1), 1, 2, 5),
		Decrease: reducer.Millionths(of(m, uint32(100_000), 500_000, 333_333, 1_000_000, 1)),
	}
	c.Tolerance = reducer.Millionths(of(m, uint32(150_000), 1, 333_333, 500_000))
	if m.chance(40) {
		c.Over = m.units(8)
	} else {
		c.OverShare = reducer.Millionths(of(m, uint32(600_000), 1, 333_333, 1_000_000))
	}
	if m.chance(30) {
		c.Lease = m.units(20)
	}
	c.Initial = c.Minimum + uint32(m.IntN(3))
	c.Maximum = c.Initial + uint32(m.IntN(4))
	if m.priced && m.chance(60) {
		c.Maximum += uint32(m.upTo(3))
		c.Cost = m.places()
	}
	return c
}

// places draws how many places a call takes.
func (m *maker) places() limiter.Cost {
	return of(m, limiter.Cost{Permits: 1}, limiter.Cost{Permits: 2}, limiter.Cost{Attribute: "header:n", Permits: 1}, limiter.Cost{Attribute: "header:n", Permits: 2})
}
