package generate

import (
	"time"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// changed returns another policy that has much in common with the given one.
func (m *maker) changed(p pipeline.Policy) pipeline.Policy {
	if m.chance(10) || p.Pass || m.passes && m.chance(50) {
		return m.policy()
	}
	next := pipeline.Policy{Name: p.Name, Fallback: p.Fallback, Allow: p.Allow, Deny: p.Deny}
	tighter := m.chance(35)
	for _, s := range p.Steps {
		s.Per = append([]string(nil), s.Per...)
		switch m.IntN(12) {
		case 0:
			continue
		case 1:
			s.Shadow = !s.Shadow
		case 2:
			s.Per = of(m, nil, []string{"key"}, []string{"header:x"})
		case 3, 4, 5:
			s.Config = m.settings(s.Kind())
		case 6, 7, 8:
			m.partly(&s)
		case 9:
			m.keys(&s)
		case 10:
			m.choose(&s)
		}
		if tighter && s.Kind() == mechanism.Limit {
			pipeline.Edit(&s, func(c *limiter.Config) { c.Count, c.Burst = 1, min(c.Burst, 1) })
		}
		next.Steps = append(next.Steps, plain(s))
	}
	if m.chance(15) || len(next.Steps) == 0 {
		kinds := []pipeline.Kind{mechanism.Limit, mechanism.Breaker, mechanism.Bulkhead, mechanism.Retry, mechanism.Hedge}
		next.Steps = m.added(next.Steps, of(m, m.among(kinds)...))
	}
	if m.chance(10) {
		m.Shuffle(len(next.Steps), func(i, j int) {
			next.Steps[i], next.Steps[j] = next.Steps[j], next.Steps[i]
		})
	}
	next.Steps = arranged(next.Steps)
	return next
}

// partly changes one setting of the step. Settings that the mechanism refuses together stay as
// they were.
func (m *maker) partly(s *pipeline.Step) {
	before := s.Config
	m.change(s)
	if _, err := mechanisms.Compile(s.Config); err != nil {
		s.Config = before
	}
}

// change changes one setting, whether or not the mechanism takes it beside the others.
func (m *maker) change(s *pipeline.Step) {
	switch c := s.Config.(type) {
	case breaker.Config:
		m.partlyBreaker(&c)
		s.Config = c
	case limiter.Config:
		m.partlyLimit(&c)
		s.Config = c
	case bulkhead.Config:
		other := m.bulkhead()
		c.Concurrent = other.Concurrent
		if m.priced && m.chance(25) {
			c.Cost = other.Cost
		}
		s.Config = c
	case retry.Config:
		if c.Budgeted {
			m.partlyBudget(&c.Budget)
			s.Config = c
		}
	case hedge.Config:
		m.partlyHedge(&c)
		s.Config = c
	default:
		s.Config = m.settings(s.Kind())
	}
}

func (m *maker) partlyBreaker(c *breaker.Config) {
	other := m.breaker()
	switch m.IntN(7) {
	case 6:
		if c.Window == breaker.Consecutive {
			c.Forget = of(m, 0, m.units(6))
		}
	case 4:
		c.RampOver, c.RampFrom = other.RampOver, other.RampFrom
	case 5:
		c.SlowOver, c.SlowRate, c.SlowConsecutive = other.SlowOver, other.SlowRate, other.SlowConsecutive
		if c.Window == breaker.Consecutive {
			c.SlowRate = reducer.Share{}
			if c.SlowConsecutive == 0 {
				c.SlowOver = 0
			}
		}
	case 0:
		c.Probes = uint32(m.upTo(3))
		c.Successes = min(c.Successes, c.Probes)
	case 1:
		c.Open = other.Open
	case 2:
		c.HalfOpenMax = other.HalfOpenMax
	case 3:
		if c.Window != breaker.Consecutive {
			c.FailureRate = reducer.Millionths(of(m, uint32(500_000), 250_000, 1_000_000))
		}
	}
}

func (m *maker) partlyBudget(c *budget.Config) {
	switch c.Rule {
	case budget.Windowed:
		c.Ratio = reducer.Millionths(uint32(m.upTo(2) * 250_000))
	case budget.Adaptive:
		c.OneAbove = reducer.Millionths(of(m, c.TwoAbove.Millionths(), reducer.Whole))
	case budget.Tokens:
		c.Tokens = max(c.Retry, c.Timeout, c.Refund) + uint32(m.IntN(5))
	case budget.Throttle:
		c.Tokens = uint32(m.upTo(6))
	}
}

func (m *maker) partlyHedge(c *hedge.Config) {
	other := m.hedge()
	switch m.IntN(3) {
	case 0:
		c.Max = other.Max
	case 1:
		c.Budgeted, c.Budget = other.Budgeted, other.Budget
	case 2:
		if c.Percentile.Positive() {
			c.Samples = c.Minimum + uint32(m.IntN(4))
		}
	}
}

func (m *maker) partlyLimit(c *limiter.Config) {
	other := m.limit()
	switch m.IntN(6) {
	case 4:
		c.WarmUp = limiter.WarmUp{}
		if c.Algorithm == limiter.TokenBucket {
			c.WarmUp = m.warmUp()
		}
	case 5:
		c.Block = other.Block
	case 0, 1:
		c.Count = m.count()
		if c.Algorithm == limiter.TokenBucket {
			c.Burst = m.count()
		}
	case 2:
		if c.Period = other.Period; c.Algorithm == limiter.FixedWindow {
			m.windows(c)
		}
	case 3:
		c.Wait, c.Queue, c.Order = other.Wait, other.Queue, other.Order
	}
	if c.Wait > 0 {
		c.Block = limiter.Block{}
	}
	if m.priced && m.chance(25) {
		c.Cost, c.Charge, c.SettleMax, c.Counts = other.Cost, other.Charge, other.SettleMax, other.Counts
	}
	c.Period = max(c.Period, time.Duration(c.Count))
	if m.grid == onGrid {
		c.Period = m.parts(c.Count, 8)
	}
	if c.Calendar.Unit != calendar.NoUnit {
		c.Period = c.Calendar.Unit.Length()
	}
}
