// Package policymeter counts what policies decide, and reads the state of their steps,
// for the bindings that export it. The table in metricnames lists the metrics.
package policymeter

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/internal/metricnames"
	"github.com/sluice-go/sluice/internal/readmostly"
	"github.com/sluice-go/sluice/reducer"
)

// Refused is the outcome of a call that a step refused.
const Refused = "refused"

// softTimeout is the decision of a soft limit, which cuts nothing.
const softTimeout = "soft-timeout"

// Point is the value of a series: an integer, which every counter and every gauge of the
// table has.
type Point struct {
	Metric metricnames.Metric
	Value  uint64
	// Labels are the values in the order of the metric's labels.
	Labels []string
}

// counted is what decisions are counted by: the labels.
type counted struct {
	step, decision, reason string
	shadow                 bool
}

// changed is what changes of breakers are counted by.
type changed struct{ step, state string }

// Calls gets the ends of the calls of one policy.
type Calls interface {
	// Ended is called at the end of a call, on its goroutine. Outcome makes the label of
	// the outcome. Its parameters are the fields of the event that it needs: a pointer to
	// the event would have each event allocated.
	Ended(o reducer.Outcome, ctx context.Context, elapsed time.Duration)
}

// Meter counts the events of one policy. The commonest decisions have counters of their
// own, because a look-up by labels costs as much as a decision.
type Meter[C Calls] struct {
	policy    string
	calls     C
	admits    atomic.Uint64
	ends      atomic.Uint64
	decisions readmostly.Map[counted, *atomic.Uint64]
	changes   readmostly.Map[changed, *atomic.Uint64]
}

func newCounter[K any](K) *atomic.Uint64 { return new(atomic.Uint64) }

// Expect begins the series that the steps of the pipeline can have, so that their first
// increment is seen as one.
func (m *Meter[C]) Expect(p *sluice.Pipeline) {
	plan := p.Plan()
	for i := range plan.Len() {
		s := plan.Step(i)
		expect := func(kind decision.Kind, reasons ...reducer.Reason) {
			for _, why := range reasons {
				m.decisions.Get(counted{s.Name, kind.String(), why.String(), s.Shadow}, newCounter)
			}
		}
		row := mechanisms.Row(s.Kind())
		expect(decision.Reject, mechanisms.Facts(s.Kind()).Reasons...)
		if row.Traits.Has(mechanism.Modes) {
			for _, state := range breakerStates {
				m.changes.Get(changed{s.Name, state}, newCounter)
			}
		}
		if row.Traits.Has(mechanism.Cuts) {
			expect(decision.Timeout, reducer.NoReason)
		}
	}
}

// Observe counts an event of a kind that the decision log has.
func (m *Meter[C]) Observe(e *sluice.Event) {
	plain := e.Step == "" && e.Reason == reducer.NoReason && !e.Shadow
	switch {
	case e.Kind == decision.Change:
		m.changes.Get(changed{e.Step, e.Mode.String()}, newCounter).Add(1)
		return
	case !e.Kind.Logged():
		return
	case e.Kind == decision.Admit && plain:
		m.admits.Add(1)
		return
	case e.Kind == decision.End && plain:
		m.ends.Add(1)
	default:
		name := e.Kind.String()
		if e.Soft {
			name = softTimeout
		}
		m.decisions.Get(counted{e.Step, name, e.Reason.String(), e.Shadow}, newCounter).Add(1)
	}
	switch {
	case e.Shadow:
	case e.Kind == decision.End:
		m.calls.Ended(e.Outcome, e.Context, e.Elapsed)
	case e.Kind == decision.Reject || e.Kind == decision.Expire:
		m.calls.Ended(0, e.Context, e.Elapsed)
	}
}

// Outcome returns the label of an outcome that a Meter has passed on.
func Outcome(o reducer.Outcome) string {
	if o == 0 {
		return Refused
	}
	return o.String()
}

// Points calls f with the counts.
func (m *Meter[C]) Points(f func(Point)) {
	decided := func(n *atomic.Uint64, c counted) {
		f(Point{metricnames.Decisions, n.Load(), []string{m.policy, c.step, c.decision, c.reason, strconv.FormatBool(c.shadow)}})
	}
	decided(&m.admits, counted{decision: decision.Admit.String()})
	decided(&m.ends, counted{decision: decision.End.String()})
	for c, n := range m.decisions.All() {
		decided(n, c)
	}
	for c, n := range m.changes.All() {
		f(Point{metricnames.BreakerChanges, n.Load(), []string{m.policy, c.step, c.state}})
	}
}
