// Package decide decides the log of eval.Run by a wasm module.
package decide

import (
	"errors"
	"io"
	"regexp"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/trace"
	"github.com/sluice-go/sluice/wasm/host"
)

// Run is eval.Run for a plan that a wasm module decides. It prints the same
// bytes. State is an error, and more than a million keys in use are one of the
// line that brings the next.
func Run(m *host.Module, plan *host.Plan, o eval.Options, in io.Reader, out io.Writer) error {
	if err := native(&o); err != nil {
		return err
	}
	return decideByModule(m, nil, []*host.Plan{plan}, o, in, out)
}

// RunAll is eval.RunAll for plans that a wasm module decides, of the policies of the names.
func RunAll(m *host.Module, names []string, plans []*host.Plan, o eval.Options, in io.Reader, out io.Writer) error {
	err := native(&o)
	switch {
	case err != nil:
		return err
	case len(plans) == 0:
		return eval.ErrNoPolicies
	case len(names) != len(plans):
		return errNames
	}
	return decideByModule(m, names, plans, o, in, out)
}

// native returns an error for what a wasm module does not have.
func native(o *eval.Options) error {
	switch {
	case o.State:
		return ErrNoState
	case o.Epoch != 0:
		return ErrNoEpoch
	}
	return nil
}

var errNames = errors.New("each plan has one name")

// decideByModule decides a log by pipelines of a module, of which those behind the first one
// are joined to it. names are nil for one.
func decideByModule(m *host.Module, names []string, plans []*host.Plan, o eval.Options, in io.Reader, out io.Writer) error {
	d := &module{m: m}
	err := d.join(plans, o.Seed)
	if err == nil {
		err = eval.Play(d, names, o.Follow, in, out)
	}
	if closed := d.close(); err == nil {
		err = closed
	}
	return err
}

// ErrNoState says that a wasm module does not report the states of cells.
var ErrNoState = errors.New("a wasm module does not report the states of cells")

// ErrNoEpoch says that a wasm module reads policies itself, whose mark 0 is 1970.
var ErrNoEpoch = errors.New("a wasm module takes no epoch")

// module decides by a wasm module.
type module struct {
	m         *host.Module
	pipelines []*host.Pipeline
	plans     []*host.Plan // of the last configure of each, nil for none
	now       clock.Mark
	over      bool // the decisions are at the greatest mark
	list      []decision.Decision
}

// join makes the pipelines of plans.
func (s *module) join(plans []*host.Plan, seed uint64) error {
	for i, plan := range plans {
		var p *host.Pipeline
		var err error
		if i == 0 {
			p, err = s.m.Pipeline(plan, seed)
		} else {
			p, err = s.pipelines[0].Join(plan, seed)
		}
		if err != nil {
			return err
		}
		s.pipelines, s.plans = append(s.pipelines, p), append(s.plans, nil)
	}
	return nil
}

// close frees what was made.
func (s *module) close() error {
	var errs []error
	for i, p := range s.pipelines {
		errs = append(errs, s.forget(i), p.Close())
	}
	return errors.Join(errs...)
}

// place is the prefix of an error of the module's policies.
var place = regexp.MustCompile(`(?m)^policy:\d+:\d+: `)

func (s *module) Compile(i int, body []byte) (func() error, error) {
	plan, err := s.m.Body(body)
	var wrong *host.Error
	switch {
	case errors.As(err, &wrong):
		return nil, errors.New(place.ReplaceAllString(wrong.Text, "policy: "))
	case err != nil:
		return nil, err
	}
	return func() (err error) {
		if s.list, err = s.pipelines[i].Configure(s.list, plan, s.now); err != nil {
			return err
		}
		err = s.forget(i)
		s.plans[i] = plan
		return err
	}, nil
}

// forget frees the plan of the last configure of a pipeline. Calls that began under it keep
// it.
func (s *module) forget(i int) error {
	if s.plans[i] == nil {
		return nil
	}
	return s.plans[i].Close()
}

func (s *module) Advance(now clock.Mark) (err error) {
	s.now = now
	s.list, err = s.pipelines[0].Advance(s.list, now)
	return err
}

func (s *module) Begin(i int, e *trace.Event) (h decision.Handle, err error) {
	request := host.Request{Cost: e.Cost, Deadline: e.Deadline, Lookup: e.Lookup}
	h, s.list, err = s.pipelines[i].Begin(s.list, request, s.now)
	return h, err
}

func (s *module) Done(h decision.Handle, e *trace.Event) (_ bool, err error) {
	result := host.Result{Attempt: e.Attempt, Outcome: e.Outcome, Told: e.Told, RetryAfter: e.RetryAfter, HasUsed: e.HasUsed, Used: e.Used}
	s.list, err = s.pipelines[0].Done(s.list, h, result, s.now)
	return live(err)
}

func (s *module) Cancel(h decision.Handle) (_ bool, err error) {
	s.list, err = s.pipelines[0].Cancel(s.list, h, s.now)
	return live(err)
}

func (s *module) Renew(h decision.Handle, e *trace.Event) (_ bool, err error) {
	s.list, err = s.pipelines[0].Renew(s.list, h, e.Attempt, s.now)
	return live(err)
}

func live(err error) (bool, error) {
	if errors.Is(err, host.ErrStale) {
		return false, nil
	}
	return err == nil, err
}

// decisions returns the module's decisions. The greatest i64 is a mark in a log but
// not in the ABI, where the mark before it is used instead; what was due before it
// has already been processed then.
func (s *module) Decisions() []decision.Decision {
	list := s.list
	s.list = list[:0]
	for i := range list {
		if s.over {
			list[i].At = s.now
		}
	}
	s.over = s.now == clock.Never
	return list
}
