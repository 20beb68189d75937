package pipeline

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// The slot of the chaos step of an attempt that is held has heldID as its ID, and the
// end of the injected latency as its mark. What is injected is drawn again at that mark
// from the seed of the call and the number of the attempt.
const heldID = 1

// injection returns what the chaos step draws for the attempt k, which was admitted.
func (p *Plan) injection(c *Call, k uint8) chaos.Injection {
	return p.stages[p.chaos].chaos.Draw(c.Seed, c.NumberOf(k))
}

// hold holds the attempt k, which was admitted, where something is injected: it calls the
// dependency, or ends, at the end of the latency. Without latency it ends at this mark,
// after all else that is due at it, as a result of the dependency would.
func (p *Plan) hold(c *Call, k uint8, now clock.Mark) bool {
	slot := &c.Try(k).Slots[p.chaos]
	*slot = reducer.Permit{}
	if c.Skipped(p.chaos) {
		return false
	}
	x := p.injection(c, k)
	if x.Nothing() || c.InShadow(p.chaos) {
		return false
	}
	slot.ID, slot.Mark = heldID, now.Add(x.Delay)
	return true
}

// tellDelay reports the latency that is injected into the attempt k. A step in shadow
// reports the result, too, that it would inject at the end of the latency.
func (p *Plan) tellDelay(h Host, c *Call, k uint8, now clock.Mark) {
	if c.Skipped(p.chaos) {
		return
	}
	x := p.injection(c, k)
	if x.Delay > 0 {
		if d := p.injectDecision(h, c, k); d != nil {
			d.Until = now.Add(x.Delay)
			h.Tell(d)
		}
	}
	if x.Outcome != 0 && c.InShadow(p.chaos) {
		p.tellResult(h, c, k, x)
	}
}

// tellResult reports the result that is injected into the attempt k.
func (p *Plan) tellResult(h Host, c *Call, k uint8, x chaos.Injection) {
	if d := p.injectDecision(h, c, k); d != nil {
		d.Outcome = x.Outcome
		if x.RetryAfter > 0 {
			d.RetryAfter = x.RetryAfter
		}
		h.Tell(d)
	}
}

func (p *Plan) injectDecision(h Host, c *Call, k uint8) *decision.Decision {
	d := h.Decision(decision.Inject, p.chaos)
	if d != nil {
		d.Attempt, d.Shadow = c.NumberOf(k), c.InShadow(p.chaos)
		d.Until, d.RetryAfter = clock.Never, -1
	}
	return d
}

// Injects reports whether the plan has a chaos step, in shadow or not.
func (p *Plan) Injects() bool { return p.chaos >= 0 }

// held reports whether the attempt runs without having called the dependency.
func (p *Plan) held(a *Attempt) bool {
	return p.chaos >= 0 && a.Phase == Running && a.Slots[p.chaos].ID == heldID
}

// Held reports whether the attempt k waits for the end of injected latency or for its
// injected result.
func (p *Plan) Held(c *Call, k uint8) bool {
	a := c.Try(k)
	return a != nil && p.held(a)
}

// Find is Call.Find for the attempts that have called the dependency: one that is held
// cannot end by a result of the dependency.
func (p *Plan) Find(c *Call, number uint32) (k uint8, ok bool) {
	if p.chaos < 0 {
		return c.Find(number)
	}
	return p.findCalled(c, number)
}

func (p *Plan) findCalled(c *Call, number uint32) (k uint8, ok bool) {
	if k, ok = c.Find(number); !ok || !p.Held(c, k) {
		return k, ok
	}
	for k++; number == 0 && k <= c.Tries(); k++ {
		if a := c.Try(k); a.Phase == Running && !p.held(a) {
			return k, true
		}
	}
	return 0, false
}

// InjectsAt returns the mark of the next end of injected latency, or of the next injected
// result, clock.Never for none.
func (p *Plan) InjectsAt(c *Call) clock.Mark {
	if p.chaos < 0 {
		return clock.Never
	}
	return p.injectsAt(c)
}

func (p *Plan) injectsAt(c *Call) clock.Mark {
	at := clock.Never
	for k := range c.Tries() + 1 {
		if a := c.Try(k); p.held(a) {
			at = min(at, a.Slots[p.chaos].Mark)
		}
	}
	return at
}

// Inject ends the injected latency of the first attempt for which that is due: the
// attempt ends with its injected result, or else calls the dependency.
func (p *Plan) Inject(h Host, c *Call, now clock.Mark) {
	for k := range c.Tries() + 1 {
		a := c.Try(k)
		if !p.held(a) || a.Slots[p.chaos].Mark > now {
			continue
		}
		a.Slots[p.chaos].ID = 0
		x := p.injection(c, k)
		if x.Outcome != 0 {
			p.tellResult(h, c, k, x)
			p.Finish(h, c, k, x.Outcome, x.RetryAfter > 0, x.RetryAfter, now)
			return
		}
		if d := h.Decision(decision.Start, p.chaos); d != nil {
			d.Attempt = c.NumberOf(k)
			h.Tell(d)
		}
		h.Start(k)
		return
	}
}
