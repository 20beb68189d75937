package api

import (
	"fmt"
	"strconv"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// String returns the event in one line for people, as in
// "checkout.breaker: open: 60% of 10 calls failed". It has durations in place of marks.
func (e Event) String() string {
	text := place(e.Policy, e.Step)
	if e.Step == "" {
		text = e.Policy
	}
	if e.Key != "" {
		text += "[" + e.Key + "]"
	}
	if text != "" {
		text += ": "
	}
	text += e.what()
	if e.Shadow {
		text += " (shadow)"
	}
	if e.Request != "" {
		text += " (request " + e.Request + ")"
	}
	return text
}

// what says what happened.
func (e *Event) what() string {
	switch e.Kind {
	case decision.Admit:
		return e.attempt("admitted", "starts")
	case decision.Wait:
		if text := e.attempt("queued", "is queued"); e.Wait > 0 {
			return fmt.Sprintf("%s for at most %s", text, e.Wait)
		} else {
			return text + " without bound"
		}
	case decision.Granted:
		return e.attempt("granted", "is granted") + fmt.Sprintf(" after waiting %s", e.Wait)
	case decision.Reject:
		text := "rejected: " + e.Reason.String()
		if e.RetryAfter >= 0 {
			text += fmt.Sprintf(", retry after %s", e.RetryAfter)
		}
		return text
	case decision.Expire:
		return fmt.Sprintf("rejected after waiting %s: %s", e.Wait, e.Reason)
	case decision.Timeout:
		if e.Soft {
			return e.attempt("slow", "is over the soft limit")
		}
		return "timed out after " + e.Elapsed.String()
	case decision.Clamped:
		return fmt.Sprintf("%d permits were used and not taken", e.Dropped)
	case decision.Lapse:
		return "the lease of a place ran out"
	case decision.Retry:
		return e.because(fmt.Sprintf("attempt %d failed (%s), the next one starts in %s", e.Attempt, e.Reason, e.Wait))
	case decision.End:
		return e.end()
	case decision.Configured:
		return "configured"
	case decision.Hedge:
		return fmt.Sprintf("attempt %d starts beside another one", e.Attempt)
	case decision.Failed:
		return e.because(fmt.Sprintf("attempt %d failed (%s), another one runs", e.Attempt, e.Reason))
	case decision.Cancel:
		return fmt.Sprintf("attempt %d lost to another one", e.Attempt)
	case decision.Drop:
		return fmt.Sprintf("attempt %d was refused (%s), another one runs", e.Attempt, e.Reason)
	case decision.Change:
		return e.change()
	case decision.Full:
		return "the step has its maximum of keys"
	case decision.Inject:
		if e.Outcome == 0 {
			return fmt.Sprintf("attempt %d waits for an injected latency of %s", e.Attempt, e.Wait)
		}
		return fmt.Sprintf("attempt %d gets the injected result %s", e.Attempt, e.Outcome)
	case decision.Start:
		return e.attempt("started", "starts after its injected latency")
	case decision.Slow:
		return e.attempt("slow", "was slow") + ": it took " + e.Wait.String()
	case decision.Drained:
		return "the free permits were discarded"
	case decision.Evicted:
		return "the key lost its state to another key"
	case decision.Manual:
		return e.manual()
	case decision.Added:
		return "the policy was added"
	case decision.Replaced:
		return "the policy was replaced"
	case decision.Removed:
		return "the policy was removed"
	}
	return e.Kind.String()
}

// attempt returns what happened to the attempt, or to a caller without attempts.
func (e *Event) attempt(caller, attempt string) string {
	if e.Attempt == 0 {
		return caller
	}
	return "attempt " + strconv.FormatUint(uint64(e.Attempt), 10) + " " + attempt
}

// manual says what an operator did.
func (e *Event) manual() string {
	text := "by hand: " + e.Action
	switch {
	case e.Action == ActionTransition:
		text += " to " + e.Mode.String()
	case e.Wait > 0:
		text += " for " + e.Wait.String()
	}
	if e.By != "" {
		text += " by " + e.By
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// because adds the error.
func (e *Event) because(text string) string {
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Event) end() string {
	text := "ended"
	if e.Outcome != 0 {
		text += " " + e.Outcome.String()
	}
	text += " after " + e.Elapsed.String()
	if e.Attempt > 1 {
		text += fmt.Sprintf(" and %d attempts", e.Attempt)
	}
	switch {
	case e.Note != "":
		text += " (" + e.Note + ")"
	case e.Reason != reducer.NoReason:
		text += " (" + e.Reason.String() + ")"
	}
	return e.because(text)
}

func (e *Event) change() string {
	text, c := e.Mode.String(), e.Counts
	switch {
	case e.Manual:
		text += " by an operator"
	case e.Mode != breaker.Open:
	case e.Slow:
		text += fmt.Sprintf(": %s of %d calls were slow", c.SlowRate, c.Calls)
	case c.Calls > 0:
		text += fmt.Sprintf(": %s of %d calls failed", c.FailureRate, c.Calls)
	case c.Failed > 0:
		text += fmt.Sprintf(": %d calls in a row failed", c.Failed)
	}
	return text
}
