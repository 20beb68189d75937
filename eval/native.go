package eval

import (
	"bufio"
	"errors"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/trace"
)

// Decider decides the events of a log, one after another. Run and RunAll have one that is the core
// of this program; Play takes any other.
type Decider interface {
	// Compile compiles the body of a policy in JSON and returns a function that activates it. policy
	// is the number of the policy among several, 0 for one.
	Compile(policy int, body []byte) (configure func() error, err error)
	// Advance lets time pass. What follows is at this mark.
	Advance(now clock.Mark) error
	// Begin starts the call of an event under a policy.
	Begin(policy int, e *trace.Event) (decision.Handle, error)
	// Done, Cancel and Renew return false where the event is stale.
	Done(h decision.Handle, e *trace.Event) (bool, error)
	Cancel(h decision.Handle) (bool, error)
	Renew(h decision.Handle, e *trace.Event) (bool, error)
	// Decisions returns those since the last call of it, until the next event.
	Decisions() []decision.Decision
}

// native decides by the core of this program.
type native struct {
	driver  *drive.Driver
	keys    drive.Keys
	epoch   time.Duration   // of Options
	drivers []*drive.Driver // of the policies, of which driver is the first
}

// steps writes the steps of cells.
type steps struct {
	out    *bufio.Writer
	keys   *drive.Keys
	number uint64 // of the last step
	text   []byte
}

// write writes a step. flush has the error.
func (s *steps) write(e *reducer.Entry, key uint32) {
	s.number++
	e.N, e.Key = s.number, s.keys.Value(key)
	s.text = reducer.AppendTrace(s.text[:0], *e)
	_, _ = s.out.Write(s.text)
}

func (n *native) Compile(number int, body []byte) (func() error, error) {
	p, err := policy.ParseOne("policy.json", body)
	if err != nil {
		return nil, inline(err)
	}
	d := n.drivers[number]
	p.Name = d.Plan().Name()
	plan, err := n.compiled(p.Policy)
	if err != nil {
		return nil, err
	}
	return func() error { d.Configure(plan); return nil }, nil
}

// compiled compiles a policy whose windows of the calendar have the wall time of mark 0.
func (n *native) compiled(p pipeline.Policy) (*pipeline.Plan, error) {
	return pipeline.Compile(p.WithEpoch(func() time.Duration { return max(0, n.epoch) }))
}

// inline names the errors of a policy by their paths: its lines are not lines of the log.
func inline(err error) error {
	var all policy.Errors
	if !errors.As(err, &all) {
		return err
	}
	short := make(policy.Errors, len(all))
	for i, one := range all {
		short[i] = &policy.Error{File: "policy", Path: one.Path, Found: one.Found, Allowed: one.Allowed, Nearest: one.Nearest}
	}
	return short
}

func (n *native) Advance(now clock.Mark) error {
	n.driver.Advance(now)
	return nil
}

func (n *native) Begin(number int, e *trace.Event) (decision.Handle, error) {
	d := n.drivers[number]
	request := drive.Request{Cost: e.Cost, Deadline: e.Deadline}
	if d.Plan().Keyed() != 0 {
		request.Keys, request.Missing = n.keys.Of(d.Plan(), e.Lookup, d.Uses)
	}
	n.keys.Price(&request, d.Plan(), e.Lookup)
	return d.Begin(&request), nil
}

func (n *native) Done(h decision.Handle, e *trace.Event) (bool, error) {
	return n.driver.Done(h, drive.Result{Attempt: e.Attempt, Outcome: e.Outcome, Told: e.Told, RetryAfter: e.RetryAfter, HasUsed: e.HasUsed, Used: e.Used}), nil
}

func (n *native) Cancel(h decision.Handle) (bool, error) { return n.driver.Cancel(h), nil }

func (n *native) Renew(h decision.Handle, e *trace.Event) (bool, error) {
	return n.driver.Renew(h, e.Attempt), nil
}

func (n *native) Decisions() []decision.Decision {
	list := n.driver.Decisions
	n.driver.Decisions = list[:0]
	return list
}
