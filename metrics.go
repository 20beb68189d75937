package sluice

import (
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/internal/readmostly"
	"github.com/sluice-go/sluice/reducer"
)

// Metrics is a fold of events. Attach it with pipeline.Listen(metrics.Observe);
// its zero value is ready. It keeps no keys.
type Metrics struct {
	decisions readmostly.Map[MetricsKey, *atomic.Uint64]
	events    readmostly.Map[MetricsKey, *atomic.Uint64]
	changes   readmostly.Map[[3]string, *atomic.Uint64]
	calls     atomic.Uint64
	elapsed   atomic.Int64 // nanoseconds
}

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
	// Events of the kinds that the decision log does not have: granted, slow, drained
	// and evicted.
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
	if !e.Kind.Logged() {
		m.events.Get(key, newCounter).Add(1)
		return
	}
	m.decisions.Get(key, newCounter).Add(1)
	if !e.Shadow && (e.Kind == decision.End || e.Kind == decision.Reject || e.Kind == decision.Expire) {
		m.calls.Add(1)
		m.elapsed.Add(int64(e.Elapsed))
	}
}

func newCounter[K any](K) *atomic.Uint64 { return new(atomic.Uint64) }

// Snapshot returns a copy of what has been counted. A call that ends meanwhile may be in
// a part of it.
func (m *Metrics) Snapshot() MetricsSnapshot {
	return MetricsSnapshot{
		Decisions: counted(&m.decisions), Events: counted(&m.events), Changes: counted(&m.changes),
		Calls: m.calls.Load(), Elapsed: time.Duration(m.elapsed.Load()),
	}
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
