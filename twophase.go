package sluice

import (
	"context"
	"sync"

	"github.com/sluice-go/sluice/reducer"
)

// Call is a call whose function is not Sluice's to run: between Begin and Done
// the caller does the work itself.
type Call struct {
	mu      sync.Mutex
	run     run
	request Request
	ctx     context.Context
	release func()
	done    bool
}

// Begin takes a call through the steps of the policy, waiting where they wait,
// for one attempt: a retry step is passed and does nothing. The caller calls
// Done when the outcome is known, and Release when it needs nothing any more.
// The error is a RejectedError, a TimeoutError, or that of the context.
func (p *Pipeline) Begin(ctx context.Context, q Request) (*Call, error) {
	c := &Call{request: q}
	c.request.Holdable = true
	c.run.single = true
	begun := false
	defer func() {
		if !begun {
			c.run.crashed()
		}
	}()
	if err := c.run.begin(ctx, p, &c.request); err != nil {
		return nil, err
	}
	begun = true
	c.ctx = c.run.context()
	c.release = Hold(c.ctx)
	return c, nil
}

// Context returns the context of the work, with the deadlines of the timeouts.
// The deadlines end with Done, the rest with Release. context.Cause is the
// TimeoutError of the step that cut it.
func (c *Call) Context() context.Context { return c.ctx }

// Done says how the work ended. Breakers get their vote and timeouts end;
// places in bulkheads are kept until Release. Only the first call counts.
func (c *Call) Done(o reducer.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return
	}
	c.done = true
	defer c.run.crashed()
	// The caller knows the outcome best; there is nobody to tell the error.
	_, _ = c.run.settle(o, false, 0, nil)
}

// Release gives back what is held. Without a Done before, the call counts as
// cancelled. It may be called more than once.
func (c *Call) Release() {
	c.Done(reducer.Cancelled)
	c.release()
}
