package pipeline

import (
	"math/bits"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// Host is what a driver supplies for a call that it takes through a plan. It finds
// cells, guards them and delivers their effects; it decides nothing.
type Host interface {
	// Admit acquires a permit of step i that its cell grants at once. It returns
	// false, and has changed nothing, if the caller must use Ask.
	Admit(k uint8, i int) (reducer.Permit, bool)
	// Ask steps the cell of step i for the attempt k.
	Ask(k uint8, i int, a reducer.Action) reducer.Answer
	// Exit ends the permit of step i after a success when that has no effects. It
	// returns false, and has changed nothing, if the caller must use Leave.
	Exit(k uint8, i int, p reducer.Permit) bool
	// Leave steps the cell of step i with the action with which the attempt k
	// leaves it. It reports whether the cell is done with a Settle, and how many permits it
	// dropped (reducer.Answer.Dropped): a cell that is evicted is not.
	Leave(k uint8, i int, a reducer.Action) (dropped uint64, settled bool)
	// Missing returns what step i does with a call that has no value for its
	// attributes.
	Missing(i int) bool
	// Start runs the attempt k: the dependency is called.
	Start(k uint8)
	// Stop cancels the running attempt k: another one won, or the call is over.
	Stop(k uint8)
	// Decision returns a decision of the kind, which the caller fills in, nil where
	// nothing reads it. i is the step that decides, NoStep for none.
	Decision(kind decision.Kind, i int) *decision.Decision
	// Tell passes on a decision that is filled in.
	Tell(d *decision.Decision)
}

// NoStep is the index of the step of a decision that no step makes.
const NoStep = -2

// Happen advances a call by an event and does everything that follows, until the call
// waits for another event. The phase of the call then says which one: the driver
// looks at EndsAt and ResumesAt for the next mark.
func (p *Plan) Happen(h Host, c *Call, e *Event, now clock.Mark) {
	effect := p.Advance(c, e, now)
	if e.Kind == Granted && p.with(mechanism.SettlesAll) != 0 && c.Try(e.Attempt) != nil {
		p.check(h, c, e.Attempt, int(e.Step))
	}
	p.Take(h, c, effect, now)
}

// Take performs an effect and everything that follows.
func (p *Plan) Take(h Host, c *Call, e Effect, now clock.Mark) {
	for {
		if e.cut != 0 {
			p.tellCut(h, c, &e)
		}
		if e.ended && p.tallies != 0 {
			p.tally(h, c, e.Attempt)
		}
		if e.LeaveFrom > e.LeaveTo {
			p.leave(h, c, &e)
		}
		if assert.On {
			p.assertEffect(c, &e)
		}
		switch e.Do {
		case Enter:
			e = p.enter(h, c, e.Attempt, int(e.Step), now)
			continue
		case SetOut:
			p.tellHedge(h, c.Race.Numbered, false)
			e = p.enter(h, c, e.Attempt, int(e.Step), now)
			continue
		case Consult:
			if c.Late {
				return
			}
			e = p.consult(h, c, &e, now)
			continue
		case Lose, Continue:
			if e.Do == Lose {
				p.tell(h, c, &e, now)
			}
			e = p.Advance(c, &Event{Kind: Continued}, now)
			continue
		case Start:
			p.started(h, c, e.Attempt, now)
		case Watch:
			p.tellHedge(h, c.Race.Numbered+p.stages[p.hedge].hedge.Config().Max-c.Race.Left, true)
		case Nothing:
		default:
			if c.Late && e.Do == Return {
				return
			}
			p.tell(h, c, &e, now)
		}
		if p.hedge < 0 || !p.HedgeNow(c) {
			return
		}
		e = p.askHedge(h, c, now)
	}
}

// Keep ends a call that is Late with ok.
func (p *Plan) Keep(h Host, c *Call, now clock.Mark) {
	c.Late = false
	if c.Phase == Deciding {
		p.Happen(h, c, &Event{Kind: Settled, Outcome: reducer.OK}, now)
		return
	}
	e := Effect{Do: Return}.because(reducer.OK, 0)
	p.tell(h, c, &e, now)
}

// Abort ends a call that is over without its end, because Take panicked: it leaves
// all cells whose permits the call and its attempts still hold.
func (p *Plan) Abort(h Host, c *Call, now clock.Mark) {
	for k := range c.Tries() + 1 {
		e := Effect{}.of(k).leaving(MaxSteps, 0)
		p.leave(h, c, &e)
	}
	e := Effect{Do: Return}.because(c.Outcome, 0)
	p.tell(h, c, &e, now)
}

// Hedge starts the hedge whose mark has come.
func (p *Plan) Hedge(h Host, c *Call, now clock.Mark) { p.Take(h, c, p.askHedge(h, c, now), now) }

// askHedge acquires from the budget of the hedge, or from the budget of the retry, and
// advances the call.
func (p *Plan) askHedge(h Host, c *Call, now clock.Mark) Effect {
	event := Event{Kind: Hedged, Granted: true}
	if i := p.hedgeBudget; i >= 0 && !p.skips(h, c, i) {
		ask := p.asking(c, reducer.Action{Kind: reducer.Acquire})
		if i == p.retry && c.InShadow(p.hedge) {
			ask.Kind = reducer.Peek // a hedge in shadow does not spend the retry's budget
		}
		event.Answer = h.Ask(0, i, ask)
		event.Granted = event.Answer.Verdict == reducer.Admit
	}
	return p.Advance(c, &event, now)
}

// asking returns the request of a call for a further attempt: Cost is how many it has made,
// Value how long the round waited for its first admission.
func (p *Plan) asking(c *Call, a reducer.Action) reducer.Action {
	made := c.Admitted
	if c.Race != nil {
		made = c.Race.Numbered
	}
	a.Cost = max(made, 1) - 1
	if p.retry >= 0 && !c.Skipped(p.retry) {
		a.Value = uint64(max(0, c.Round.Sub(clock.Mark(c.Slots[p.retry].Generation))))
	}
	return a
}

// tally counts the outcome of the attempt k, which ran, in the budgets of tokens. An
// attempt returns to a budget what the budget took for it.
func (p *Plan) tally(h Host, c *Call, k uint8) {
	release := reducer.Action{Kind: reducer.Release, Outcome: c.Try(k).Outcome}
	if release.Outcome != reducer.OK && !retry.Retries(release.Outcome) {
		return
	}
	for left := p.tallies; left != 0; left &= left - 1 {
		i := lowest(left)
		if p.skips(h, c, i) {
			continue
		}
		taken := uint64(0)
		switch {
		case k > 1 && i == p.hedgeBudget:
			taken = c.Try(k).Slots[p.hedge].ID
		case k <= 1 && i == p.retry:
			taken = c.Slots[i].ID
		}
		h.Ask(0, i, release.Returning(taken))
	}
}

// Tallies reports whether a budget of the plan counts how attempts end.
func (p *Plan) Tallies() bool { return p.tallies != 0 }

// enter takes an attempt through the steps from one on.
func (p *Plan) enter(h Host, c *Call, k uint8, from int, now clock.Mark) Effect {
	a, end := c.Try(k), len(p.stages)
	if k == 0 && p.hedge >= 0 {
		end = p.hedge + 1
	}
	for i, bit := from, uint16(1)<<from; i < end; i, bit = i+1, bit<<1 {
		if c.Skips&bit != 0 {
			a.Omit(i)
			continue
		}
		slow := p.slowEntry&bit != 0 && (p.with(mechanism.SettlesAll)&bit != 0 || h.Missing(i))
		switch {
		case slow:
		case p.with(mechanism.Asks)&bit == 0:
			p.Skip(a, i, now)
			continue
		default:
			if permit, ok := h.Admit(k, i); ok {
				a.Admit(i, permit)
				continue
			}
		}
		if e, stops := p.ask(h, c, k, i, now); stops {
			return e
		}
	}
	return p.Start(c, k, now)
}

// lacks reports whether the call has no value for an attribute of a step that denies
// or skips such a call.
func (p *Plan) lacks(h Host, i int) bool { return p.with(mechanism.Strict)&(1<<i) != 0 && h.Missing(i) }

// skips reports whether the call passes a step without a permit of its cell.
func (p *Plan) skips(h Host, c *Call, i int) bool {
	return c.Skipped(i) || p.lacks(h, i) && p.steps[i].Missing == MissingSkip
}

// ask steps the cell of a step that does not admit at once, and reports whether the
// attempt stops there.
func (p *Plan) ask(h Host, c *Call, k uint8, i int, now clock.Mark) (e Effect, stops bool) {
	a := c.Try(k)
	event := Event{Attempt: k, Step: uint8(i)}
	if p.lacks(h, i) {
		if p.Skip(a, i, now); p.steps[i].Missing == MissingSkip {
			return e, false
		}
		event.Answer = reducer.Rejected(reducer.ReasonMissing, clock.Never)
	} else {
		acquire := reducer.Action{Kind: reducer.Acquire, Cost: p.CostOf(c, i)}
		// Nothing below a step bounds it whose cell does not take the time that an attempt has.
		if at := p.bound(c, k, i, now); at != clock.Never {
			acquire = acquire.WithDeadline(at)
		}
		event.Answer = h.Ask(k, i, acquire)
	}
	var shadow bool
	event.Kind, shadow = p.Pass(c, a, i, &event.Answer)
	switch {
	case event.Answer.Verdict == reducer.Wait:
		if d := h.Decision(decision.Wait, i); d != nil {
			d.Attempt, d.Shadow = c.NumberOf(k), shadow
			d.Until, _ = event.Answer.Until()
			h.Tell(d)
		}
	case shadow:
		p.tellRefused(h, i, event.Answer.Reason, event.Answer.Mark, true, now)
	}
	if event.Kind == Entered {
		p.check(h, c, k, i)
		return e, false
	}
	return p.Advance(c, &event, now), true
}

// leave leaves the cells that an effect names, in reverse order.
func (p *Plan) leave(h Host, c *Call, e *Effect) {
	k := e.Attempt
	for left := p.Holds(c, k, e.LeaveFrom, e.LeaveTo); left != 0; {
		i := bits.Len16(left) - 1
		left &^= 1 << i
		kind, permit := p.Leaving(c, k, i)
		switch kind {
		case 0:
			continue
		case reducer.Record:
			if p.holder(c, k, i).Outcome == reducer.OK && h.Exit(k, i, permit) {
				continue
			}
		case reducer.Release:
			if h.Exit(k, i, permit) {
				continue
			}
		}
		if dropped, settled := h.Leave(k, i, p.Leave(c, k, i, kind, permit)); settled {
			p.tellClamped(h, c, i, dropped)
		}
	}
	if e.Do == Lose || c.Phase == Settling && k > 0 {
		h.Stop(k)
	}
}

// started runs an attempt that was admitted, and counts the first one of the call
// in the budgets.
func (p *Plan) started(h Host, c *Call, k uint8, now clock.Mark) {
	if c.Admitted == 1 {
		for left := p.budgets; left != 0; left &= left - 1 {
			if i := lowest(left); !p.skips(h, c, i) {
				h.Ask(0, i, reducer.Action{Kind: reducer.Record})
			}
		}
	}
	held := p.chaos >= 0 && p.hold(c, k, now)
	if d := h.Decision(decision.Admit, NoStep); d != nil {
		if d.Attempt = c.Admitted; k > 0 {
			d.Attempt = c.NumberOf(k)
		}
		if d.Held = held; c.Allowed {
			d.Reason = reducer.ReasonAllowed
		}
		h.Tell(d)
	}
	if k > 0 {
		p.arm(h, c, k, now)
	}
	if p.chaos >= 0 {
		p.tellDelay(h, c, k, now)
	}
	if !held {
		h.Start(k)
	}
}

// consult asks the breakers below the retry, then the budget. A cut is one of the
// ends of its mark, and the changes of breakers come after the ends; an event from
// outside comes after all that was due.
func (p *Plan) consult(h Host, c *Call, e *Effect, now clock.Mark) Effect {
	if c.NoRetry && !c.InShadow(p.retry) {
		c.Barred = true
		return p.Advance(c, &Event{Kind: Settled, Outcome: e.Outcome}, now)
	}
	event := Event{Kind: Consulted, Granted: true}
	ask := reducer.Action{Kind: reducer.Peek}
	if e.Outcome == reducer.Timeout {
		ask.Outcome = e.Outcome
	}
	for left := p.breakers &^ c.Shadows; left != 0; left &= left - 1 {
		i := lowest(left)
		if p.skips(h, c, i) {
			continue
		}
		if answer := h.Ask(0, i, ask); answer.Reason == reducer.ReasonOpen && answer.Mark > e.At && !p.waitOpen(c, answer.Mark) {
			event.Open = true
		}
	}
	for left := p.places &^ c.Shadows; left != 0 && !event.Open; left &= left - 1 {
		i := lowest(left)
		peek := reducer.Action{Kind: reducer.Peek}
		if p.with(mechanism.Costs)&(1<<i) != 0 {
			peek.Cost = c.Costs[i]
		}
		if !p.skips(h, c, i) && h.Ask(0, i, peek).Reason == reducer.ReasonFull {
			event.Granted = false
		}
	}
	if _, budget := p.Consults(); !event.Open && event.Granted && budget >= 0 && !p.skips(h, c, budget) {
		ask.Kind = reducer.Acquire
		event.Answer = h.Ask(0, budget, p.asking(c, ask))
		event.Granted = event.Answer.Verdict == reducer.Admit
	}
	if c.InShadow(p.retry) && !event.Open && event.Granted {
		p.tellRetry(h, c, e, true)
	}
	return p.Advance(c, &event, now)
}

// waitOpen lets the next attempt start no sooner than an open breaker below the retry is
// half-open, where the retry waits for refusals and that mark is not too late: a call whose
// own failure opened the breaker waits as those do that it refuses.
func (p *Plan) waitOpen(c *Call, until clock.Mark) bool {
	m := p.stages[p.retry].retry
	if !m.Waits() || c.InShadow(p.retry) || m.Late(until, p.deadlineAbove(c, 0, p.retry), c.Slots[p.retry].Mark) != reducer.NoReason {
		return false
	}
	c.Until = max(c.Until, until)
	return true
}

// tell passes on the decision of an effect.
func (p *Plan) tell(h Host, c *Call, e *Effect, now clock.Mark) {
	i := int(e.Step)
	switch e.Do {
	case Sleep:
		p.tellRetry(h, c, e, false)
	case Fail, Lose:
		kind := decision.Cancel
		if e.Do == Fail {
			kind = decision.Failed
		}
		if d := h.Decision(kind, NoStep); d != nil {
			d.Attempt, d.Reason = c.NumberOf(e.Attempt), e.Reason
			h.Tell(d)
		}
	case Drop:
		if d := h.Decision(decision.Drop, i); d != nil {
			d.Attempt, d.Reason = c.NumberOf(e.Attempt), e.Reason
			h.Tell(d)
		}
	case Refuse:
		if i == denial {
			i = Denied
		}
		p.tellRefused(h, i, e.Reason, e.At, false, now)
	case GiveUp:
		last := c.Phase == Over
		if d := h.Decision(decision.Expire, i); d != nil {
			d.Reason, d.Shadow, d.Last = e.Reason, !last, last
			d.Fallback = last && p.fallback != nil
			h.Tell(d)
		}
	case Return:
		if d := h.Decision(decision.End, NoStep); d != nil {
			d.Outcome, d.Attempt, d.Reason = e.Outcome, c.Admitted, e.Reason
			if c.Race != nil && !c.Skipped(p.hedge) && (e.Outcome == reducer.OK || e.Outcome == reducer.Ignore) {
				d.Won = c.Race.Won
			}
			d.Fallback, d.Last = p.fallback != nil && fallback.Covers(e.Outcome), true
			h.Tell(d)
		}
	}
}

func (p *Plan) tellCut(h Host, c *Call, e *Effect) {
	i := e.Cut()
	if d := h.Decision(decision.Timeout, i); d != nil {
		d.Attempt, d.Shadow = c.Cut, i >= 0 && c.InShadow(i)
		h.Tell(d)
	}
}

func (p *Plan) tellHedge(h Host, number uint32, shadow bool) {
	if d := h.Decision(decision.Hedge, p.hedge); d != nil {
		d.Attempt, d.Shadow = number, shadow
		h.Tell(d)
	}
}

func (p *Plan) tellRefused(h Host, i int, why reducer.Reason, at clock.Mark, shadow bool, now clock.Mark) {
	if d := h.Decision(decision.Reject, i); d != nil {
		d.Reason, d.Shadow, d.Last, d.RetryAfter = why, shadow, !shadow, -1
		if at != clock.Never {
			d.RetryAfter = max(0, at.Sub(now))
		}
		d.Fallback = !shadow && p.fallback != nil && i != Denied
		h.Tell(d)
	}
}

func (p *Plan) tellRetry(h Host, c *Call, e *Effect, shadow bool) {
	if d := h.Decision(decision.Retry, NoStep); d != nil {
		d.Attempt, d.Reason = c.Admitted, reducer.CauseOf(e.Outcome)
		switch {
		case e.Reason != reducer.NoReason:
			d.Attempt, d.Reason = p.numberRefused(c, e.Attempt), e.Reason
		case c.Race != nil:
			d.Attempt = c.Race.last
		}
		d.Until, d.Shadow = e.At, shadow
		h.Tell(d)
	}
}

// numberRefused returns the number of an attempt that was refused: of one that had not
// reached the hedge, the number of the next attempt.
func (p *Plan) numberRefused(c *Call, k uint8) uint32 {
	switch {
	case k > 0:
		return c.Race.Attempts[k-1].Number
	case c.Race != nil:
		return c.Race.Numbered + 1
	}
	return c.Admitted + 1
}

// observe reports the duration of the first attempt of a round to the hedge, which
// computes its delay from them, where the attempt k wins: of the first one that ended ok, or
// of one that still runs, which its hedge cancels. The durations of hedges do not count: only
// slow calls have hedges.
func (p *Plan) observe(h Host, c *Call, k uint8, outcome reducer.Outcome, now clock.Mark) {
	if k > 1 {
		outcome = reducer.Cancelled
	} else if outcome == reducer.Ignore {
		return
	}
	first := &c.Race.Attempts[0]
	if first.Phase != Running || !p.stages[p.hedge].hedge.Config().Percentile.Positive() || p.skips(h, c, p.hedge) {
		return
	}
	h.Ask(0, p.hedge, reducer.Action{Kind: reducer.Observe, Outcome: outcome, Value: uint64(max(0, now.Sub(first.Started)))})
}

// Finish ends the attempt k of a call. told says that the answer had a retryAfter. It
// does nothing when the attempt does not run.
func (p *Plan) Finish(h Host, c *Call, k uint8, outcome reducer.Outcome, told bool, retryAfter time.Duration, now clock.Mark) {
	if a := c.Try(k); a == nil || a.Phase != Running {
		return
	}
	if k == 0 {
		p.Take(h, c, p.roundOver(c, 0, outcome, told, retryAfter, now), now)
		return
	}
	if outcome == reducer.OK || outcome == reducer.Ignore {
		p.observe(h, c, k, outcome, now)
	}
	p.Happen(h, c, &Event{Kind: Finished, Attempt: k, Outcome: outcome, Told: told, RetryAfter: retryAfter}, now)
}

// Vote gives the outcome of the running attempt of a call without a retry and without a
// hedge to the cells that record outcomes. The call keeps its other permits until Finish,
// which gives no vote any more. after is the retry-after of the answer, 0 for none. It is for a
// host that knows the outcome of an answer before the answer has ended.
func (p *Plan) Vote(h Host, c *Call, outcome reducer.Outcome, after time.Duration) {
	if c.Phase != Running || p.retry >= 0 {
		return
	}
	c.Outcome, c.After = outcome, max(0, after)
	for left := c.Held; left != 0; {
		i := bits.Len16(left) - 1
		left &^= 1 << i
		if !p.Records(i) {
			continue
		}
		kind, permit := p.Leaving(c, 0, i)
		if outcome != reducer.OK || !h.Exit(0, i, permit) {
			h.Leave(0, i, p.Leave(c, 0, i, kind, permit))
		}
	}
}

// Wait is a wait of a call that is over.
type Wait struct {
	Attempt uint8
	Step    uint8
}

// Waits returns the first wait of a call that is over at a mark: of the outermost
// step, of the earliest attempt.
func (p *Plan) Waits(c *Call, now clock.Mark) (w Wait, ok bool) {
	for i := range p.stages {
		for k := range c.Tries() + 1 {
			a := c.Try(k)
			if a.Phase == Waiting && int(a.At) == i && a.Until <= now ||
				a.Phantom&(1<<i) != 0 && clock.Mark(a.Slots[i].Generation) <= now {
				return Wait{k, uint8(i)}, true
			}
		}
	}
	return w, false
}

// Ticket returns the ticket of a wait.
func (p *Plan) Ticket(c *Call, w Wait) uint64 { return c.Try(w.Attempt).Slots[w.Step].ID }

// PermitOf returns the permit that the attempt k holds at step i, its own or the
// call's.
func (p *Plan) PermitOf(c *Call, k uint8, i int) reducer.Permit { return p.holder(c, k, i).Slots[i] }

// Match returns the index of the step of another plan that is the same as step i:
// of the same kind and attributes, and of the same shared mechanism or, where its state
// is its own, of the same name. -1 for none.
func (p *Plan) Match(i int, other *Plan) int {
	shared := p.Shares(i)
	for j := range other.stages {
		if other.Shares(j) == shared && (shared != "" || other.steps[j].Name == p.steps[i].Name) &&
			other.stages[j].kind == p.stages[i].kind && slices.Equal(other.steps[j].Per, p.steps[i].Per) {
			return j
		}
	}
	return -1
}

// Seed returns the seed of the call with a number, from 1 on, of a driver with a
// seed.
func Seed(seed, number uint64) uint64 { return seed + number<<32 }
