package pipeline

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// Phase is the phase of a call or of one of its attempts.
type Phase uint8

// The phases.
const (
	// Entering: the driver is taking the attempt through the steps.
	Entering Phase = iota
	// Waiting: the attempt is in the queue of step At.
	Waiting
	// Running: the attempt runs.
	Running
	// Racing: the attempts of a hedged round run, wait or enter.
	Racing
	// Deciding: the attempt is over, and the driver consults cells about another one.
	Deciding
	// Sleeping: the next attempt starts at Until.
	Sleeping
	// Settling: a round is over, and its attempts leave their cells one after
	// another.
	Settling
	// Over: nothing follows.
	Over
)

// Attempt is what one attempt holds at the steps that it passes.
type Attempt struct {
	// Slots are the permits of steps that gave one, and by their words of others
	//
	//	a wait, a phantom's too   ID the ticket, Generation the end of the wait
	//	a timeout                 Mark the deadline
	//	a retry                   Mark the deadline, Generation since when the round waits,
	//	                          ID what the latest retry took of its budget
	//	a hedge                   ID what the hedge took of its budget
	//	a chaos step              ID that the attempt is held, Mark the end of the latency
	Slots [MaxSteps]reducer.Permit

	Started clock.Mark    // when the attempt was admitted, clock.Always before
	Until   clock.Mark    // end of the wait, or start of the next attempt
	After   time.Duration // the retry-after of the answer that ended it, 0 for none
	Number  uint32        // of a hedged round: in the order in which attempts started
	Held    uint16        // steps whose permit the attempt holds
	Phantom uint16        // shadow steps in whose queue a phantom of the attempt is
	Fired   uint16        // timeouts that are over for the attempt
	Phase   Phase
	At      uint8           // step at which the attempt waits
	Entered uint8           // steps passed so far
	Outcome reducer.Outcome // with which cells are left
}

// Call is the state of one call through a plan. The driver chooses where it keeps it.
// Its own Attempt is the only one where the plan has no hedge, and passes the steps
// down to the hedge where it has one.
type Call struct {
	Attempt

	Deadline clock.Mark // the call's own, clock.Never for none
	First    clock.Mark // when the first attempt of the call was admitted, clock.Always before
	Round    clock.Mark // when the first attempt of the present round was, clock.Always before
	Seed     uint64
	Retry    retry.State // rounds that have started, the delay before
	Cost     uint32      // at the steps without a cost of their own
	Admitted uint32      // attempts that were admitted
	Cut      uint32      // the number of the attempt that a timeout cut last
	Race     *Race       // the hedged round, nil without a hedge
	// Costs at the steps that have a cost of their own, nil in a plan without one.
	Costs *[MaxSteps]uint32
	// Used is what attempts used at the steps of Spent that the call and its attempts
	// have not left, nil in a plan without steps that settle.
	Used  *[MaxSteps]uint64
	Spent uint16
	// Skips are the steps that do not apply to the call, Shadows those that enforce nothing
	// for it.
	Skips, Shadows uint16
	Allowed        bool // the call passes without any step

	// Options that a driver may set between Begin and the first effect.
	Single  bool // no retry follows, whatever the policy says
	NoRetry bool // the call ends where the retry would consult about another attempt
	NoHedge bool // no attempt starts while another one runs

	Barred bool // NoRetry ended the call
	// Late says that a timeout cuts an attempt that ended ok after the mark of the
	// cut. The call leaves its cells as after any cut; then the driver calls Keep.
	Late bool
}

// Race is a hedged round of a call.
type Race struct {
	// Attempts of the round in the order in which they started; the attempt k of
	// events and effects is Attempts[k-1].
	Attempts []Attempt
	// HedgeAt is when the next hedge starts, clock.Never for none.
	HedgeAt clock.Mark
	// Numbered is the number of the latest attempt of the call.
	Numbered uint32
	// Left is how many hedges the round may still start.
	Left uint32
	// Won is the number of the attempt that won, 0 for none.
	Won uint32

	last       uint32        // the number of the attempt that ended the round
	retryAfter time.Duration // the greatest of the round
	told       bool          // an answer of the round had a retry-after
	pushback   bool          // an answer of the round asked for no retry
	closing    closing
}

// closing is how a round ends after all its attempts have left their cells.
type closing struct {
	votes  reducer.Outcome // with which running attempts leave their cells
	tells  bool            // these attempts are cancelled, and a decision reports it
	retry  bool            // the retry decides what follows
	effect Effect
}

// EventKind is the kind of an event of a call.
type EventKind uint8

// The events. The driver's answers to effects are among them.
const (
	// Entered: all steps of an Enter admitted the attempt.
	Entered EventKind = iota + 1
	// Refused: the cell of Step did not admit it. Answer says why.
	Refused
	// Parked: the attempt is in the queue of Step.
	Parked
	// Granted: the waiter at Step has the permit of Answer.
	Granted
	// Dropped: the waiter at Step left the queue without a permit, for
	// Answer.Reason.
	Dropped
	// Finished: the attempt ended with Outcome.
	Finished
	// Consulted: no breaker stays Open, and the budget Granted the retry, or not.
	Consulted
	// Woken: time has passed.
	Woken
	// Resumed: the mark of the next attempt has come.
	Resumed
	// Hedged: the mark of the next hedge has come, and the budget Granted it, or
	// not.
	Hedged
	// Settled: the attempt is over, and Outcome is final without another one,
	// whatever the retry would say.
	Settled
	// Continued: the driver did what an effect with More asked for.
	Continued
	// Abandoned: the caller cancelled the call.
	Abandoned
)

// Event is an event of a call.
type Event struct {
	Kind       EventKind
	Attempt    uint8 // of a hedged round, counted from 1; else 0
	Step       uint8
	Outcome    reducer.Outcome
	Open       bool
	Granted    bool
	Told       bool // RetryAfter was given
	Answer     reducer.Answer
	RetryAfter time.Duration
}

// Do is what the driver has to do.
type Do uint8

// What there is to do.
const (
	// Nothing: only what the other fields of the effect say.
	Nothing Do = iota
	// Enter the steps from Step on: pass each, until one does not admit.
	Enter
	// Start the attempt.
	Start
	// Consult the breakers and the budget about a retry at At.
	Consult
	// Sleep until At; then Resumed.
	Sleep
	// SetOut: the attempt starts as a hedge; then Enter from Step.
	SetOut
	// Watch: a hedge in shadow would start now.
	Watch
	// Fail: the attempt of a round failed, for Reason, and others are active.
	Fail
	// Continue: advance the call by Continued.
	Continue
	// Lose: the attempt of a round is cancelled; then Continue.
	Lose
	// Drop: the attempt of a round was refused at Step, for Reason, and others are
	// active.
	Drop
	// Return: the call ended with Outcome, and Reason where a retry gave up.
	Return
	// Refuse: the policy refuses the call at step Step, for Reason.
	Refuse
	// GiveUp: the wait at step Step ended without a permit, for Reason.
	GiveUp
)

// Timeouts that an effect names beside the timeouts of the steps.
const (
	// NoCut: no timeout.
	NoCut = -2
	// CallDeadline: the deadline of the call itself.
	CallDeadline = -1
)

// Denied is the index of the condition on calls that the policy denies, in decisions.
const Denied = -3

// denial is Denied as the step of an effect.
const denial = MaxSteps

// Effect is what the driver has to do for a call. First it reports that the timeout
// Cut cut the call, then it leaves the cells of the steps LeaveFrom-1 down to
// LeaveTo, then it does Do. The compiler keeps a struct in registers that has at most
// four fields, each of which may be such a struct: an effect that goes from function
// to function through memory costs as much as a step.
type Effect struct {
	Do   Do
	Step uint8
	Subject
	At clock.Mark // retry-at of a Refuse (clock.Never for none), else the mark of Sleep or Consult
}

// Subject is the subject of an effect.
type Subject struct {
	Attempt uint8
	// cut is the index of a timeout that cut the call, or in shadow would have,
	// less NoCut, so that the zero effect has none.
	cut uint8
	Cause
	Leave
}

// Cause is the cause of an effect.
type Cause struct {
	Outcome reducer.Outcome
	Reason  reducer.Reason
	// ended says that the attempt ran and is over: budgets of tokens count its outcome.
	ended bool
}

// Leave is the range of steps whose cells an effect leaves.
type Leave struct {
	LeaveFrom uint8
	LeaveTo   uint8
}

// Cut returns the index of the timeout that cut the call, NoCut or CallDeadline.
func (e *Effect) Cut() int { return int(e.cut) + NoCut }

func (e Effect) withCut(i int) Effect {
	e.cut = uint8(i - NoCut)
	return e
}

// of returns the effect for the attempt k.
func (e Effect) of(k uint8) Effect {
	e.Attempt = k
	return e
}

func (e Effect) because(outcome reducer.Outcome, reason reducer.Reason) Effect {
	e.Outcome, e.Reason = outcome, reason
	return e
}

// over notes whether the attempt of the effect ran.
func (e Effect) over(ran bool) Effect {
	e.ended = ran
	return e
}

func (e Effect) leaving(from, to uint8) Effect {
	e.LeaveFrom, e.LeaveTo = from, to
	return e
}

func lowest(mask uint16) int { return bits.TrailingZeros16(mask) }

// Try returns the attempt k of events and effects: 0 is the call's own. It is nil
// where there is none.
func (c *Call) Try(k uint8) *Attempt {
	switch {
	case k == 0:
		return &c.Attempt
	case c.Race != nil && int(k) <= len(c.Race.Attempts):
		return &c.Race.Attempts[k-1]
	}
	return nil
}

// Tries returns how many attempts the present hedged round has, 0 without one.
func (c *Call) Tries() uint8 {
	if c.Race == nil {
		return 0
	}
	return uint8(len(c.Race.Attempts))
}

// NumberOf returns the number of an attempt, as decisions name it: of the one that
// runs, or of the one that is to run.
func (c *Call) NumberOf(k uint8) uint32 {
	switch {
	case k > 0:
		return c.Race.Attempts[k-1].Number
	case c.Race != nil && (c.Phase == Entering || c.Phase == Waiting):
		return c.Race.Numbered + 1
	case c.Race != nil && c.Phase == Racing:
		return c.lowest()
	case c.Race != nil:
		return c.Race.Numbered
	case c.Phase == Entering || c.Phase == Waiting:
		return c.Admitted + 1
	}
	return c.Admitted
}

// lowest returns the number of the first attempt of a round that runs, or, where
// none does, of the first one that waits.
func (c *Call) lowest() uint32 {
	if k, runs := c.Find(0); runs {
		return c.Race.Attempts[k-1].Number
	}
	for i := range c.Race.Attempts {
		if c.Race.Attempts[i].Phase == Waiting {
			return c.Race.Attempts[i].Number
		}
	}
	return c.Race.Numbered
}

// Find returns the attempt that runs and has the number, the lowest one that runs
// for number 0, and false where there is none.
func (c *Call) Find(number uint32) (k uint8, ok bool) {
	if c.Phase == Running && c.Race == nil && (number == 0 || number == c.Admitted) {
		return 0, true
	}
	if c.Phase != Racing {
		return 0, false
	}
	for i := range c.Race.Attempts {
		if a := &c.Race.Attempts[i]; a.Phase == Running && (number == 0 || number == a.Number) {
			return uint8(i + 1), true
		}
	}
	return 0, false
}

// Begin makes a call with the cost and the deadline. The driver enters the steps from
// 0 on, after it has called Price where attributes have costs, or does the effect of Apply
// where the plan is Conditional.
func (p *Plan) Begin(c *Call, cost uint32, deadline clock.Mark, seed uint64) Effect {
	c.Cost, c.Deadline, c.Seed = cost, deadline, seed
	c.Phase, c.Entered, c.Held, c.Phantom, c.Fired = Entering, 0, 0, 0, 0
	c.First, c.Round, c.Admitted = clock.Always, clock.Always, 0
	c.Single, c.NoRetry, c.NoHedge, c.Barred, c.Late = false, false, false, false, false
	c.Retry = retry.State{}
	c.Skips, c.Shadows, c.Allowed = 0, p.with(mechanism.Shadow), false
	if p.with(mechanism.Partial) != 0 {
		p.draw(c)
	}
	if p.with(mechanism.Costs) != 0 {
		p.priceDefaults(c)
	}
	if c.Spent = 0; p.with(mechanism.Settles) != 0 && c.Used == nil {
		c.Used = new([MaxSteps]uint64)
	}
	if p.hedge >= 0 {
		p.beginRace(c)
	} else {
		c.Race = nil
	}
	return Effect{Do: Enter}
}

// Admit takes an attempt past a step whose cell gave it a permit.
func (a *Attempt) Admit(i int, permit reducer.Permit) {
	a.Entered = uint8(i + 1)
	a.Slots[i] = permit
	a.Held |= 1 << i
}

// Skip takes an attempt past a step whose cell it asks for no permit.
func (p *Plan) Skip(a *Attempt, i int, now clock.Mark) {
	a.Entered = uint8(i + 1)
	if p.marked&(1<<i) != 0 {
		// Of a retry: since when the round waits, and no permit of its budget.
		a.Slots[i] = reducer.Permit{Mark: now.Add(p.stages[i].after), Generation: uint64(now)}
		a.Fired &^= 1 << i
	}
}

// Pass takes an attempt past a step with the answer of the step's cell. It returns
// what the driver does next: continue with the next step, or report to the plan that
// the attempt is refused or waits.
func (p *Plan) Pass(c *Call, a *Attempt, i int, answer *reducer.Answer) (next EventKind, shadow bool) {
	shadow = c.InShadow(i)
	a.Entered = uint8(i + 1)
	switch {
	case answer.Verdict == reducer.Admit:
		a.Admit(i, answer.Permit)
		return Entered, false
	case answer.Verdict == reducer.Wait:
		a.Slots[i] = answer.Permit
		if !shadow {
			return Parked, false
		}
		a.Phantom |= 1 << i
	case !shadow:
		return Refused, false
	}
	return Entered, true
}

// Holds returns the steps that an effect leaves and whose cells need an action, as a
// mask.
func (p *Plan) Holds(c *Call, k, from, to uint8) uint16 {
	held := c.Held | c.Phantom
	if k > 0 {
		a := &c.Race.Attempts[k-1]
		held |= a.Held | a.Phantom
	}
	return held & (1<<from - 1) &^ (1<<to - 1)
}

// holder returns the attempt that holds the permit of step i for the attempt k: steps
// down to the hedge are passed by the call, those below it by each attempt.
func (p *Plan) holder(c *Call, k uint8, i int) *Attempt {
	if k == 0 || i <= p.hedge {
		return &c.Attempt
	}
	return &c.Race.Attempts[k-1]
}
