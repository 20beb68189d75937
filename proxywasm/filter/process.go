package filter

import (
	"time"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/shared"
	"github.com/sluice-go/sluice/reducer"
)

// process is the engine whose cells all workers of the proxy share.
type process struct {
	host    *shared.Host
	policy  *policy
	metrics *metrics
	decided verdict // the latest
}

func newProcess(p *policy, of *shared.Process, m *metrics) *process {
	e := &process{policy: p, metrics: m}
	// config.Check has refused the document of a plan that no host takes.
	e.host, _ = of.Host(p.plan, e.tell)
	return e
}

// tell takes a decision of the host.
func (e *process) tell(_ *shared.Call, d *decision.Decision) {
	e.metrics.decided(e.policy, d)
	if v, ok := verdictOf(d); ok {
		e.decided = v
	}
}

func (e *process) begin(s *stream, q *request) verdict {
	if s.call == nil {
		s.call = new(shared.Call)
	}
	s.call.ID = uint64(s.id)
	e.decided = verdict{}
	e.host.Begin(s.call, q.cost, q.find)
	s.omits = s.call.Omits()
	return e.decided
}

func (e *process) vote(s *stream, o reducer.Outcome, after time.Duration) {
	e.host.Vote(s.call, o, after)
}

func (e *process) end(s *stream, o reducer.Outcome) { e.host.End(s.call, o) }

func (e *process) waiting() int { return e.host.Waiting() }

func (e *process) every() time.Duration { return e.host.Renews() }

func (e *process) tick(decided func(uint32, verdict)) {
	e.host.Tick(func(c *shared.Call) { decided(uint32(c.ID), e.decided) })
}

func (e *process) room(s *stream, step int) room {
	return roomOf(e.policy, step, func(cost uint32) (reducer.Answer, time.Duration) {
		answer, now := e.host.Ask(s.call, step, reducer.Action{Kind: reducer.Peek, Cost: cost})
		after, _ := answer.RetryAfter(now)
		return answer, after
	})
}

func (e *process) state(s *stream, step int) string { return e.host.Text(s.call, step) }

func (e *process) count(m *metrics) {
	for i := range e.policy.plan.Len() {
		m.counts(e.policy, i, e.host.Counts(i))
	}
}
