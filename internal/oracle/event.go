package oracle

import (
	"fmt"
	"math"
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
	Attempt    int    // of done and renew; 0 is the lowest that runs
	Outcome    string // of done: ok, fail, throttle, ignore
	RetryAfter *int64 // of done
	Used       *int64 // of done
	Policy     *pipeline.Policy
}

// Run returns the decision lines of a log under the policy. The error says which
// event is not a valid line (counted from 1); the lines before it stay.
func Run(policy pipeline.Policy, seed uint64, events []Event) ([]string, error) {
	return RunSet([]pipeline.Policy{policy}, seed, events)
}

// RunSet is Run for several policies.
func RunSet(policies []pipeline.Policy, seed uint64, events []Event) ([]string, error) {
	e := NewSet(policies, seed)
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
	Running []int // the numbers of the attempts that run
	Waiting bool  // it, or a phantom of it, is in a queue
}

// Live returns the calls that are not over, in the order of their numbers.
func (e *Engine) Live() []Live {
	var all []Live
	for _, c := range e.calls {
		if c.over {
			continue
		}
		l := Live{ID: c.id, Waiting: len(c.queued()) > 0}
		for _, p := range c.attempts {
			if p.state == running && p.injection == nil {
				l.Running = append(l.Running, p.number)
			}
		}
		all = append(all, l)
	}
	return all
}

// Apply plays the event: first all that is due up to its mark, then the event,
// then what is due at its mark because of it.
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
	case "done", "renew":
		p := c.runs(event.Attempt)
		switch {
		case p == nil:
			e.say(event.ID, "stale")
		case event.Op == "done":
			e.endAttempt(p, event.Outcome, event.RetryAfter, event.Used)
		default:
			e.renew(p)
		}
	case "cancel":
		if c == nil {
			e.say(event.ID, "stale")
			return nil
		}
		e.endUnvoted(c, "cancel")
	case "tick":
	case "configure":
		e.configure(e.of(event), *event.Policy)
	default:
		return fmt.Errorf("unknown op %q", event.Op)
	}
	return nil
}

// find returns the live call of the id, or nil.
func (e *Engine) find(id string) *call {
	for _, c := range e.calls {
		if c.id == id && !c.over {
			return c
		}
	}
	return nil
}

// runs returns the attempt of the number if it runs and is not held, for 0 the lowest
// such attempt, or nil. A call that is not live has none.
func (c *call) runs(number int) *path {
	if c == nil {
		return nil
	}
	if number == 0 {
		return c.reached()
	}
	for _, p := range c.attempts {
		if p.number == number && p.state == running && p.injection == nil {
			return p
		}
	}
	return nil
}

// renew extends the leases of the attempt. Reading: the leases of the places above
// the hedge too, which the attempt needs as well. A place that was acquired
// while no lease was set has none, and one whose cell has none any more keeps
// its end.
func (e *Engine) renew(p *path) {
	for _, holder := range []*path{p.call.above, p} {
		for i := range holder.holds {
			h := holder.holds[i]
			if h.place == nil || h.place.lapsed || h.place.leaseEnd == never {
				continue
			}
			if lease := h.cell.lease(); lease > 0 {
				h.place.leaseEnd = after(e.now, lease)
			}
		}
	}
}

// after returns the mark a duration later, at most never.
func after(mark, d int64) int64 {
	if d > 0 && mark > never-d {
		return never
	}
	return mark + d
}

// duration prints nanoseconds in Go's form.
func duration(n int64) string { return time.Duration(n).String() }
