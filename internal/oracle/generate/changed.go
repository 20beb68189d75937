package generate

import (
	"time"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// changed returns another policy that has much in common with the given one.
func (m *maker) changed(p pipeline.Policy) pipeline.Policy {
	if m.chance(10) {
		return m.policy()
	}
	next := pipeline.Policy{Name: p.Name, Fallback: p.Fallback}
	tighter := m.chance(35)
	for _, s := range p.Steps {
		s.Per = append([]string(nil), s.Per...)
		switch m.IntN(12) {
		case 0:
			continue
		case 1:
			s.Shadow = !s.Shadow
		case 2:
			if s.Kind != pipeline.Timeout {
				s.Per = of(m, nil, []string{"key"}, []string{"header:x"})
			}
		case 3, 4, 5:
			m.settings(&s)
		case 6, 7, 8:
			m.partly(&s)
		}
		if tighter && s.Kind == pipeline.Limit {
			s.Limit.Count, s.Limit.Burst = 1, min(s.Limit.Burst, 1)
		}
		next.Steps = append(next.Steps, s)
	}
	if m.chance(15) || len(next.Steps) == 0 {
		if s, ok := m.step(next, of(m, pipeline.Limit, pipeline.Breaker, pipeline.Bulkhead, pipeline.Retry)); ok {
			at := m.IntN(len(next.Steps) + 1)
			next.Steps = append(next.Steps[:at:at], append([]pipeline.Step{s}, next.Steps[at:]...)...)
		}
	}
	if m.chance(10) {
		m.Shuffle(len(next.Steps), func(i, j int) {
			next.Steps[i], next.Steps[j] = next.Steps[j], next.Steps[i]
		})
	}
	return next
}

// partly changes one setting of the step.
func (m *maker) partly(s *pipeline.Step) {
	other := *s
	m.settings(&other)
	switch s.Kind {
	case pipeline.Breaker:
		b := &s.Breaker
		switch m.IntN(4) {
		case 0:
			b.Probes = uint32(m.upTo(3))
		case 1:
			b.Open = other.Breaker.Open
		case 2:
			b.HalfOpenMax = other.Breaker.HalfOpenMax
		case 3:
			if b.Window != breaker.Consecutive {
				b.FailureRate = of(m, reducer.Share(500_000), 250_000, 1_000_000)
			}
		}
	case pipeline.Limit:
		l := &s.Limit
		switch m.IntN(4) {
		case 0, 1:
			l.Count = m.count()
			if l.Algorithm == limiter.TokenBucket {
				l.Burst = m.count()
			}
		case 2:
			l.Period = other.Limit.Period
		case 3:
			l.Wait, l.Queue, l.Order = other.Limit.Wait, other.Limit.Queue, other.Limit.Order
		}
		l.Period = max(l.Period, time.Duration(l.Count))
	case pipeline.Bulkhead:
		s.Bulkhead.Concurrent = other.Bulkhead.Concurrent
	case pipeline.Retry:
		if s.Retry.Budgeted {
			s.Retry.Budget.Ratio = reducer.Share(m.upTo(2) * 250_000)
		}
	default:
		s.Timeout = other.Timeout
	}
}
