package pipeline

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// beginRace prepares the rounds of a call through a plan with a hedge.
func (p *Plan) beginRace(c *Call) {
	if c.Race == nil {
		c.Race = &Race{}
	}
	*c.Race = Race{Attempts: c.Race.Attempts[:0], HedgeAt: clock.Never}
}

// startRound begins a round of attempts below the hedge.
func (p *Plan) startRound(c *Call) Effect {
	r := c.Race
	*r = Race{Attempts: r.Attempts[:0], HedgeAt: clock.Never, Numbered: r.Numbered, Left: p.stages[p.hedge].hedge.Config().Max}
	if c.NoHedge || c.Skipped(p.hedge) {
		r.Left = 0
	}
	c.Phase = Racing
	return p.setOut(c)
}

// setOut adds an attempt to the round.
func (p *Plan) setOut(c *Call) Effect {
	r := c.Race
	r.Numbered++
	r.HedgeAt = clock.Never
	r.Attempts = append(r.Attempts, Attempt{Started: clock.Always, Number: r.Numbered, Entered: uint8(p.hedge + 1)})
	return Effect{Do: Enter, Step: uint8(p.hedge + 1)}.of(uint8(len(r.Attempts)))
}

// arm sets the mark of the next hedge when the latest attempt of a round was
// admitted. Every attempt reads the delay, which is a use of the hedge's key.
func (p *Plan) arm(h Host, c *Call, k uint8, now clock.Mark) {
	if c.Skipped(p.hedge) {
		return
	}
	delay, known := p.delay(h, c)
	r := c.Race
	if !known || r.Left == 0 || k != c.Tries() || p.stages[p.hedge].hedge.Config().Parallel {
		return
	}
	r.HedgeAt = now.Add(delay)
}

// delay returns the delay of the next hedge: the setting, or the percentile of the durations
// of past attempts, and false where too few are known.
func (p *Plan) delay(h Host, c *Call) (delay time.Duration, known bool) {
	config := p.stages[p.hedge].hedge.Config()
	switch {
	case !config.Percentile.Positive():
		return config.After, true
	case p.skips(h, c, p.hedge):
		return 0, false
	}
	return h.Ask(0, p.hedge, reducer.Action{Kind: reducer.Peek}).Delay()
}

// HedgeNow reports whether a hedge that starts all attempts at once must start
// another one: the one before it has been admitted, waits or was dropped.
func (p *Plan) HedgeNow(c *Call) bool {
	return p.hedge >= 0 && c.Phase == Racing && c.Race.Left > 0 && p.stages[p.hedge].hedge.Config().Parallel &&
		c.Race.Attempts[len(c.Race.Attempts)-1].Phase != Entering
}

// hedged starts another attempt of the round, unless the budget does not grant it.
func (p *Plan) hedged(c *Call, e *Event) Effect {
	r := c.Race
	r.HedgeAt = clock.Never
	if !e.Granted {
		r.Left = 0
		return Effect{}
	}
	r.Left--
	if c.InShadow(p.hedge) {
		return Effect{Do: Watch}
	}
	effect := p.setOut(c)
	r.Attempts[len(r.Attempts)-1].Slots[p.hedge].ID = e.Answer.Took() // what it returns to the budget
	effect.Do = SetOut
	return effect
}

// lives reports whether another attempt of the round than k waits or runs.
func (c *Call) lives(k uint8) bool {
	for i := range c.Race.Attempts {
		if c.Race.Attempts[i].Phase != Over && uint8(i+1) != k {
			return true
		}
	}
	return false
}

// leaveTry is an effect that leaves the steps below the hedge that the attempt
// passed. The attempt is over.
func (p *Plan) leaveTry(c *Call, k uint8, do Do) Effect {
	a := &c.Race.Attempts[k-1]
	if a.Phase == Waiting {
		// Its place in the queue is left like a phantom's.
		a.Phantom |= 1 << a.At
	}
	a.Phase = Over
	if k == c.Tries() {
		c.Race.HedgeAt = clock.Never
	}
	return Effect{Do: do}.of(k).leaving(a.Entered, uint8(p.hedge+1))
}

// failTry ends an attempt that failed while others are active.
func (p *Plan) failTry(c *Call, k uint8, outcome reducer.Outcome) Effect {
	effect := p.leaveTry(c, k, Fail)
	effect.Outcome, effect.Reason = outcome, reducer.CauseOf(outcome)
	return effect.over(true)
}

// dropTry ends an attempt that got no permit while others are active.
func (p *Plan) dropTry(c *Call, k uint8, step uint8, why reducer.Reason) Effect {
	c.Race.Attempts[k-1].Outcome = reducer.Cancelled
	effect := p.leaveTry(c, k, Drop)
	effect.Step, effect.Reason = step, why
	return effect
}

// tell stores what the answer of a failed attempt said about a retry.
func (r *Race) tell(e *Event) {
	if !e.Told {
		return
	}
	r.told = true
	r.pushback = r.pushback || e.RetryAfter < 0
	r.retryAfter = max(r.retryAfter, e.RetryAfter)
}

// asked combines what the answers of the round said about a retry.
func (r *Race) asked() (told bool, after time.Duration) {
	if r.pushback {
		return true, -1
	}
	return r.told, r.retryAfter
}

// close ends a round: its attempts leave their cells in order, then the call
// continues with the effect of the closing.
func (p *Plan) close(c *Call, how closing) Effect {
	c.Race.closing = how
	c.Race.HedgeAt = clock.Never
	c.Phase = Settling
	return Effect{Do: Continue}
}

// settle leaves the next attempt of a round that is over, or ends the round.
func (p *Plan) settle(c *Call, now clock.Mark) Effect {
	how := &c.Race.closing
	for i := range c.Race.Attempts {
		a := &c.Race.Attempts[i]
		if a.Phase == Over {
			continue
		}
		do := Continue
		if how.tells {
			do = Lose
		}
		a.Outcome = reducer.Cancelled
		ran := a.Phase == Running
		if ran {
			a.Outcome = how.votes
		}
		return p.leaveTry(c, uint8(i+1), do).over(ran)
	}
	if how.retry {
		told, after := c.Race.asked()
		return p.roundOver(c, 0, how.effect.Outcome, told, after, now)
	}
	effect := how.effect
	c.Phase = Over
	effect.LeaveFrom = c.Entered
	return effect
}

// win ends a round with the outcome of the attempt that won.
func (p *Plan) win(c *Call, k uint8, outcome reducer.Outcome) Effect {
	c.Race.Won = c.Race.Attempts[k-1].Number
	c.Outcome = outcome
	p.close(c, closing{votes: reducer.Cancelled, tells: true, effect: Effect{Do: Return}.because(outcome, 0)})
	return p.leaveTry(c, k, Continue).over(true)
}

// cutRound ends a round by a timeout above the hedge. Breakers count the running
// attempts; where none runs, the call is over.
func (p *Plan) cutRound(c *Call, i int) Effect {
	how := closing{votes: reducer.Cancelled, effect: Effect{Do: Return}.because(reducer.Timeout, 0)}
	c.Outcome = reducer.Cancelled
	if k, runs := c.Find(0); runs {
		c.Outcome, c.Race.last = reducer.Timeout, c.Race.Attempts[k-1].Number
		how.votes, how.retry = reducer.Timeout, p.retry >= 0 && i > p.retry
	}
	return p.close(c, how)
}

// cutTry ends an attempt by a timeout below the hedge.
func (p *Plan) cutTry(c *Call, k uint8, now clock.Mark) Effect {
	a := &c.Race.Attempts[k-1]
	if a.Phase == Running {
		return p.finishTry(c, k, &Event{Outcome: reducer.Timeout}, now)
	}
	if c.lives(k) {
		a.Outcome = reducer.Cancelled
		return p.leaveTry(c, k, Nothing)
	}
	return p.abandon(c, k, Effect{Do: Return}.because(reducer.Timeout, 0))
}

// finishTry settles an attempt of a round.
func (p *Plan) finishTry(c *Call, k uint8, e *Event, now clock.Mark) Effect {
	a := &c.Race.Attempts[k-1]
	a.Outcome, a.After = e.Outcome, afterOf(e.Told, e.RetryAfter)
	if e.Outcome == reducer.OK || e.Outcome == reducer.Ignore {
		return p.win(c, k, e.Outcome)
	}
	c.Race.tell(e)
	if c.lives(k) {
		return p.failTry(c, k, e.Outcome)
	}
	p.leaveTry(c, k, Nothing)
	c.Race.last = c.Race.Attempts[k-1].Number
	told, after := c.Race.asked()
	return p.roundOver(c, k, e.Outcome, told, after, now)
}
