package runner

import (
	"context"
	"sync"

	"github.com/sluice-go/sluice/reducer"
)

// Call is a call of one attempt without a function: its caller does the work
// between Begin and Done.
type Call struct {
	mu      sync.Mutex
	run     run
	request Request
	ctx     context.Context
	release func()
	done    bool
}

// Begin takes a call through the steps of the plan.
func (p *Pipeline) Begin(ctx context.Context, q *Request) (*Call, error) {
	c := &Call{request: *q}
	c.request.Holdable = true
	begun := false
	defer func() {
		if !begun {
			c.run.crashed()
		}
	}()
	c.run.single = true
	if _, err := c.run.begin(ctx, p, p.layout.Load(), &c.request); err != nil {
		return nil, err
	}
	begun = true
	c.ctx = c.run.context()
	c.release = Hold(c.ctx)
	return c, nil
}

// Context returns the context of the work. The deadlines end with Done, the rest
// with Release.
func (c *Call) Context() context.Context { return c.ctx }

// Done settles the call. Only the first call counts.
func (c *Call) Done(o reducer.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return
	}
	c.done = true
	defer c.run.crashed()
	// Done has no error to return: its caller named the outcome.
	_, _ = c.run.settle(o, false, 0, nil)
}

// Release releases what is held. Without a Done before, the call counts as
// cancelled.
func (c *Call) Release() {
	c.Done(reducer.Cancelled)
	c.release()
}
