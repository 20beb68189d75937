package eval

import (
	"errors"
	"io"
	"regexp"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/wasm/host"
)

// RunModule is Run for a plan that a wasm module decides. It prints the same
// bytes. State is an error, and more than a million keys in use are one of the
// line that brings the next.
func RunModule(m *host.Module, plan *host.Plan, o Options, in io.Reader, out io.Writer) error {
	if o.State {
		return ErrNoState
	}
	if o.Epoch != 0 {
		return ErrNoEpoch
	}
	p, err := m.Pipeline(plan, o.Seed)
	if err != nil {
		return err
	}
	d := &module{m: m, pipeline: p}
	err = play(d, nil, o.Follow, in, out)
	if closed := errors.Join(d.forget(), p.Close()); err == nil {
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
	m        *host.Module
	pipeline *host.Pipeline
	plan     *host.Plan // of the last configure, nil for none
	now      clock.Mark
	over     bool // the decisions are at the greatest mark
	list     []decision.Decision
}

// place is the prefix of an error of the module's policies.
var place = regexp.MustCompile(`(?m)^policy:\d+:\d+: `)

func (s *module) compile(_ string, body []byte) (func() error, error) {
	plan, err := s.m.Body(body)
	var wrong *host.Error
	switch {
	case errors.As(err, &wrong):
		return nil, errors.New(place.ReplaceAllString(wrong.Text, "policy: "))
	case err != nil:
		return nil, err
	}
	return func() (err error) {
		if s.list, err = s.pipeline.Configure(s.list, plan, s.now); err != nil {
			return err
		}
		err = s.forget()
		s.plan = plan
		return err
	}, nil
}

// forget frees the plan of the last configure. Calls that began under it keep it.
func (s *module) forget() error {
	if s.plan == nil {
		return nil
	}
	return s.plan.Close()
}

func (s *module) advance(now clock.Mark) (err error) {
	s.now = now
	s.list, err = s.pipeline.Advance(s.list, now)
	return err
}

func (s *module) begin(e *event) (h decision.Handle, err error) {
	request := host.Request{Cost: e.cost, Deadline: e.deadline, Lookup: e.lookup}
	h, s.list, err = s.pipeline.Begin(s.list, request, s.now)
	return h, err
}

func (s *module) done(h decision.Handle, e *event) (_ bool, err error) {
	result := host.Result{Attempt: e.attempt, Outcome: e.outcome, Told: e.told, RetryAfter: e.retryAfter, HasUsed: e.hasUsed, Used: e.used}
	s.list, err = s.pipeline.Done(s.list, h, result, s.now)
	return live(err)
}

func (s *module) cancel(h decision.Handle) (_ bool, err error) {
	s.list, err = s.pipeline.Cancel(s.list, h, s.now)
	return live(err)
}

func (s *module) renew(h decision.Handle, e *event) (_ bool, err error) {
	s.list, err = s.pipeline.Renew(s.list, h, e.attempt, s.now)
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
func (s *module) decisions() []decision.Decision {
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
