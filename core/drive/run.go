package drive

import (
	"time"

	"github.com/sluice-go/sluice/clock"
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
	effect := d.advance(c, pipeline.Event{Kind: pipeline.Woken})
	if effect.Cut != 0 {
		d.cut(c, effect, attempt)
		return
	}
	for i := range c.nodes {
		waits := c.Phase == pipeline.Waiting && int(c.At) == i && c.Until <= d.now
		if waits || c.Phantom&(1<<i) != 0 && clock.Mark(c.Slots[i].Generation) <= d.now {
			d.expire(c, i, c.Slots[i].ID)
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

func (d *Driver) cut(c *call, effect pipeline.Effect, attempt uint32) {
	i, _ := effect.CutStep()
	d.leave(c, effect)
	x := d.tellOf(c, Timeout, i)
	x.Attempt, x.Shadow = attempt, c.layout.plan.Shadow(i)
	effect.LeaveFrom = effect.LeaveTo
	d.run(c, effect)
}

func (d *Driver) expire(c *call, i int, ticket uint64) {
	answer := d.step(c.nodes[i], reducer.Action{Kind: reducer.Expire, Permit: reducer.Permit{ID: ticket}})
	if answer.Verdict == reducer.Wait {
		c.layout.plan.WaitUntil(&c.Call, i, clock.Never)
		n := c.nodes[i]
		n.turns = append(n.turns, turn{c.handle, i})
		d.rearm(c)
		return
	}
	d.run(c, d.advance(c, pipeline.Event{Kind: pipeline.Dropped, Step: uint8(i), Answer: answer}))
}

// step steps a cell and sees to what it does to others.
func (d *Driver) step(n *node, a reducer.Action) reducer.Answer {
	out := d.out[:0]
	answer := n.cell.Step(a, d.now, &out)
	d.arm(n)
	if len(n.turns) > 0 && a.Kind != reducer.Expire {
		d.recall(n)
	}
	if len(out) > 0 {
		d.out = nil
		d.deliver(out)
	}
	d.out = out
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

// caller returns the call that an effect concerns. A breaker's change concerns
// none, and any will do.
func (d *Driver) caller(e reducer.Effect) *call { return d.calls[e.Caller>>4] }

// deliver tells calls what the step of a cell did to them.
func (d *Driver) deliver(out reducer.Out) {
	for _, e := range out {
		if e.Kind == reducer.Change {
			continue
		}
		c := d.caller(e)
		if c.layout == nil {
			continue // an effect before this one ended the call
		}
		event := pipeline.Event{Step: uint8(e.Caller & 15)}
		switch e.Kind {
		case reducer.Grant:
			event.Kind, event.Answer = pipeline.Granted, reducer.Admitted(e.Permit)
		case reducer.Drop:
			event.Kind, event.Answer = pipeline.Dropped, reducer.Answer{Reason: e.Reason}
		default:
			i := int(event.Step)
			x := d.tellOf(c, Lapse, i)
			x.Attempt, x.Shadow = c.attempt(), c.layout.plan.Shadow(i)
			continue
		}
		d.run(c, d.advance(c, event))
	}
}

// leave leaves the cells that an effect names, in reverse order.
func (d *Driver) leave(c *call, e pipeline.Effect) {
	for i := int(e.LeaveFrom) - 1; i >= int(e.LeaveTo); i-- {
		if a, ok := c.layout.plan.Leave(&c.Call, i); ok {
			d.step(c.nodes[i], a)
		}
	}
}

// run does what an effect says, and what follows from it.
func (d *Driver) run(c *call, e pipeline.Effect) {
	for {
		d.leave(c, e)
		switch e.Do {
		case pipeline.Enter:
			e = d.enter(c, int(e.From))
			continue
		case pipeline.Consult:
			e = d.consult(c, e)
			continue
		case pipeline.Start:
			d.started(c)
		case pipeline.Sleep:
			d.again(c, e)
		case pipeline.Return:
			x := d.tell(c.handle, End)
			x.Outcome, x.Attempt, x.Reason = e.Outcome, c.Retry.Attempt, e.Reason
			x.Fallback, x.Last = c.layout.plan.Fallback() != nil && fallback.Covers(e.Outcome), true
		case pipeline.Refuse:
			d.refused(c, int(e.Step), e.Reason, e.At, false)
		case pipeline.GiveUp:
			last := c.Phase == pipeline.Over
			x := d.tellOf(c, Expire, int(e.Step))
			x.Reason, x.Shadow, x.Last = e.Reason, !last, last
			x.Fallback = last && c.layout.plan.Fallback() != nil
		}
		if c.Phase == pipeline.Over {
			d.drop(c)
			return
		}
		d.rearm(c)
		return
	}
}

// enter takes a call through the steps from one on.
func (d *Driver) enter(c *call, from int) pipeline.Effect {
	plan := c.layout.plan
	for i := from; i < plan.Len(); i++ {
		var answer reducer.Answer
		a, ask := plan.Passes(i, &c.Call, uint64(c.handle.slot)<<4|uint64(i))
		if ask {
			answer = d.step(d.resolve(c, i), a)
		}
		next, shadow := plan.Pass(&c.Call, i, ask, answer, d.now)
		waits := answer.Verdict == reducer.Wait
		switch {
		case waits:
			until, _ := answer.Until()
			x := d.tellOf(c, Wait, i)
			x.Attempt, x.Until, x.Shadow = c.attempt(), until, shadow
		case shadow:
			d.refused(c, i, answer.Reason, answer.Mark, true)
		}
		if next != pipeline.Entered {
			return d.advance(c, pipeline.Event{Kind: next, Step: uint8(i), Answer: answer})
		}
	}
	return d.advance(c, pipeline.Event{Kind: pipeline.Entered})
}

func (d *Driver) refused(c *call, i int, why reducer.Reason, at clock.Mark, shadow bool) {
	retryAfter := time.Duration(-1)
	if at != clock.Never {
		retryAfter = max(0, at.Sub(d.now))
	}
	x := d.tellOf(c, Reject, i)
	x.Reason, x.RetryAfter, x.Shadow, x.Last = why, retryAfter, shadow, !shadow
	x.Fallback = !shadow && c.layout.plan.Fallback() != nil
}

// started tells of an attempt, and counts the first one in the retry's budget.
func (d *Driver) started(c *call) {
	if _, budget := c.layout.plan.Consults(); budget >= 0 && c.Retry.Attempt == 1 {
		d.step(d.resolve(c, budget), reducer.Action{Kind: reducer.Record})
	}
	d.tell(c.handle, Admit).Attempt = c.Retry.Attempt
}

// consult asks the breakers below the retry, then the budget.
func (d *Driver) consult(c *call, e pipeline.Effect) pipeline.Effect {
	plan := c.layout.plan
	breakers, budget := plan.Consults()
	event := pipeline.Event{Kind: pipeline.Consulted, Granted: true}
	ask := reducer.Action{Kind: reducer.Peek}
	if e.Outcome == reducer.Timeout {
		// A cut is one of the ends of this mark, a breaker's change comes after
		// them; what an event ends comes after all that was due.
		ask.Outcome = e.Outcome
	}
	for i, n := range c.nodes {
		if breakers&(1<<i) != 0 && n != nil {
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
	return d.advance(c, event)
}

// tell adds a decision, whose other fields are the caller's to fill in.
func (d *Driver) tell(h Handle, kind Kind) *Decision {
	d.Decisions = append(d.Decisions, Decision{})
	x := &d.Decisions[len(d.Decisions)-1]
	x.At, x.Call, x.Kind, x.Index = d.now, h, kind, -1
	return x
}

// tellOf is tell for a decision of a step; that of index -1 is the deadline.
func (d *Driver) tellOf(c *call, kind Kind, i int) *Decision {
	x := d.tell(c.handle, kind)
	x.Step, x.Index = c.layout.plan.StepName(i), i
	if d.Describe != nil && kind != Timeout && kind != Expire && c.nodes[i] != nil {
		x.State = d.Describe(c.nodes[i].cell, d.now)
	}
	return x
}

// again tells that another attempt follows.
func (d *Driver) again(c *call, e pipeline.Effect) *Decision {
	x := d.tell(c.handle, Retry)
	x.Attempt, x.Reason, x.Until = c.Retry.Attempt, reducer.CauseOf(e.Outcome), e.At
	return x
}
