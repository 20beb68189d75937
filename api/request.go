package api

import (
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// Request is what a call brings with it.
type Request struct {
	// Key is the attribute "key".
	Key string
	// ID names the request in events, see Event.Request. Empty: what
	// WithRequestID returns, if any.
	ID string
	// Cost in permits. 0 means 1, NoCost means 0.
	Cost uint32
	// Lookup returns other attributes that a step may be kept per or take its cost from,
	// as in "ip" or "header:x-tenant"; empty where one is missing.
	Lookup func(attribute string) string
	// NoRetry is a reason not to try again, as in "the body cannot be read
	// twice". It is the Note of the RetryError. Empty: the policy decides.
	NoRetry string
	// NoHedge is a reason not to start an attempt beside one that runs, as in
	// "POST is not idempotent". It is the Note of EventAdmit. Empty: the policy
	// decides.
	NoHedge string
	// Holdable lets the function keep what it holds with Hold.
	Holdable bool
	// Abandon is called when an attempt has failed and another follows, before
	// its places are released and before the backoff. nil for no call.
	Abandon func()
	// Discard is called with what the function returned in an attempt of a hedged
	// round that is not the result of the call, on any goroutine, possibly after the
	// call has returned. nil for no call.
	Discard func(value any)
	// Stalled reports whether an attempt waits for its caller, as for the rest of
	// a request's body. It is called when a timeout has cut an attempt: where it
	// returns true, the attempt ends as cancelled at the mark of the cut, so that
	// no breaker gets a vote and no retry follows. In a hedged round it is called for
	// the deadline of the caller's context alone, and returns whether that is the
	// caller's own affair. nil for an attempt that never waits for its caller.
	Stalled func() bool
	// Timeout bounds the call as a deadline of its context does, with a TimeoutError of
	// the step "deadline". The earlier of the two counts. Default 0: none.
	Timeout time.Duration
	// Attempts caps the attempts (hedge rounds) of this call below the policy's limit; the
	// call then ends with ReasonAttempts. It is for Do and Run, and never raises what the
	// policy allows. Default 0: the policy decides.
	Attempts uint32
	// Classify takes the place of WithClassifyResult for the call. nil: the options
	// decide.
	Classify Classifier
	// Informed lets AttemptInfoOf read the attempts of the call, as WithAttemptInfo does
	// for all calls.
	Informed bool
}

// NoCost is the cost of a call that takes nothing from any limiter.
const NoCost = 1<<32 - 1

// Classifier decides what a result means: the value and the error that a function
// returned. It is called with an empty step for the attempt itself, which decides
// whether a retry follows, how a hedged round goes on and which outcome events have; and
// then with the name of each breaker and adaptive step of the policy, for what that step
// counts. It returns OK, Fail, Throttle or Ignore. 0, and any other value that is no outcome,
// is the outcome without it: of the attempt, what WithClassify and Outcomer say; of a step,
// the outcome of the attempt. Where it panics, the panic goes on to the caller, and the attempt
// counts as without it: OK without an error, else Fail.
//
// It is not called for an attempt whose caller has cancelled. A step does not count
// what it returns for an attempt that was cut by a timeout, cancelled or lost to
// another one of its round. A trace has the outcome of the attempt alone.
type Classifier = func(step string, value any, err error) reducer.Outcome
