package sluice

import (
	"maps"
	"sync"
	"time"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// Metrics is a fold of events. Attach it with pipeline.Listen(metrics.Observe);
// its zero value is ready. It keeps no keys.
type Metrics struct {
	mu   sync.Mutex
	snap MetricsSnapshot
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
	// Changes of breakers by policy, step and new state.
	Changes map[[3]string]uint64
	// Calls that are over, and the time that they took in all.
	Calls   uint64
	Elapsed time.Duration
}

// Observe counts an event.
func (m *Metrics) Observe(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.snap.Decisions == nil {
		m.snap.Decisions, m.snap.Changes = map[MetricsKey]uint64{}, map[[3]string]uint64{}
	}
	if e.Kind == decision.Change {
		m.snap.Changes[[3]string{e.Policy, e.Step, e.Mode.String()}]++
		return
	}
	if e.Soft {
		return
	}
	m.snap.Decisions[MetricsKey{e.Policy, e.Step, e.Kind, e.Reason, e.Outcome, e.Shadow}]++
	if !e.Shadow && (e.Kind == decision.End || e.Kind == decision.Reject || e.Kind == decision.Expire) {
		m.snap.Calls++
		m.snap.Elapsed += e.Elapsed
	}
}

// Snapshot returns a copy of what has been counted.
func (m *Metrics) Snapshot() MetricsSnapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.snap
	s.Decisions, s.Changes = maps.Clone(s.Decisions), maps.Clone(s.Changes)
	return s
}
