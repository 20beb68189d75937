package sluice

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// Call is a call whose work the caller does between Begin and Done, in place of
// a function.
type Call struct {
	engine runner.Call
}

// Begin takes a call through the steps of the policy, waiting where they wait,
// for one attempt: a retry step has no effect. The caller calls Done when the
// outcome is known, and Release when it no longer needs the places and the context.
// The error is a RejectedError, a TimeoutError, the error of the context, or Pipeline.Err.
func (p *Pipeline) Begin(ctx context.Context, q Request) (*Call, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	phases, err := p.engine.Begin(ctx, &q)
	if err != nil {
		return nil, err
	}
	c := &Call{}
	c.engine.Admitted(phases)
	return c, nil
}

// Context returns the context of the work, with the deadlines of the timeouts.
// After Done the deadlines have no effect; Release ends the context. context.Cause
// is the TimeoutError of the step that cut the work.
func (c *Call) Context() context.Context { return c.engine.Context() }

// Limits appends what Pipeline.Limits does for the request of the call, at the mark at
// which the call was admitted, so that the clock is not read again. After Done it appends
// nothing.
func (c *Call) Limits(dst []LimitState) []LimitState {
	return c.engine.Limits(dst)
}

// Used says how many permits the work has used so far, as Used does for a function; the
// last call before Done counts. It returns false where no step of the policy settles.
func (c *Call) Used(n uint32) bool { return runner.Used(c.engine.Context(), n) }

// Done records how the work ended. Breakers count the outcome and timeouts end;
// places in bulkheads are kept until Release. Only the first call of Done or
// DoneRetryAfter counts.
func (c *Call) Done(o reducer.Outcome) { c.engine.Done(o, 0) }

// DoneRetryAfter is Done for an answer that says how long to wait, which opens the
// breakers of the policy that have obey_retry_after where o is Fail or Throttle. after of
// 0 or less is none. It delays no retry, since a Call is one attempt: the caller waits
// before it begins another one.
func (c *Call) DoneRetryAfter(o reducer.Outcome, after time.Duration) { c.engine.Done(o, after) }

// Release releases all that the call holds. Without a Done before, the call counts
// as cancelled. It may be called more than once.
func (c *Call) Release() { c.engine.Release() }
