package generate

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// maker draws policies and logs on a coarse grid of time, so that things
// coincide often.
type maker struct {
	*rand.Rand
	unit time.Duration
	// named says that the steps of this case have names of their own.
	named bool
	names int
}

// chance is true in the given percentage of cases.
func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

// upTo draws from 1 to n.
func (m *maker) upTo(n int) int { return 1 + m.IntN(n) }

// units draws a duration of 1 to n units, now and then off the grid.
func (m *maker) units(n int) time.Duration {
	d := time.Duration(m.upTo(n)) * m.unit
	switch m.IntN(25) {
	case 0:
		d++
	case 1:
		d -= m.unit / 2
	case 2:
		d = d*2/3 + 1
	}
	return d
}

// of draws one of the values.
func of[T any](m *maker, values ...T) T { return values[m.IntN(len(values))] }

func (m *maker) policy() pipeline.Policy {
	p := pipeline.Policy{Name: "p"}
	kinds := []pipeline.Kind{
		pipeline.Limit, pipeline.Bulkhead, pipeline.Breaker, pipeline.Retry, pipeline.Timeout,
		pipeline.Limit, pipeline.Bulkhead, pipeline.Breaker, pipeline.Retry,
	}
	if m.chance(40) {
		// Few mechanisms, several of each.
		kinds = []pipeline.Kind{of(m, kinds...), of(m, kinds...)}
	}
	for n := m.upTo(of(m, 1, 2, 3, 5, 7)); len(p.Steps) < n; {
		if s, ok := m.step(p, of(m, kinds...)); ok {
			p.Steps = append(p.Steps, s)
		} else {
			n--
		}
	}
	if len(p.Steps) == 0 {
		s, _ := m.step(p, pipeline.Limit)
		p.Steps = append(p.Steps, s)
	}
	if m.chance(20) {
		p.Fallback = &fallback.Config{Status: 503, Body: "later"}
	}
	return p
}

// step draws a step of the kind, and false for a second retry.
func (m *maker) step(p pipeline.Policy, kind pipeline.Kind) (pipeline.Step, bool) {
	for _, s := range p.Steps {
		if s.Kind() == pipeline.Retry && kind == pipeline.Retry {
			return s, false
		}
	}
	s := pipeline.Step{Shadow: m.chance(15)}
	if m.named {
		m.names++
		s.Name = "s" + strconv.Itoa(m.names)
	}
	if kind != pipeline.Timeout && m.chance(20) {
		s.Per = of(m, []string{"key"}, []string{"header:x"}, []string{"key", "header:x"})
	}
	s.Config = m.settings(kind)
	return s, true
}

// settings draws settings for a mechanism.
func (m *maker) settings(kind pipeline.Kind) mechanism.Config {
	switch kind {
	case pipeline.Retry:
		return m.retry()
	case pipeline.Breaker:
		return m.breaker()
	case pipeline.Limit:
		return m.limit()
	case pipeline.Bulkhead:
		return m.bulkhead()
	default:
		return timeout.Config{After: m.units(of(m, 4, 12, 30))}
	}
}

func (m *maker) retry() retry.Config {
	c := retry.Config{Attempts: uint32(m.upTo(5)), Backoff: m.backoff(true)}
	if m.chance(40) {
		c.Budgeted = true
		c.Budget = budget.Config{
			Ratio:        of(m, reducer.Share(100_000), 333_333, 500_000, 1_000_000, 2_000_000),
			MinimumCount: uint32(m.upTo(2)), MinimumPeriod: m.units(20), Window: max(10, m.units(20)),
		}
	}
	return c
}

// backoff draws a backoff; none is one of a retry alone.
func (m *maker) backoff(none bool) backoff.Config {
	kinds := []backoff.Kind{
		backoff.Constant, backoff.Linear, backoff.Exponential, backoff.Fibonacci, backoff.Decorrelated,
	}
	if none && m.chance(15) {
		return backoff.Config{}
	}
	c := backoff.Config{Kind: of(m, kinds...), Base: m.units(3)}
	switch c.Kind {
	case backoff.Constant:
	case backoff.Exponential:
		c.Factor = of(m, backoff.Factor(2_000_000), 1_000_000, 1_500_000, 3_000_000, 1_234_567)
		c.Max = c.Base + time.Duration(m.IntN(8))*m.unit
	default:
		if m.chance(70) {
			c.Max = c.Base + time.Duration(m.IntN(8))*m.unit
		}
	}
	if c.Kind != backoff.Decorrelated && m.chance(40) {
		c.Jitter = of(m, backoff.Full, backoff.Equal, backoff.Fraction)
		if c.Jitter == backoff.Fraction {
			c.Share = of(m, reducer.Share(200_000), 1_000_000, 333_333, 5_000)
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
	if c.Window == breaker.Consecutive {
		return c
	}
	c.FailureRate = of(m, reducer.Share(500_000), 333_333, 333_334, 250_000, 666_667, 1_000_000, 1)
	c.Minimum = uint32(m.upTo(int(c.Count)))
	if c.Window == breaker.Time {
		c.Minimum = uint32(m.upTo(4))
		c.Span = m.units(8)
	}
	if m.chance(40) {
		c.SlowOver = m.units(3)
		c.SlowRate = of(m, reducer.Share(500_000), 800_000, 333_333, 1_000_000)
	}
	return c
}

func (m *maker) limit() limiter.Config {
	c := limiter.Config{
		Algorithm: of(m, limiter.TokenBucket, limiter.FixedWindow, limiter.SlidingCounter),
		Count:     m.count(), Period: m.units(8),
	}
	c.Period = max(c.Period, time.Duration(c.Count)) // at most one permit a nanosecond
	if c.Algorithm == limiter.TokenBucket {
		c.Burst = m.count()
	}
	if m.chance(75) {
		c.Wait = m.units(of(m, 4, 10, 20))
		c.Queue = uint32(m.upTo(4))
		c.Order = m.order()
	}
	return c
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
	return c
}
