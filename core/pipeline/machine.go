package pipeline

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// Advance returns what has to be done after an event and changes the call in place.
// An event that does not fit the phase of the call or the attempt changes nothing.
func (p *Plan) Advance(c *Call, e *Event, now clock.Mark) Effect {
	if assert.On {
		return p.assertAdvance(c, e, now)
	}
	return p.advance(c, e, now)
}

func (p *Plan) advance(c *Call, e *Event, now clock.Mark) Effect {
	a := c.Try(e.Attempt)
	if a == nil {
		return Effect{}
	}
	switch e.Kind {
	case Entered:
		return p.Start(c, e.Attempt, now)
	case Refused:
		if a.Phase == Entering {
			return p.refused(c, e, now)
		}
	case Parked:
		if a.Phase == Entering {
			a.Phase, a.At, a.Until = Waiting, e.Step, e.Answer.WaitEnds()
		}
	case Granted:
		return p.granted(a, e)
	case Dropped:
		return p.dropped(c, a, e)
	case Finished:
		if a.Phase == Running {
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
			c.Phase, c.Round = Entering, clock.Always
			c.Slots[p.retry].Generation = uint64(now)
			return Effect{Do: Enter, Step: uint8(p.retry + 1)}
		}
	case Hedged:
		if c.Phase == Racing && c.Race.Left > 0 {
			return p.hedged(c, e)
		}
	case Continued:
		if c.Phase == Settling {
			return p.settle(c, now)
		}
	case Settled:
		return p.settled(c, e)
	case Abandoned:
		if c.Phase != Over {
			return p.abandon(c, 0, Effect{Do: Return}.because(reducer.Cancelled, 0))
		}
	}
	return Effect{}
}

// Start is Advance of Entered: the attempt starts, or, where it has passed the
// steps down to a hedge, a round of attempts does.
func (p *Plan) Start(c *Call, k uint8, now clock.Mark) Effect {
	a := c.Try(k)
	switch {
	case a.Phase != Entering:
		return Effect{}
	case k == 0 && p.hedge >= 0:
		return p.startRound(c)
	}
	a.Phase, a.Started = Running, now
	if c.Round == clock.Always {
		c.Round = now
		c.Retry.Attempt++
	}
	if c.Admitted == 0 {
		c.First = now
	}
	c.Admitted++
	return Effect{Do: Start}.of(k)
}

// refused ends an attempt that a step does not admit, and the call unless other
// attempts are active or the retry waits.
func (p *Plan) refused(c *Call, e *Event, now clock.Mark) Effect {
	if e.Attempt > 0 && c.lives(e.Attempt) {
		return p.dropTry(c, e.Attempt, e.Step, e.Answer.Reason)
	}
	if p.WaitsFor(int(e.Step)) && !c.Skipped(p.retry) && !c.InShadow(p.retry) && c.Round == clock.Always && e.Answer.Mark != clock.Never {
		if effect, waits := p.waitRefused(c, e, now); waits {
			return effect
		}
	}
	return p.abandon(c, e.Attempt, Effect{Do: Refuse, Step: e.Step, At: e.Answer.Mark}.because(0, e.Answer.Reason))
}

// WaitsFor reports whether the retry waits where step i refuses a round for a time.
func (p *Plan) WaitsFor(i int) bool {
	return p.retry >= 0 && i > p.retry && p.stages[p.retry].retry.Waits() && !p.Shadow(p.retry)
}

// waitRefused lets a round that a step refused begin anew after the time that the
// refusal names, if the retry allows another one by then. No attempt of the round has
// run, so that it leaves the steps without an outcome, and neither a breaker nor the
// budget is consulted.
func (p *Plan) waitRefused(c *Call, e *Event, now clock.Mark) (effect Effect, waits bool) {
	state := c.Retry
	state.Attempt++
	state, verdict := p.stages[p.retry].retry.Next(state, retry.End{
		Outcome: reducer.Throttle, Told: true, RetryAfter: max(0, e.Answer.Mark.Sub(now)),
		Deadline: p.deadlineAbove(c, 0, p.retry), Began: c.Slots[p.retry].Mark, Seed: c.Seed,
	}, now)
	if !verdict.Again {
		return effect, false
	}
	c.Retry = state
	a := c.Try(e.Attempt)
	effect = Effect{Do: Sleep, Step: e.Step, At: verdict.Until}.of(e.Attempt).because(reducer.Cancelled, e.Answer.Reason).leaving(a.Entered, uint8(p.retry+1))
	a.Phase, a.Outcome = Over, reducer.Cancelled
	if e.Attempt > 0 && a.Number == c.Race.Numbered {
		c.Race.Numbered-- // the next attempt has the number
	}
	c.Phase, c.Outcome, c.Until, c.Entered = Sleeping, reducer.Cancelled, verdict.Until, uint8(p.retry+1)
	return effect, true
}

// abandon ends the call without an outcome for any breaker. k is the attempt that
// causes it, the only active one, or 0.
func (p *Plan) abandon(c *Call, k uint8, e Effect) Effect {
	if c.Phase == Racing && k == 0 {
		c.Outcome = reducer.Cancelled
		return p.close(c, closing{votes: reducer.Cancelled, effect: e})
	}
	a := c.Try(k)
	if a.Phase == Waiting {
		// Its place in the queue is left like a phantom's.
		a.Phantom |= 1 << a.At
	}
	a.Outcome, c.Outcome = reducer.Cancelled, reducer.Cancelled
	return p.end(c, k, e)
}

// end ends the call and leaves all steps that it and the attempt k passed.
func (p *Plan) end(c *Call, k uint8, e Effect) Effect {
	a := c.Try(k)
	a.Phase, c.Phase = Over, Over
	return e.of(k).leaving(a.Entered, 0)
}

func (p *Plan) granted(a *Attempt, e *Event) Effect {
	bit := uint16(1) << e.Step
	switch {
	case a.Phase == Waiting && a.At == e.Step:
		a.Slots[e.Step] = e.Answer.Permit
		a.Held |= bit
		a.Phase = Entering
		return Effect{Do: Enter, Step: e.Step + 1}.of(e.Attempt)
	case a.Phantom&bit != 0:
		a.Slots[e.Step] = e.Answer.Permit
		a.Held |= bit
		a.Phantom &^= bit
	}
	return Effect{}
}

func (p *Plan) dropped(c *Call, a *Attempt, e *Event) Effect {
	bit := uint16(1) << e.Step
	switch {
	case a.Phase == Waiting && a.At == e.Step:
		a.Phase = Entering
		if e.Attempt > 0 && c.lives(e.Attempt) {
			return p.dropTry(c, e.Attempt, e.Step, e.Answer.Reason)
		}
		return p.abandon(c, e.Attempt, Effect{Do: GiveUp, Step: e.Step}.because(0, e.Answer.Reason))
	case a.Phantom&bit != 0:
		a.Phantom &^= bit
		return Effect{Do: GiveUp, Step: e.Step}.of(e.Attempt).because(0, e.Answer.Reason)
	}
	return Effect{}
}

// finish settles an attempt, and decides whether another may follow.
func (p *Plan) finish(c *Call, e *Event, now clock.Mark) Effect {
	if e.Attempt > 0 {
		return p.finishTry(c, e.Attempt, e, now)
	}
	return p.roundOver(c, 0, e.Outcome, e.Told, e.RetryAfter, now)
}

// roundOver ends a round, of one attempt or of several, with the outcome of the
// attempt k that ended last.
func (p *Plan) roundOver(c *Call, k uint8, outcome reducer.Outcome, told bool, after time.Duration, now clock.Mark) Effect {
	c.Outcome, c.After = outcome, afterOf(told, after)
	ran := k > 0 || p.hedge < 0 // else the attempts of the round were counted one by one
	if p.retry < 0 || c.Single || c.Skipped(p.retry) || !retry.Retries(outcome) {
		return p.end(c, k, Effect{Do: Return}.because(outcome, 0)).over(ran)
	}
	state, verdict := p.stages[p.retry].retry.Next(c.Retry, retry.End{
		Outcome: outcome, Told: told, RetryAfter: after, Deadline: p.deadlineAbove(c, 0, p.retry), Began: c.Slots[p.retry].Mark, Seed: c.Seed,
	}, now)
	c.Retry = state
	if !verdict.Again {
		if c.InShadow(p.retry) {
			verdict.Reason = reducer.NoReason
		}
		return p.end(c, k, Effect{Do: Return}.because(outcome, verdict.Reason)).over(ran)
	}
	c.Phase, c.Until = Deciding, verdict.Until
	return Effect{Do: Consult, At: verdict.Until}.of(k).because(outcome, 0).leaving(c.Try(k).Entered, uint8(p.retry+1)).over(ran)
}

// decide continues after the consultation.
func (p *Plan) decide(c *Call, e *Event) Effect {
	c.Entered = uint8(p.retry + 1)
	shadow := c.InShadow(p.retry)
	if !e.Open && e.Granted && !shadow {
		c.Phase = Sleeping
		c.Slots[p.retry].ID = e.Answer.Took() // what the next attempt returns to the budget
		return Effect{Do: Sleep, At: c.Until}.because(c.Outcome, 0)
	}
	why := reducer.ReasonBudget
	switch {
	case shadow:
		why = reducer.NoReason
	case e.Open:
		why = reducer.ReasonOpen
	}
	return p.end(c, 0, Effect{Do: Return}.because(c.Outcome, why))
}

// settled ends the call with the outcome of an attempt that is over, whatever the
// retry would say.
func (p *Plan) settled(c *Call, e *Event) Effect {
	switch {
	case e.Attempt > 0 && c.Race.Attempts[e.Attempt-1].Phase == Running:
		c.Race.Attempts[e.Attempt-1].Outcome = e.Outcome
		return p.win(c, e.Attempt, e.Outcome)
	case c.Phase == Deciding:
		c.Entered = uint8(p.retry + 1)
	case c.Phase != Running:
		return Effect{}
	}
	c.Outcome = e.Outcome
	ran := c.Phase == Running
	return p.end(c, 0, Effect{Do: Return}.because(e.Outcome, 0)).over(ran)
}

// wake cuts the call by the outermost timeout that is due, of one step the timeout of the
// earliest attempt. In shadow it only reports; the driver wakes the call until there
// is nothing to report.
func (p *Plan) wake(c *Call, now clock.Mark) Effect {
	if c.Phase == Over {
		return Effect{}
	}
	if c.Deadline <= now && c.Deadline != clock.Never {
		return p.cut(c, 0, CallDeadline, now)
	}
	for left := p.timeouts; left != 0; left &= left - 1 {
		i := lowest(left)
		for k := range c.Tries() + 1 {
			if p.owns(c, k, i) && c.Try(k).due(i, now) {
				return p.fire(c, k, i, now)
			}
		}
	}
	return Effect{}
}

// owns reports whether the attempt k passes step i itself.
func (p *Plan) owns(c *Call, k uint8, i int) bool {
	return k == 0 && (p.hedge < 0 || i <= p.hedge) || k > 0 && i > p.hedge && c.Race.Attempts[k-1].Phase != Over
}

// due reports whether the timeout step i is over for an attempt that passed it.
func (a *Attempt) due(i int, now clock.Mark) bool {
	return i < int(a.Entered) && a.Fired&(1<<i) == 0 && a.Slots[i].Mark <= now && a.Slots[i].Mark != clock.Never
}

func (p *Plan) fire(c *Call, k uint8, i int, now clock.Mark) Effect {
	c.Try(k).Fired |= 1 << i
	if c.InShadow(i) {
		c.Cut = c.NumberOf(k)
		return Effect{}.of(k).withCut(i)
	}
	return p.cut(c, k, i, now)
}

// cut ends the call, or the attempt k of a round, by the timeout i.
func (p *Plan) cut(c *Call, k uint8, i int, now clock.Mark) (effect Effect) {
	c.Cut = c.NumberOf(k)
	switch {
	case k > 0:
		effect = p.cutTry(c, k, now)
	case c.Phase == Racing:
		effect = p.cutRound(c, i)
	case c.Phase == Running && p.retry >= 0 && i > p.retry:
		effect = p.finish(c, &Event{Outcome: reducer.Timeout}, now)
	case c.Phase == Running:
		c.Outcome = reducer.Timeout
		effect = p.end(c, 0, Effect{Do: Return}.because(reducer.Timeout, 0)).over(true)
	default:
		effect = p.abandon(c, 0, Effect{Do: Return}.because(reducer.Timeout, 0))
	}
	return effect.withCut(i)
}

// Leaving returns what the attempt k does to the cell of a step it passed: the kind
// of the action, 0 for nothing, and the permit that it is about. Limiters keep the
// permit of an attempt that ran, or settle it, and refund the others; breakers and adaptive limits
// get the outcome; bulkheads free the place.
func (p *Plan) Leaving(c *Call, k uint8, i int) (reducer.Kind, reducer.Permit) {
	a, bit := p.holder(c, k, i), uint16(1)<<i
	slot := a.Slots[i]
	if a.Phantom&bit != 0 {
		a.Phantom &^= bit
		return reducer.Leave, reducer.Permit{ID: slot.ID}
	}
	if a.Held&bit == 0 {
		return 0, slot
	}
	a.Held &^= bit
	leaves := p.stages[i].leaves
	switch leaves {
	case reducer.Cancel:
		ran := p.began(c, a, i) != clock.Always
		if p.with(mechanism.Settles)&bit != 0 {
			return p.settling(c, a, i, ran), slot
		}
		if ran {
			return 0, slot
		}
	case reducer.Record:
		slot.Mark = p.began(c, a, i)
	}
	return leaves, slot
}

// Leave returns the action of Leaving.
func (p *Plan) Leave(c *Call, k uint8, i int, kind reducer.Kind, permit reducer.Permit) reducer.Action {
	a := reducer.Action{Kind: kind, Permit: permit}
	switch kind {
	case reducer.Cancel:
		a.Cost = p.CostOf(c, i)
	case reducer.Release:
		if p.with(mechanism.Costs)&(1<<i) != 0 {
			a.Cost = c.Costs[i]
		}
	case reducer.Settle:
		if a.Value = p.charged(c, i); p.with(mechanism.SettlesAll)&(1<<i) == 0 {
			a.Cost = p.CostOf(c, i)
		}
	case reducer.Record:
		from := p.holder(c, k, i)
		if a.Outcome = from.Outcome; p.with(mechanism.Obeys)&(1<<i) != 0 {
			a.Value = uint64(from.After)
		}
	}
	return a
}

// afterOf returns the retry-after of an answer, 0 for none.
func afterOf(told bool, after time.Duration) time.Duration {
	if !told {
		return 0
	}
	return max(0, after)
}

// Returned returns the action for a permit that the attempt k was granted at step i
// after it had left the queue.
func (p *Plan) Returned(c *Call, k uint8, i int, permit reducer.Permit) reducer.Action {
	if p.with(mechanism.SettlesAll)&(1<<i) != 0 {
		return reducer.Action{Kind: reducer.Cancel, Permit: permit, Cost: p.CostOf(c, i)}
	}
	a := p.holder(c, k, i)
	a.Slots[i] = permit
	a.Held |= 1 << i
	kind, permit := p.Leaving(c, k, i)
	return p.Leave(c, k, i, kind, permit)
}

// Undo returns the action that ends a permit of step i, which a call got for the cost
// before any of its attempts ran.
func (p *Plan) Undo(i int, permit reducer.Permit, cost uint32) reducer.Action {
	a := reducer.Action{Kind: p.stages[i].leaves, Permit: permit}
	switch a.Kind {
	case reducer.Cancel:
		a.Cost = cost
	case reducer.Record:
		a.Outcome, a.Mark = reducer.Cancelled, clock.Always
	}
	return a
}

// began returns when the call, the round or the attempt below step i was first
// admitted. clock.Always before that.
func (p *Plan) began(c *Call, a *Attempt, i int) clock.Mark {
	switch {
	case i < p.retry:
		return c.First
	case i < p.hedge:
		return c.Round
	case p.hedge >= 0:
		return a.Started
	}
	return c.Round
}
