package eval

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/trace"
)

// decider decides the events of a log, one after another.
type decider interface {
	// compile compiles the body of a policy in JSON and returns a function that
	// activates it. The id names the policy where there are several.
	compile(id string, body []byte) (configure func() error, err error)
	// advance lets time pass. What follows is at this mark.
	advance(now clock.Mark) error
	// begin starts the call of an event.
	begin(e *trace.Event) (decision.Handle, error)
	// done, cancel and renew return false where the event is stale.
	done(h decision.Handle, e *trace.Event) (bool, error)
	cancel(h decision.Handle) (bool, error)
	renew(h decision.Handle, e *trace.Event) (bool, error)
	// decisions returns those since the last call of it, until the next event.
	decisions() []decision.Decision
}

// native decides by the core of this program.
type native struct {
	driver *drive.Driver
	keys   drive.Keys
	epoch  time.Duration // of Options
	// Of several policies: their names and their drivers, of which driver is the first.
	names   []string
	drivers []*drive.Driver
}

// of returns the driver of the policy that an id names, alone or before a slash.
func (n *native) of(id string) (*drive.Driver, error) {
	i, err := policyOf(n.names, id)
	if err != nil || n.drivers == nil {
		return n.driver, err
	}
	return n.drivers[i], nil
}

// policyOf returns the number of the policy that an id names, alone or before a slash. Without
// names there is one.
func policyOf(names []string, id string) (int, error) {
	if names == nil {
		return 0, nil
	}
	name, _, _ := strings.Cut(strings.Trim(id, `"`), "/")
	if i := slices.Index(names, name); i >= 0 && id[0] == '"' {
		return i, nil
	}
	if id == "" {
		id = "nothing"
	}
	return 0, fmt.Errorf("id: found %s; allowed: one that begins with the name of its policy and a slash: %s", id, strings.Join(names, ", "))
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

func (n *native) compile(id string, body []byte) (func() error, error) {
	d, err := n.of(id)
	if err != nil {
		return nil, err
	}
	p, err := policy.ParseOne("policy.json", body)
	if err != nil {
		return nil, inline(err)
	}
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

// inline names the errors of a policy by their paths: its lines are not those
// of the log.
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

func (n *native) advance(now clock.Mark) error {
	n.driver.Advance(now)
	return nil
}

func (n *native) begin(e *trace.Event) (decision.Handle, error) {
	d, err := n.of(e.ID)
	if err != nil {
		return decision.Handle{}, err
	}
	request := drive.Request{Cost: e.Cost, Deadline: e.Deadline}
	if d.Plan().Keyed() != 0 {
		request.Keys, request.Missing = n.keys.Of(d.Plan(), e.Lookup, d.Uses)
	}
	n.keys.Price(&request, d.Plan(), e.Lookup)
	return d.Begin(&request), nil
}

func (n *native) done(h decision.Handle, e *trace.Event) (bool, error) {
	return n.driver.Done(h, drive.Result{Attempt: e.Attempt, Outcome: e.Outcome, Told: e.Told, RetryAfter: e.RetryAfter, HasUsed: e.HasUsed, Used: e.Used}), nil
}

func (n *native) cancel(h decision.Handle) (bool, error) { return n.driver.Cancel(h), nil }

func (n *native) renew(h decision.Handle, e *trace.Event) (bool, error) {
	return n.driver.Renew(h, e.Attempt), nil
}

func (n *native) decisions() []decision.Decision {
	list := n.driver.Decisions
	n.driver.Decisions = list[:0]
	return list
}
