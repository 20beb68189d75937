package oracle

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/pipeline"
)

// never is the mark of what does not happen.
const never = math.MaxInt64

// Event is one line of the log that eval reads.
type Event struct {
	At         int64  // nanoseconds
	Op         string // call, done, cancel, renew, tick, configure
	ID         string // the raw JSON text of the id
	Key        string
	Cost       uint32
	Attributes map[string]string
	Deadline   *int64 // of a call, from its mark
	Outcome    string // of done: ok, fail, throttle, ignore
	RetryAfter *int64 // of done
	Policy     *pipeline.Policy
}

// Run returns the decision lines of a log under the policy. The error says which
// event is not a valid line (counted from 1); the lines before it stay.
func Run(policy pipeline.Policy, seed uint64, events []Event) ([]string, error) {
	e := New(policy, seed)
	for n, event := range events {
		if err := e.Apply(event); err != nil {
			return e.Lines(), fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return e.Lines(), nil
}

// Lines returns what was decided so far.
func (e *Engine) Lines() []string { return e.lines }

// Now returns the present mark.
func (e *Engine) Now() int64 { return e.now }

// Live says what a call that is not over is doing.
type Live struct {
	ID      string
	Running bool
	Waiting bool // it, or a phantom of it, stands in a queue
}

// Live returns the calls that are not over, in the order of their numbers.
func (e *Engine) Live() []Live {
	var all []Live
	for _, c := range e.calls {
		if c.state != over {
			queued := slices.ContainsFunc(c.waits, func(w *waiter) bool { return w != nil })
			all = append(all, Live{ID: c.id, Running: c.state == running, Waiting: queued})
		}
	}
	return all
}

// Apply lets the event happen: first all that is due up to its mark, then the
// event, then what is due at its mark because of it.
func (e *Engine) Apply(event Event) error {
	e.advance(event.At)
	if err := e.apply(event); err != nil {
		return err
	}
	e.settle()
	return nil
}

func (e *Engine) apply(event Event) error {
	c := e.find(event.ID)
	switch event.Op {
	case "call":
		if c != nil {
			return fmt.Errorf("id %s is live", event.ID)
		}
		e.begin(event)
	case "done":
		if c == nil || c.state != running {
			e.say(event.ID, "stale")
			return nil
		}
		e.endAttempt(c, event.Outcome, event.RetryAfter)
	case "cancel":
		if c == nil {
			e.say(event.ID, "stale")
			return nil
		}
		e.endUnvoted(c, "cancel")
	case "renew":
		if c == nil || c.state != running {
			e.say(event.ID, "stale")
			return nil
		}
		e.renew(c)
	case "tick":
	case "configure":
		e.configure(*event.Policy)
	default:
		return fmt.Errorf("unknown op %q", event.Op)
	}
	return nil
}

// find returns the live call of the id.
func (e *Engine) find(id string) *call {
	for _, c := range e.calls {
		if c.id == id && c.state != over {
			return c
		}
	}
	return nil
}

// renew extends every lease that the call holds. A place that was got while no
// lease was set has none, and one whose cell has none any more keeps its end.
func (e *Engine) renew(c *call) {
	for i := range c.holds {
		p := c.holds[i].place
		if p == nil || p.lapsed || p.leaseEnd == never {
			continue
		}
		if lease := c.cell(i).bulkhead.cfg.Lease; lease > 0 {
			p.leaseEnd = after(e.now, int64(lease))
		}
	}
}

// after returns the mark a duration later, never at the end of the line.
func after(mark, d int64) int64 {
	if d > 0 && mark > never-d {
		return never
	}
	return mark + d
}

// duration prints nanoseconds in Go's form.
func duration(n int64) string { return time.Duration(n).String() }
