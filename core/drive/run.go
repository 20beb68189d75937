package drive

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// rearm sets the wake of a call.
func (d *Driver) rearm(c *call) {
	plan := c.layout.plan
	at, resume := plan.EndsAt(&c.Call), plan.ResumesAt(&c.Call)
	c.wake.class, c.wake.number = ends, c.number
	if resume < at {
		at, c.wake.class = resume, resumes
	}
	d.heap.set(&c.wake, at)
}

// endCall brings about the ends of a call that are due: timeouts, then waits.
func (d *Driver) endCall(c *call) {
	attempt := c.attempt()
	effect := c.layout.plan.Advance(&c.Call, &pipeline.Event{Kind: pipeline.Woken}, d.now)
	if effect.Cut != 0 {
		d.cut(c, &effect, attempt)
		return
	}
	for i := range c.layout.plan.Len() {
		waits := c.Phase == pipeline.Waiting && int(c.At) == i && c.Until <= d.now
		if waits || c.Phantom&(1<<i) != 0 && clock.Mark(c.Slots[i].Generation) <= d.now {
			d.expire(c, i)
			return
		}
	}
	d.rearm(c)
}

// attempt returns the number of the attempt that runs or is to run.
func (c *call) attempt() uint32 {
	if c.Phase == pipeline.Entering || c.Phase == pipeline.Waiting {
		return c.Retry.Attempt + 1
	}
	return c.Retry.Attempt
}

func (d *Driver) cut(c *call, effect *pipeline.Effect, attempt uint32) {
	i, _ := effect.CutStep()
	d.leave(c, effect)
	x := d.tellOf(c, decision.Timeout, i)
	x.Attempt, x.Shadow = attempt, c.layout.plan.Shadow(i)
	effect.LeaveFrom = effect.LeaveTo
	d.run(c, *effect)
}

func (d *Driver) expire(c *call, i int) {
	n := c.nodes[i]
	answer := d.step(n, reducer.Action{Kind: reducer.Expire, Permit: reducer.Permit{ID: c.Slots[i].ID}})
	if answer.Verdict == reducer.Wait {
		c.layout.plan.WaitUntil(&c.Call, i, clock.Never)
		n.turns = append(n.turns, turn{c.handle, i})
		d.rearm(c)
		return
	}
	d.advance(c, &pipeline.Event{Kind: pipeline.Dropped, Step: uint8(i), Answer: answer})
}

// step steps a cell and sees to what it does to others.
func (d *Driver) step(n *node, a reducer.Action) reducer.Answer {
	answer := d.touch(n, a)
	d.deliver()
	return answer
}

// touch steps a cell and leaves what it does to others in d.out.
func (d *Driver) touch(n *node, a reducer.Action) reducer.Answer {
	answer := n.cell.Step(a, d.now, &d.out)
	d.arm(n)
	if len(n.turns) > 0 && a.Kind != reducer.Expire {
		d.recall(n)
	}
	return answer
}

// recall asks again about the waits that were over at the mark of their turn:
// the cell has changed, and the turn may have gone to somebody else.
func (d *Driver) recall(n *node) {
	for _, t := range n.turns {
		if c := d.find(t.call); c != nil {
			c.layout.plan.WaitUntil(&c.Call, t.step, d.now)
			d.rearm(c)
		}
	}
	n.turns = n.turns[:0]
}

// caller returns the call that an effect names. A breaker's change names none,
// and what it would be is no matter.
func (d *Driver) caller(name uint64) *call { return d.calls[name>>4] }

// deliver tells calls what steps of cells did to them.
func (d *Driver) deliver() {
	if len(d.out) == 0 {
		return
	}
	out := d.out
	d.out = nil // what follows steps cells, too
	for i := range out {
		e := &out[i]
		if e.Kind == reducer.Change {
			continue
		}
		c := d.caller(e.Caller)
		if c.layout == nil {
			continue // an effect before this one ended the call
		}
		event := pipeline.Event{Step: uint8(e.Caller & 15)}
		switch e.Kind {
		case reducer.Grant:
			event.Kind, event.Answer.Verdict, event.Answer.Permit = pipeline.Granted, reducer.Admit, e.Permit
		case reducer.Drop:
			event.Kind, event.Answer.Reason = pipeline.Dropped, e.Reason
		default:
			i := int(event.Step)
			x := d.tellOf(c, decision.Lapse, i)
			x.Attempt, x.Shadow = c.attempt(), c.layout.plan.Shadow(i)
			continue
		}
		d.advance(c, &event)
	}
	d.out = out[:0]
}

// leave leaves the cells that an effect names, in reverse order.
func (d *Driver) leave(c *call, e *pipeline.Effect) {
	plan := c.layout.plan
	for left := c.Holds(e.LeaveFrom, e.LeaveTo); left != 0; {
		i := bits.Len16(left) - 1
		left &^= 1 << i
		kind, permit := plan.Leaving(&c.Call, i)
		n := c.nodes[i]
		switch {
		case kind == 0:
			continue
		case kind == reducer.Release || kind == reducer.Record && c.Outcome == reducer.OK:
			if len(n.turns) == 0 && n.cell.Exit(permit, d.now) {
				continue
			}
		}
		d.step(n, reducer.Action{Kind: kind, Outcome: c.Outcome, Cost: c.Cost, Permit: permit})
	}
}

// run does what an effect says, and what follows from it.
func (d *Driver) run(c *call, e pipeline.Effect) {
	for {
		d.leave(c, &e)
		switch e.Do {
		case pipeline.Enter:
			e = d.enter(c, int(e.From))
			continue
		case pipeline.Consult:
			e = d.consult(c, &e)
			continue
		case pipeline.Start:
			d.started(c)
		case pipeline.Sleep:
			d.again(c, &e)
		case pipeline.Return:
			x := d.tell(c.handle, decision.End)
			x.Outcome, x.Attempt, x.Reason = e.Outcome, c.Retry.Attempt, e.Reason
			x.Fallback, x.Last = c.layout.plan.Fallback() != nil && fallback.Covers(e.Outcome), true
		case pipeline.Refuse:
			d.refused(c, int(e.Step), e.Reason, e.At, false)
		case pipeline.GiveUp:
			last := c.Phase == pipeline.Over
			x := d.tellOf(c, decision.Expire, int(e.Step))
			x.Reason, x.Shadow, x.Last = e.Reason, !last, last
			x.Fallback = last && c.layout.plan.Fallback() != nil
		}
		if c.Phase == pipeline.Over {
			d.drop(c)
		} else {
			d.rearm(c)
		}
		return
	}
}

// enter takes a call through the steps from one on.
func (d *Driver) enter(c *call, from int) pipeline.Effect {
	plan := c.layout.plan
	for i := from; i < plan.Len(); i++ {
		if !plan.Asks(i) {
			plan.Skip(&c.Call, i, d.now)
			continue
		}
		n := d.resolve(c, i)
		caller := uint64(c.handle.Slot())<<4 | uint64(i)
		if len(n.turns) == 0 {
			if permit, ok := n.cell.Enter(c.Cost, caller, d.now); ok {
				c.Admit(i, permit)
				continue
			}
		}
		event := pipeline.Event{Step: uint8(i)}
		event.Answer = d.step(n, reducer.Action{Kind: reducer.Acquire, Cost: c.Cost, Permit: reducer.Permit{ID: caller}})
		var shadow bool
		event.Kind, shadow = plan.Pass(&c.Call, i, true, event.Answer, d.now)
		switch {
		case event.Answer.Verdict == reducer.Wait:
			x := d.tellOf(c, decision.Wait, i)
			x.Attempt, x.Shadow = c.attempt(), shadow
			x.Until, _ = event.Answer.Until()
		case shadow:
			d.refused(c, i, event.Answer.Reason, event.Answer.Mark, true)
		}
		if event.Kind != pipeline.Entered {
			return plan.Advance(&c.Call, &event, d.now)
		}
	}
	return plan.Start(&c.Call, d.now)
}

func (d *Driver) refused(c *call, i int, why reducer.Reason, at clock.Mark, shadow bool) {
	retryAfter := time.Duration(-1)
	if at != clock.Never {
		retryAfter = max(0, at.Sub(d.now))
	}
	x := d.tellOf(c, decision.Reject, i)
	x.Reason, x.RetryAfter, x.Shadow, x.Last = why, retryAfter, shadow, !shadow
	x.Fallback = !shadow && c.layout.plan.Fallback() != nil
}

// started tells of an attempt, and counts the first one in the retry's budget.
func (d *Driver) started(c *call) {
	if _, budget := c.layout.plan.Consults(); budget >= 0 && c.Retry.Attempt == 1 {
		d.step(d.resolve(c, budget), reducer.Action{Kind: reducer.Record})
	}
	d.tell(c.handle, decision.Admit).Attempt = c.Retry.Attempt
}

// consult asks the breakers below the retry, then the budget.
func (d *Driver) consult(c *call, e *pipeline.Effect) pipeline.Effect {
	plan := c.layout.plan
	breakers, budget := plan.Consults()
	event := pipeline.Event{Kind: pipeline.Consulted, Granted: true}
	ask := reducer.Action{Kind: reducer.Peek}
	if e.Outcome == reducer.Timeout {
		// A cut is one of the ends of this mark, a breaker's change comes after
		// them; what an event ends comes after all that was due.
		ask.Outcome = e.Outcome
	}
	for left := breakers; left != 0; left &= left - 1 {
		if n := c.nodes[bits.TrailingZeros16(left)]; n != nil {
			answer := d.step(n, ask)
			event.Open = event.Open || answer.Reason == reducer.ReasonOpen && answer.Mark > e.At
		}
	}
	if !event.Open && budget >= 0 {
		event.Granted = d.step(d.resolve(c, budget), reducer.Action{Kind: reducer.Acquire}).Verdict == reducer.Admit
	}
	if retry := plan.RetryIndex(); plan.Shadow(retry) && !event.Open && event.Granted {
		d.again(c, e).Shadow = true
	}
	return plan.Advance(&c.Call, &event, d.now)
}

// tell adds a decision, whose other fields are the caller's to fill in.
func (d *Driver) tell(h decision.Handle, kind decision.Kind) *decision.Decision {
	n := len(d.Decisions)
	if n == cap(d.Decisions) {
		d.Decisions = append(d.Decisions, decision.Decision{})
	}
	d.Decisions = d.Decisions[:n+1]
	x := &d.Decisions[n]
	*x = decision.Decision{At: d.now, Call: h, Kind: kind, Index: -1}
	return x
}

// tellOf is tell for a decision of a step; that of index -1 is the deadline.
func (d *Driver) tellOf(c *call, kind decision.Kind, i int) *decision.Decision {
	x := d.tell(c.handle, kind)
	x.Step, x.Index = c.layout.plan.StepName(i), i
	if d.Describe != nil && kind != decision.Timeout && kind != decision.Expire && c.nodes[i] != nil {
		x.State = d.Describe(c.nodes[i].cell, d.now)
	}
	return x
}

// again tells that another attempt follows.
func (d *Driver) again(c *call, e *pipeline.Effect) *decision.Decision {
	x := d.tell(c.handle, decision.Retry)
	x.Attempt, x.Reason, x.Until = c.Retry.Attempt, reducer.CauseOf(e.Outcome), e.At
	return x
}
