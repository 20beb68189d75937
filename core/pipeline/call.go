package pipeline

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// Phase is what a call is doing.
type Phase uint8

// The phases.
const (
	// Entering: the driver is taking the call through the steps.
	Entering Phase = iota
	// Waiting: the call stands in the queue of step At.
	Waiting
	// Running: an attempt is running.
	Running
	// Deciding: the attempt is over, and the driver asks whether another may
	// follow.
	Deciding
	// Sleeping: the next attempt starts at Until.
	Sleeping
	// Over: nothing follows.
	Over
)

// Call is the state of one call through a plan. It holds no pointers; the
// driver keeps it wherever it likes.
type Call struct {
	Slots [MaxSteps]reducer.Permit // permits, tickets of phantoms, deadlines of timeouts

	Deadline clock.Mark // the call's own, clock.Never for none
	First    clock.Mark // when the first attempt started
	Started  clock.Mark // when the present attempt started
	Until    clock.Mark // end of the wait, or start of the next attempt
	Seed     uint64
	Retry    retry.State // attempts that have started, the delay before

	Cost    uint32
	Held    uint16 // steps whose permit the call holds
	Phantom uint16 // shadow steps in whose queue a phantom of the call stands
	Fired   uint16 // timeouts that have been told of
	Phase   Phase
	At      uint8           // step at which the call waits
	Entered uint8           // steps passed so far
	Outcome reducer.Outcome // with which cells are left
}

// EventKind says what happened to a call.
type EventKind uint8

// The events. The driver's answers to effects are among them.
const (
	// Entered: all steps of an Enter admitted the call.
	Entered EventKind = iota + 1
	// Refused: the cell of Step did not admit it. Answer says why.
	Refused
	// Parked: the call stands in the queue of Step.
	Parked
	// Granted: the waiter at Step has the permit of Answer.
	Granted
	// Dropped: the waiter at Step waited in vain, for Answer.Reason.
	Dropped
	// Finished: the attempt ended with Outcome.
	Finished
	// Consulted: no breaker stays Open, and the budget Granted the retry, or not.
	Consulted
	// Woken: time has passed.
	Woken
	// Resumed: the mark of the next attempt has come.
	Resumed
	// GaveUp: the caller no longer wants it.
	GaveUp
	// Settled: the attempt is over, and Outcome is final without another one,
	// whatever the retry would say.
	Settled
)

// Event is what happened to a call.
type Event struct {
	Kind       EventKind
	Step       uint8
	Outcome    reducer.Outcome
	Open       bool
	Granted    bool
	Told       bool // RetryAfter was given
	Answer     reducer.Answer
	RetryAfter time.Duration
}

// Do says what the driver has to do.
type Do uint8

// What there is to do.
const (
	// Nothing but what the other fields of the effect say.
	Nothing Do = iota
	// Enter the steps from From on: Pass each, until one does not admit.
	Enter
	// Start the attempt.
	Start
	// Consult the breakers and the budget about a retry at At.
	Consult
	// Sleep until At; then Resumed.
	Sleep
	// Return: the call ended with Outcome, and Reason where a retry gave up.
	Return
	// Refuse: the policy refuses the call at step Step, for Reason.
	Refuse
	// GiveUp: the call waited in vain at step Step, for Reason.
	GiveUp
)

// Effect is what the driver has to do for a call. First it leaves the cells of
// the steps LeaveFrom-1 down to LeaveTo with the actions of Plan.Leave, then it
// tells of the timeout Cut, then it does Do.
type Effect struct {
	Do        Do
	Outcome   reducer.Outcome
	Reason    reducer.Reason
	LeaveFrom uint8
	LeaveTo   uint8
	From      uint8
	Step      uint8
	// Cut is the index of a timeout that cut the call, or in shadow would have,
	// plus two: one is the call's own deadline, none is zero.
	Cut uint8
	At  clock.Mark // retry-at of a Refuse (clock.Never for none), else the mark of Sleep or Consult
}

// CutStep returns the index of the timeout that cut the call, -1 for the
// call's own deadline, and false for none.
func (e Effect) CutStep() (int, bool) { return int(e.Cut) - 2, e.Cut != 0 }

func lowest(mask uint16) int { return bits.TrailingZeros16(mask) }

// Begin makes a call that asks for the cost and is to be over before the
// deadline. The driver enters the steps from 0 on.
func (p *Plan) Begin(c *Call, cost uint32, deadline clock.Mark, seed uint64) Effect {
	c.Cost, c.Deadline, c.Seed = cost, deadline, seed
	c.Phase, c.Entered, c.Held, c.Phantom, c.Fired = Entering, 0, 0, 0, 0
	c.Retry = retry.State{}
	return Effect{Do: Enter}
}

// Admit takes a call past a step whose cell gave it a permit. It is what Pass
// does with such an answer.
func (c *Call) Admit(i int, permit reducer.Permit) {
	c.Entered = uint8(i + 1)
	c.Slots[i] = permit
	c.Held |= 1 << i
}

// Skip takes a call past a step that asks no cell.
func (p *Plan) Skip(c *Call, i int, now clock.Mark) {
	c.Entered = uint8(i + 1)
	if t := p.stages[i].timeout; t != nil {
		c.Slots[i].Mark = t.Deadline(now)
		c.Fired &^= 1 << i
	}
}

// Pass takes a call past a step. ask is false for a step without a question to
// a cell, and the answer is ignored. It returns what the driver does next: go
// on with the next step, or tell the plan that the call is refused or parked.
func (p *Plan) Pass(c *Call, i int, ask bool, answer reducer.Answer, now clock.Mark) (next EventKind, shadow bool) {
	c.Entered = uint8(i + 1)
	switch {
	case !ask:
		p.Skip(c, i, now)
		return Entered, false
	case answer.Verdict == reducer.Admit:
		c.Admit(i, answer.Permit)
		return Entered, false
	case answer.Verdict == reducer.Wait:
		c.Slots[i] = answer.Permit
		if p.stages[i].shadow {
			c.Phantom |= 1 << i
			return Entered, true
		}
		return Parked, false
	case p.stages[i].shadow:
		return Entered, true
	}
	return Refused, false
}

// Holds returns the steps that an effect leaves whose cells have to be told, as
// a mask.
func (c *Call) Holds(from, to uint8) uint16 {
	return (c.Held | c.Phantom) & (1<<from - 1) &^ (1<<to - 1)
}

// Reduce returns the call after the event and what has to be done.
func (p *Plan) Reduce(c Call, e Event, now clock.Mark) (Call, Effect) {
	effect := p.Advance(&c, &e, now)
	return c, effect
}
