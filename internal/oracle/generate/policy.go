package generate

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// maker draws policies and logs.
type maker struct {
	*rand.Rand
	unit time.Duration
	grid grid
	// named says that the steps of this case have names of their own.
	named bool
	names int
	// keyed says that many steps of this case have a cell for each key.
	keyed bool
}

// grid says which durations and marks a case has.
type grid int

const (
	// mixed has multiples of the unit, so that marks coincide often, and now
	// and then other durations.
	mixed grid = iota
	// onGrid has multiples of the unit alone: all that can coincide does.
	onGrid
	// offGrid has durations without a common measure.
	offGrid
)

// chance is true in the given percentage of cases.
func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

// upTo draws from 1 to n.
func (m *maker) upTo(n int) int { return 1 + m.IntN(n) }

// units draws a duration of 1 to n units, on the grid or off it.
func (m *maker) units(n int) time.Duration {
	d := time.Duration(m.upTo(n)) * m.unit
	switch m.grid {
	case onGrid:
		return d
	case offGrid:
		return max(1, d-time.Duration(m.Int64N(int64(m.unit))))
	}
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

// parts draws a duration of 1 to n units for each of so many parts.
func (m *maker) parts(count uint32, n int) time.Duration {
	if m.grid == onGrid {
		return time.Duration(count) * m.units(max(1, n/int(count)))
	}
	return max(m.units(n), time.Duration(count))
}

// of draws one of the values.
func of[T any](m *maker, values ...T) T { return values[m.IntN(len(values))] }

func (m *maker) policy() pipeline.Policy {
	p := pipeline.Policy{Name: "p"}
	kinds := []pipeline.Kind{
		pipeline.Limit, pipeline.Bulkhead, pipeline.Breaker, pipeline.Retry, pipeline.Timeout,
		pipeline.Limit, pipeline.Bulkhead, pipeline.Breaker, pipeline.Retry, pipeline.Hedge,
	}
	if m.chance(40) {
		// Few mechanisms, several of each.
		kinds = []pipeline.Kind{of(m, kinds...), of(m, kinds...)}
	}
	if m.chance(25) {
		kinds = append(kinds, pipeline.Hedge)
		p.Steps = m.added(p.Steps, pipeline.Hedge)
	}
	for n := m.upTo(of(m, 1, 2, 3, 5, 7)); n > 0; n-- {
		p.Steps = m.added(p.Steps, of(m, kinds...))
	}
	if m.chance(20) {
		p.Fallback = &fallback.Config{Status: 503, Body: "later"}
	}
	p.Steps = arranged(p.Steps)
	return p
}

// added returns the steps with one more of the kind at a random place, and
// without it where that would be a second retry or hedge.
func (m *maker) added(steps []pipeline.Step, kind pipeline.Kind) []pipeline.Step {
	if (kind == pipeline.Retry || kind == pipeline.Hedge) && index(steps, kind) >= 0 {
		return steps
	}
	s := pipeline.Step{Shadow: m.chance(15), Config: m.settings(kind)}
	if m.named {
		m.names++
		s.Name = "s" + strconv.Itoa(m.names)
	}
	if m.chance(20) || m.keyed && m.chance(60) {
		s.Per = of(m, []string{"key"}, []string{"key"}, []string{"header:x"}, []string{"key", "header:x"})
		m.keys(&s)
	}
	return slices.Insert(slices.Clone(steps), m.IntN(len(steps)+1), plain(s))
}

// keys draws what the step does with many keys and with none.
func (m *maker) keys(s *pipeline.Step) {
	s.Keys, s.WhenFull, s.Missing = 0, pipeline.FullEvict, pipeline.MissingShare
	if m.chance(60) {
		s.Keys = uint32(m.upTo(3))
	}
	if m.chance(30) {
		s.WhenFull = pipeline.FullShare
	}
	if m.chance(30) {
		s.Missing = of(m, pipeline.MissingDeny, pipeline.MissingSkip)
	}
}

// index returns the place of the first step of the kind, or -1.
func index(steps []pipeline.Step, kind pipeline.Kind) int {
	return slices.IndexFunc(steps, func(s pipeline.Step) bool { return s.Kind() == kind })
}

// arranged returns the steps with the hedge below the retry.
func arranged(steps []pipeline.Step) []pipeline.Step {
	r, h := index(steps, pipeline.Retry), index(steps, pipeline.Hedge)
	if h >= 0 && h < r {
		steps = slices.Clone(steps)
		steps[r], steps[h] = steps[h], steps[r]
	}
	return steps
}

// plain returns the step without what it cannot have: `per` where there are no
// cells, and what concerns keys without `per`.
func plain(s pipeline.Step) pipeline.Step {
	cells := true
	switch c := s.Config.(type) {
	case timeout.Config:
		cells = false
	case retry.Config:
		cells = c.Budgeted
	case hedge.Config:
		cells = c.Budgeted || c.Percentile > 0
	}
	if !cells {
		s.Per = nil
	}
	if len(s.Per) == 0 {
		s.Keys, s.WhenFull, s.Missing = 0, pipeline.FullEvict, pipeline.MissingShare
	}
	return s
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
	case pipeline.Hedge:
		return m.hedge()
	default:
		return timeout.Config{After: m.units(of(m, 4, 12, 30))}
	}
}

func (m *maker) retry() retry.Config {
	c := retry.Config{Attempts: uint32(m.upTo(5)), Backoff: m.backoff(true)}
	if m.chance(40) {
		c.Budgeted, c.Budget = true, m.budget()
	}
	return c
}

func (m *maker) budget() budget.Config {
	count := uint32(m.upTo(2))
	return budget.Config{
		Ratio:        of(m, reducer.Share(100_000), 333_333, 500_000, 1_000_000, 2_000_000),
		MinimumCount: count, MinimumPeriod: max(m.units(20), time.Duration(count)), Window: m.parts(10, 20),
	}
}

func (m *maker) hedge() hedge.Config {
	c := hedge.Config{Max: uint32(m.upTo(3))}
	switch n := m.IntN(100); {
	case n < 60:
		c.After = m.units(4)
	case n < 80:
		c.Percentile = of(m, reducer.Share(500_000), 333_333, 333_334, 900_000, 999_900, 1_000_000, 1)
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
		backoff.Constant, backoff.Linear, backoff.Exponential, backoff.Fibonacci, backoff.Decorrelated,
	}
	if none && m.chance(15) {
		return backoff.Config{}
	}
	if m.grid == onGrid {
		kinds = kinds[:4] // what is drawn at random is on no grid
	}
	c := backoff.Config{Kind: of(m, kinds...), Base: m.units(3)}
	switch c.Kind {
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
		c.Span = m.parts(c.Count, 8)
	}
	if m.chance(40) {
		c.SlowOver = m.units(3)
		c.SlowRate = of(m, reducer.Share(500_000), 800_000, 333_333, 1_000_000)
	}
	return c
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
