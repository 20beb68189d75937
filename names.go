package sluice

import (
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

// Reason says why a step refused, or why a retry gave up.
type Reason = reducer.Reason

// The reasons.
const (
	ReasonRate     = reducer.ReasonRate     // the limit has no permit
	ReasonCapacity = reducer.ReasonCapacity // the cost is more than the step ever has
	ReasonOpen     = reducer.ReasonOpen     // the breaker is open
	ReasonProbes   = reducer.ReasonProbes   // the half-open breaker has no free probe
	ReasonFull     = reducer.ReasonFull     // the queue or the bulkhead is full
	ReasonWait     = reducer.ReasonWait     // the wait would be, or was, too long
	ReasonDeadline = reducer.ReasonDeadline // the turn or the next attempt would come after the deadline
	ReasonMissing  = reducer.ReasonMissing  // the call brings no value for an attribute of the step
	ReasonDenied   = reducer.ReasonDenied   // the policy denies calls of these attributes
	ReasonAllowed  = reducer.ReasonAllowed  // of an EventAdmit: the policy lets the call pass without its steps
	ReasonBlocked  = reducer.ReasonBlocked  // the key is blocked, by Handle.Block or because it exceeded a limit with a block
	ReasonAttempts = reducer.ReasonAttempts // all attempts are used
	ReasonPushback = reducer.ReasonPushback // the dependency asked for no retry
	ReasonElapsed  = reducer.ReasonElapsed  // the next attempt would start too long after the retry began
	ReasonBudget   = reducer.ReasonBudget   // the retry budget is spent
	ReasonFail     = reducer.ReasonFail     // of an EventRetry: the attempt failed
	ReasonThrottle = reducer.ReasonThrottle // of an EventRetry: the dependency refused the attempt
	ReasonTimeout  = reducer.ReasonTimeout  // of an EventRetry: a timeout step cut the attempt
)

// Outcome is how an attempt or a call ended, for WithClassify, Call.Done and Event.Outcome.
type Outcome = reducer.Outcome

// The outcomes.
const (
	OutcomeOK        = reducer.OK        // a success
	OutcomeFail      = reducer.Fail      // a failure: a retry follows, breakers count it
	OutcomeThrottle  = reducer.Throttle  // the dependency refused by a limit of its own: a retry follows, breakers do not count it
	OutcomeIgnore    = reducer.Ignore    // neither success nor failure: no retry follows, breakers do not count it
	OutcomeTimeout   = reducer.Timeout   // a failure by a timeout step
	OutcomeCancelled = reducer.Cancelled // the caller cancelled: no retry follows, breakers do not count it
)

// Counts are the outcomes that a breaker counts, for Event.Counts and CellState.Counts.
type Counts = breaker.Counts

// Mode is the mode of a breaker, for Breaker.Mode, Breaker.Transition and Event.Mode.
type Mode = breaker.Mode

// The modes of a breaker.
const (
	ModeClosed       = breaker.Closed       // it admits and counts
	ModeOpen         = breaker.Open         // it refuses until its open time is over
	ModeHalfOpen     = breaker.HalfOpen     // it admits probes
	ModeForcedOpen   = breaker.ForcedOpen   // it refuses until an operator changes the mode
	ModeForcedClosed = breaker.ForcedClosed // it admits everything and counts nothing
	ModeMetricsOnly  = breaker.MetricsOnly  // it counts and never opens
)
