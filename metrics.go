package sluice

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/internal/readmostly"
	"github.com/sluice-go/sluice/reducer"
)

// Metrics is a fold of events. Attach it with pipeline.Observe(&metrics), or with
// pipeline.Listen(metrics.Observe), which costs more. Its zero value is ready. It keeps no
// keys.
type Metrics struct {
	decisions readmostly.Map[MetricsKey, *atomic.Uint64]
	events    readmostly.Map[MetricsKey, *atomic.Uint64]
	changes   readmostly.Map[[3]string, *atomic.Uint64]
	common    readmostly.Map[string, *commonDecisions] // by policy, not in decisions
	calls     atomic.Uint64                            // that are not in common
	elapsed   atomic.Int64                             // nanoseconds
}

// commonDecisions are the decisions of one policy whose look-up by MetricsKey would cost as
// much as the rest.
type commonDecisions struct{ admitted, succeeded atomic.Uint64 }

// MetricsKey names a counter.
type MetricsKey struct {
	Policy, Step string
	Kind         decision.Kind
	Reason       reducer.Reason
	Outcome      reducer.Outcome
	Shadow       bool
}

// MetricsSnapshot is what Metrics has seen.
type MetricsSnapshot struct {
	// Decisions of each kind, as in the decision log.
	Decisions map[MetricsKey]uint64
	// Events of the kinds that the decision log does not have: granted, slow, drained,
	// evicted, manual, added, replaced and removed.
	Events map[MetricsKey]uint64
	// Changes of breakers by policy, step and new state.
	Changes map[[3]string]uint64
	// Calls that are over, and the time that they took in all.
	Calls   uint64
	Elapsed time.Duration
}

// Observe counts an event.
func (m *Metrics) Observe(e Event) {
	if e.Kind == decision.Change {
		m.changes.Get([3]string{e.Policy, e.Step, e.Mode.String()}, newCounter).Add(1)
		return
	}
	if e.Soft {
		return
	}
	key := MetricsKey{e.Policy, e.Step, e.Kind, e.Reason, e.Outcome, e.Shadow}
	switch {
	case key == admissions(e.Policy):
		m.Admitted(e.Policy)
		return
	case key == successes(e.Policy):
		m.Succeeded(e.Policy, e.Context, e.Elapsed)
		return
	case !e.Kind.Logged():
		m.events.Get(key, newCounter).Add(1)
		return
	}
	m.decisions.Get(key, newCounter).Add(1)
	if !e.Shadow && (e.Kind == decision.End || e.Kind == decision.Reject || e.Kind == decision.Expire) {
		m.calls.Add(1)
		m.elapsed.Add(int64(e.Elapsed))
	}
}

func admissions(policy string) MetricsKey {
	return MetricsKey{Policy: policy, Kind: decision.Admit}
}

func successes(policy string) MetricsKey {
	return MetricsKey{Policy: policy, Kind: decision.End, Outcome: reducer.OK}
}

// Admitted implements Observer.
func (m *Metrics) Admitted(policy string) { m.common.Get(policy, newCommon).admitted.Add(1) }

// Succeeded implements Observer.
func (m *Metrics) Succeeded(policy string, _ context.Context, elapsed time.Duration) {
	m.common.Get(policy, newCommon).succeeded.Add(1)
	m.elapsed.Add(int64(elapsed))
}

func newCommon(string) *commonDecisions { return new(commonDecisions) }

func newCounter[K any](K) *atomic.Uint64 { return new(atomic.Uint64) }

// Snapshot returns a copy of what has been counted. A call that ends meanwhile may be in
// a part of it.
func (m *Metrics) Snapshot() MetricsSnapshot {
	s := MetricsSnapshot{
		Decisions: counted(&m.decisions), Events: counted(&m.events), Changes: counted(&m.changes),
		Calls: m.calls.Load(), Elapsed: time.Duration(m.elapsed.Load()),
	}
	for policy, n := range m.common.All() {
		if s.Decisions == nil {
			s.Decisions = map[MetricsKey]uint64{}
		}
		if admitted := n.admitted.Load(); admitted > 0 {
			s.Decisions[admissions(policy)] = admitted
		}
		if succeeded := n.succeeded.Load(); succeeded > 0 {
			s.Decisions[successes(policy)] = succeeded
			s.Calls += succeeded
		}
	}
	return s
}

func counted[K comparable](counters *readmostly.Map[K, *atomic.Uint64]) map[K]uint64 {
	var counts map[K]uint64
	for key, n := range counters.All() {
		if counts == nil {
			counts = map[K]uint64{}
		}
		counts[key] = n.Load()
	}
	return counts
}
