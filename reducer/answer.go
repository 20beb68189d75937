package reducer

import (
	"time"

	"github.com/sluice-go/sluice/clock"
)

// Verdict is a cell's answer in a word.
type Verdict uint8

// The verdicts.
const (
	// Stale: the action was late, a duplicate, unknown, or had nothing to do.
	Stale Verdict = iota
	// Done: the action took effect. The answer has no other content, but for Dropped.
	Done
	// Admit: a permit is granted.
	Admit
	// Reject: no permit. Reason says why, RetryAt from when on the cell would admit.
	Reject
	// Wait: the caller is in the queue.
	Wait
)

// Reason says why a permit was refused, a wait ended or a retry gave up.
type Reason uint8

// The reasons, in the words of the decision log.
const (
	NoReason       Reason = iota
	ReasonRate            // over the rate, and there is no queue
	ReasonCapacity        // the cost can never be admitted
	ReasonOpen            // the breaker is open
	ReasonProbes          // half-open, and all probes have been sent; or in a ramp, and not of the share that passes
	ReasonFull            // the queue or the bulkhead is full
	ReasonWait            // would wait, or waited, too long
	ReasonShed            // shed under load: by a holder of cells that too many callers step at once; no machine answers it yet, reserved for shedding in queues
	ReasonAttempts        // no attempts left
	ReasonPushback        // the answer said not to retry
	ReasonDeadline        // its turn, or the next attempt, would come too late for a deadline
	ReasonBudget          // the retry budget is spent
	ReasonFail            // the attempt failed
	ReasonThrottle        // the dependency refused it
	ReasonTimeout         // a timeout step cut it
	ReasonMissing         // the call brings no value for the attributes of the step
	ReasonBlocked         // the key, or the limit, is blocked for a time
	ReasonElapsed         // the next attempt would start too long after the retry began
	ReasonDenied          // the policy denies calls of these attributes
	ReasonAllowed         // of an admitted call: the policy lets calls of these attributes pass without its steps
	reasonCount
)

var reasonNames = [reasonCount]string{
	"", "rate", "capacity", "open", "probes", "full", "wait", "shed",
	"attempts", "pushback", "deadline", "budget", "fail", "throttle", "timeout", "missing", "blocked", "elapsed", "denied", "allowed",
}

// String returns the word of the decision log.
func (r Reason) String() string {
	if r < reasonCount {
		return reasonNames[r]
	}
	return "unknown"
}

var outcomeNames = [...]string{"", "ok", "fail", "throttle", "ignore", "timeout", "cancel"}

// String returns the word of the decision log.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

var verdictNames = [...]string{"stale", "done", "admit", "reject", "wait"}

// String names the verdict.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "unknown"
}

// Answer is what a step says to its caller, packed into four words. What the
// three words of Permit hold depends on the verdict; the methods name them.
type Answer struct {
	Verdict Verdict
	Reason  Reason
	Changed bool // the step changed the state: a holder of bytes has to write them
	_       uint8
	Free    uint32 // Peek: permits free now, at most the largest uint32
	Permit
}

// RetryAt returns, for a Reject, the least mark at which the same action would
// not be refused if nothing else happened, and false where there is none.
func (a Answer) RetryAt() (clock.Mark, bool) {
	return a.Mark, a.Verdict == Reject && a.Mark != clock.Never
}

// RetryAfter is RetryAt as a duration from now, at least zero.
func (a Answer) RetryAfter(now clock.Mark) (time.Duration, bool) {
	at, ok := a.RetryAt()
	if !ok {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}

// Until returns, for a Wait, the mark of the caller's turn, and false where it
// is not known.
func (a Answer) Until() (clock.Mark, bool) {
	return a.Mark, a.Verdict == Wait && a.Mark != clock.Never
}

// Dropped returns, for a Settle that is Done, how many permits were used and not taken,
// because the debt would be greater than the limiter allows.
func (a Answer) Dropped() uint64 {
	if a.Verdict != Done {
		return 0
	}
	return a.ID
}

// Drop makes an answer to a Settle say how many permits were used and not taken.
func (a *Answer) Drop(permits uint64) { a.ID = permits }

// Take makes an Admit of a budget say how much of the budget it took, in the unit of the budget.
func (a *Answer) Take(amount uint64) { a.ID = amount }

// Took returns, for an Admit of a budget, how much of the budget it took.
func (a Answer) Took() uint64 {
	if a.Verdict != Admit {
		return 0
	}
	return a.ID
}

// After makes an answer an Admit that says how long to wait before what was asked for.
func (a *Answer) After(delay time.Duration) { a.Verdict, a.Mark = Admit, clock.Mark(delay) }

// Delay returns, for the answer of a hedge to a Peek, the delay of the next hedge, and false where
// it is not known.
func (a Answer) Delay() (time.Duration, bool) { return time.Duration(a.Mark), a.Verdict == Admit }

// WaitEnds returns, for a Wait, the mark at which the wait times out;
// clock.Never when it has no end.
func (a Answer) WaitEnds() clock.Mark { return clock.Mark(a.Generation) }

// Admitted answers with a permit.
func Admitted(p Permit) Answer { return Answer{Verdict: Admit, Permit: p} }

// Rejected answers with a refusal; at is clock.Never where no mark is known.
func Rejected(why Reason, at clock.Mark) Answer {
	return Answer{Verdict: Reject, Reason: why, Permit: Permit{Mark: at}}
}

// Waiting answers with a place in the queue: its ticket, the mark of the turn
// (clock.Never where it is not known) and the mark at which the wait ends.
func Waiting(ticket uint64, turn, ends clock.Mark) Answer {
	return Answer{Verdict: Wait, Permit: Permit{Generation: uint64(ends), ID: ticket, Mark: turn}}
}

// CauseOf returns the reason of a retry after an attempt that ended so.
func CauseOf(o Outcome) Reason {
	switch o {
	case Fail:
		return ReasonFail
	case Throttle:
		return ReasonThrottle
	case Timeout:
		return ReasonTimeout
	}
	return NoReason
}
