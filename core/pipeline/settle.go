package pipeline

import (
	"math/bits"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// Settles reports whether a step of the plan settles the permits of attempts that ran.
func (p *Plan) Settles() bool { return p.with(mechanism.Settles) != 0 }

// Obeys reports whether a step takes the retry-after of an answer.
func (p *Plan) Obeys() bool { return p.with(mechanism.Obeys) != 0 }

// SettlesAt is Settles for a step.
func (p *Plan) SettlesAt(i int) bool { return p.with(mechanism.Settles)&(1<<i) != 0 }

// Use notes what the attempt k, which runs, has used, before Finish ends it. Steps above
// a retry or a hedge settle the sum of what the attempts below them have used.
func (p *Plan) Use(c *Call, k uint8, used uint64) {
	for left := p.with(mechanism.Settles); left != 0; left &= left - 1 {
		i, bit := lowest(left), left&-left
		if p.holder(c, k, i).Held&bit == 0 {
			continue
		}
		if c.Spent&bit == 0 {
			c.Spent |= bit
			c.Used[i] = 0
		}
		sum, carry := bits.Add64(c.Used[i], used, 0)
		c.Used[i] = sum | -carry
	}
}

// check returns the permits of a step that takes nothing at the start: they only had to
// be free.
func (p *Plan) check(h Host, c *Call, k uint8, i int) {
	a := p.holder(c, k, i)
	if bit := uint16(1) << i; p.with(mechanism.SettlesAll)&a.Held&bit != 0 {
		h.Leave(k, i, reducer.Action{Kind: reducer.Cancel, Permit: a.Slots[i], Cost: p.CostOf(c, i)})
	}
}

// settling returns the action with which an attempt leaves a step that settles its
// permits, 0 for none.
func (p *Plan) settling(c *Call, a *Attempt, i int, ran bool) reducer.Kind {
	s, bit := &p.stages[i], uint16(1)<<i
	spent := c.Spent&bit != 0
	c.Spent &^= bit
	end := s.charge == limiter.ChargeEnd
	switch {
	case ran && s.counts.Has(a.Outcome):
		if end && !spent {
			c.Used[i] = uint64(p.CostOf(c, i))
		}
		if end || spent && s.charge == limiter.ChargeSettle {
			return reducer.Settle
		}
	case !end:
		return reducer.Cancel
	}
	return 0
}

// charged returns the permits that a call which ends takes in all: what it used, at most so
// much beyond its cost as the step allows.
func (p *Plan) charged(c *Call, i int) uint64 {
	return min(c.Used[i], uint64(p.CostOf(c, i))+uint64(p.stages[i].beyond))
}

// Left is what Host.Leave returns of the answer of a cell to an action.
func Left(kind reducer.Kind, answer *reducer.Answer) (dropped uint64, settled bool) {
	return answer.Dropped(), kind == reducer.Settle && answer.Verdict == reducer.Done
}

// tellClamped passes on that the end of a call took less than the call used: the step or,
// the cell dropped some permits.
func (p *Plan) tellClamped(h Host, c *Call, i int, dropped uint64) {
	dropped += c.Used[i] - p.charged(c, i)
	if dropped == 0 {
		return
	}
	if d := h.Decision(decision.Clamped, i); d != nil {
		d.Dropped, d.Shadow = dropped, c.InShadow(i)
		h.Tell(d)
	}
}
