package pipeline

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// Advance is Reduce in place. An event that does not fit the phase of the call
// changes nothing.
func (p *Plan) Advance(c *Call, e *Event, now clock.Mark) Effect {
	switch e.Kind {
	case Entered:
		return p.Start(c, now)
	case Refused:
		if c.Phase == Entering {
			effect := p.abandon(c, Effect{Do: Refuse, Step: e.Step, Reason: e.Answer.Reason, At: clock.Never})
			effect.At = e.Answer.Mark
			return effect
		}
	case Parked:
		if c.Phase == Entering {
			c.Phase, c.At, c.Until = Waiting, e.Step, e.Answer.WaitEnds()
		}
	case Granted:
		return p.granted(c, e)
	case Dropped:
		return p.dropped(c, e)
	case Finished:
		if c.Phase == Running {
			return p.finish(c, e, now)
		}
	case Consulted:
		if c.Phase == Deciding {
			return p.decide(c, e)
		}
	case Woken:
		return p.wake(c, now)
	case Resumed:
		if c.Phase == Sleeping && c.Until <= now {
			c.Phase = Entering
			return Effect{Do: Enter, From: uint8(p.retry + 1)}
		}
	case Settled:
		if c.Phase == Running || c.Phase == Deciding {
			if c.Phase == Deciding {
				c.Entered = uint8(p.retry + 1)
			}
			c.Outcome = e.Outcome
			return p.end(c, Return, e.Outcome, reducer.NoReason)
		}
	case GaveUp:
		if c.Phase != Over {
			return p.abandon(c, Effect{Do: Return, Outcome: reducer.Cancelled})
		}
	}
	return Effect{}
}

// Start is Advance of Entered.
func (p *Plan) Start(c *Call, now clock.Mark) Effect {
	if c.Phase != Entering {
		return Effect{}
	}
	c.Phase = Running
	c.Started = now
	if c.Retry.Attempt == 0 {
		c.First = now
	}
	c.Retry.Attempt++
	return Effect{Do: Start}
}

// abandon ends the call without a vote in any breaker.
func (p *Plan) abandon(c *Call, e Effect) Effect {
	if c.Phase == Waiting {
		// Its place in the queue is left like a phantom's.
		c.Phantom |= 1 << c.At
	}
	c.Outcome = reducer.Cancelled
	left := p.end(c, e.Do, e.Outcome, e.Reason)
	left.Step, left.At = e.Step, e.At
	return left
}

// end ends the call and leaves all that it passed.
func (p *Plan) end(c *Call, do Do, outcome reducer.Outcome, why reducer.Reason) Effect {
	if c.Phase != Running {
		// Permits of an attempt that did not start are refunded, see Leave.
		c.Started = clock.Always
	}
	c.Phase = Over
	return Effect{Do: do, Outcome: outcome, Reason: why, LeaveFrom: c.Entered}
}

func (p *Plan) granted(c *Call, e *Event) Effect {
	bit := uint16(1) << e.Step
	switch {
	case c.Phase == Waiting && c.At == e.Step:
		c.Slots[e.Step] = e.Answer.Permit
		c.Held |= bit
		c.Phase = Entering
		return Effect{Do: Enter, From: e.Step + 1}
	case c.Phantom&bit != 0:
		c.Slots[e.Step] = e.Answer.Permit
		c.Held |= bit
		c.Phantom &^= bit
	}
	return Effect{}
}

func (p *Plan) dropped(c *Call, e *Event) Effect {
	bit := uint16(1) << e.Step
	switch {
	case c.Phase == Waiting && c.At == e.Step:
		c.Phase = Entering
		return p.abandon(c, Effect{Do: GiveUp, Step: e.Step, Reason: e.Answer.Reason})
	case c.Phantom&bit != 0:
		c.Phantom &^= bit
		return Effect{Do: GiveUp, Step: e.Step, Reason: e.Answer.Reason}
	}
	return Effect{}
}

// finish settles an attempt, and decides whether another may follow.
func (p *Plan) finish(c *Call, e *Event, now clock.Mark) Effect {
	c.Outcome = e.Outcome
	if p.retry < 0 || !retry.Retries(e.Outcome) {
		return p.end(c, Return, e.Outcome, reducer.NoReason)
	}
	state, verdict := p.stages[p.retry].retry.Next(c.Retry, retry.End{
		Outcome: e.Outcome, Told: e.Told, RetryAfter: e.RetryAfter, Deadline: p.deadline(c), Seed: c.Seed,
	}, now)
	c.Retry = state
	if !verdict.Again {
		if p.stages[p.retry].shadow {
			verdict.Reason = reducer.NoReason
		}
		return p.end(c, Return, e.Outcome, verdict.Reason)
	}
	c.Phase, c.Until = Deciding, verdict.Until
	return Effect{Do: Consult, Outcome: e.Outcome, LeaveFrom: c.Entered, LeaveTo: uint8(p.retry + 1), At: verdict.Until}
}

// deadline returns the earliest deadline of the timeouts above the retry.
func (p *Plan) deadline(c *Call) clock.Mark {
	at := c.Deadline
	for i := range p.retry {
		if s := &p.stages[i]; s.kind == Timeout && !s.shadow {
			at = min(at, c.Slots[i].Mark)
		}
	}
	return at
}

// decide goes on after the consultation.
func (p *Plan) decide(c *Call, e *Event) Effect {
	c.Entered = uint8(p.retry + 1)
	if !e.Open && e.Granted && !p.stages[p.retry].shadow {
		c.Phase = Sleeping
		return Effect{Do: Sleep, Outcome: c.Outcome, At: c.Until}
	}
	why := reducer.ReasonBudget
	switch {
	case p.stages[p.retry].shadow:
		why = reducer.NoReason
	case e.Open:
		why = reducer.ReasonOpen
	}
	return p.end(c, Return, c.Outcome, why)
}

// wake cuts the call by the outermost timeout that is due. In shadow it only
// tells of it; the driver wakes the call until nothing is told any more.
func (p *Plan) wake(c *Call, now clock.Mark) Effect {
	if c.Phase == Over {
		return Effect{}
	}
	if c.Deadline <= now && c.Deadline != clock.Never {
		return p.cut(c, -1, now)
	}
	for i := range int(c.Entered) {
		if p.stages[i].kind != Timeout || c.Fired&(1<<i) != 0 || c.Slots[i].Mark > now || c.Slots[i].Mark == clock.Never {
			continue
		}
		c.Fired |= 1 << i
		if p.stages[i].shadow {
			return Effect{Cut: uint8(i + 2)}
		}
		return p.cut(c, i, now)
	}
	return Effect{}
}

func (p *Plan) cut(c *Call, i int, now clock.Mark) (effect Effect) {
	switch {
	case c.Phase == Running && p.retry >= 0 && i > p.retry:
		effect = p.finish(c, &Event{Outcome: reducer.Timeout}, now)
	case c.Phase == Running:
		c.Outcome = reducer.Timeout
		effect = p.end(c, Return, reducer.Timeout, reducer.NoReason)
	default:
		effect = p.abandon(c, Effect{Do: Return, Outcome: reducer.Timeout})
	}
	effect.Cut = uint8(i + 2)
	return effect
}

// Leave returns the action with which a call leaves the cell of a step, and
// false where there is none. Limiters keep what ran, and refund what did not;
// breakers get the outcome as a vote; bulkheads get their place back.
func (p *Plan) Leave(c *Call, i int) (reducer.Action, bool) {
	kind, permit := p.Leaving(c, i)
	a := reducer.Action{Kind: kind, Permit: permit}
	switch kind {
	case reducer.Cancel:
		a.Cost = c.Cost
	case reducer.Record:
		a.Outcome = c.Outcome
	}
	return a, kind != 0
}

// Leaving is Leave without the words of an action: its kind, 0 for none, and
// the permit that it is about.
func (p *Plan) Leaving(c *Call, i int) (reducer.Kind, reducer.Permit) {
	bit := uint16(1) << i
	slot := c.Slots[i]
	if c.Phantom&bit != 0 {
		c.Phantom &^= bit
		return reducer.Leave, reducer.Permit{ID: slot.ID}
	}
	if c.Held&bit == 0 {
		return 0, reducer.Permit{}
	}
	c.Held &^= bit
	above := i < p.retry
	switch p.stages[i].kind {
	case Limit:
		ran := c.Started != clock.Always
		if above {
			ran = c.Retry.Attempt > 0
		}
		if ran {
			return 0, reducer.Permit{}
		}
		return reducer.Cancel, slot
	case Breaker:
		slot.Mark = c.Started
		if above {
			slot.Mark = c.First
		}
		return reducer.Record, slot
	default:
		return reducer.Release, slot
	}
}

// Consults returns the mask of the steps whose breakers are asked about a
// retry, and the budget's step, -1 for none.
func (p *Plan) Consults() (breakers uint16, budget int) {
	if p.retry >= 0 && p.stages[p.retry].maker != nil {
		return p.breakers, p.retry
	}
	return p.breakers, -1
}
