// Package metricnames is the table of the metrics that all runtimes export: the
// bindings of Prometheus and OpenTelemetry, sluice serve, and the package for
// JavaScript.
package metricnames

import "slices"

// Kind is the kind of a metric.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Metric is a metric. None has a caller's key as a label: the number of keys has no
// bound.
type Metric struct {
	// Name by the conventions of OpenTelemetry.
	Name string `json:"name"`
	// Prometheus is the name by the conventions of Prometheus, which is what exporters
	// of OpenTelemetry make of Name and Unit.
	Prometheus string `json:"prometheus"`
	Kind       Kind   `json:"kind"`
	// Unit by UCUM, as OpenTelemetry has it.
	Unit string `json:"unit"`
	Help string `json:"help"`
	// Labels of Prometheus. An attribute of OpenTelemetry has the prefix "sluice.".
	Labels []string `json:"labels"`
	// In is what exports it: Prometheus stands for bindings/prometheus and sluice serve.
	In []Exporter `json:"in"`
}

// Exporter exports metrics.
type Exporter string

// The exporters.
const (
	Prometheus Exporter = "prometheus"
	OTel       Exporter = "otel"
	JavaScript Exporter = "javascript"
)

// Of returns the metrics of an exporter.
func Of(e Exporter) []Metric {
	return slices.DeleteFunc(All(), func(m Metric) bool { return !slices.Contains(m.In, e) })
}

var (
	everywhere = []Exporter{Prometheus, OTel, JavaScript}
	inGo       = []Exporter{Prometheus, OTel}
)

// The metrics.
var (
	Decisions = Metric{
		"sluice.decisions", "sluice_decisions_total", Counter, "{decision}",
		"Decisions, with the names of the decision log.", []string{"policy", "step", "decision", "reason", "shadow"}, everywhere,
	}
	CallDuration = Metric{
		"sluice.call.duration", "sluice_call_duration_seconds", Histogram, "s",
		"Time from the beginning of a call to its outcome, retries and waits included.", []string{"policy", "outcome"}, everywhere,
	}
	BreakerChanges = Metric{
		"sluice.breaker.changes", "sluice_breaker_changes_total", Counter, "{change}",
		"Changes of breakers by the new state, those with a cell for each key included.", []string{"policy", "step", "state"}, everywhere,
	}
	BreakerState = Metric{
		"sluice.breaker.state", "sluice_breaker_state", Gauge, "{breaker}",
		"1 for the state that a breaker is in, of those that all calls share.", []string{"policy", "step", "state"}, inGo,
	}
	QueueLength = Metric{
		"sluice.queue.length", "sluice_queue_length", Gauge, "{call}",
		"Callers that wait at a step.", []string{"policy", "step"}, inGo,
	}
	Wait = Metric{
		"sluice.wait", "sluice_wait_seconds", Histogram, "s",
		"Time that calls waited at a step.", []string{"policy", "step"}, inGo,
	}
	Free = Metric{
		"sluice.free", "sluice_free", Gauge, "{permit}",
		"Permits or places that are free at a step that all calls share.", []string{"policy", "step"}, inGo,
	}
	InUse = Metric{
		"sluice.in_use", "sluice_in_use", Gauge, "{place}",
		"Places that are taken of a bulkhead or an adaptive limit that all calls share.", []string{"policy", "step"}, inGo,
	}
	Places = Metric{
		"sluice.places", "sluice_places", Gauge, "{place}",
		"Places that a bulkhead or an adaptive limit that all calls share has now.", []string{"policy", "step"}, inGo,
	}
	Keys = Metric{
		"sluice.keys", "sluice_keys", Gauge, "{key}",
		"Cells of a step that has one for each key.", []string{"policy", "step"}, inGo,
	}
	KeyBytes = Metric{
		"sluice.key.bytes", "sluice_key_bytes", Gauge, "By",
		"Memory of the cells of a step that has one for each key, estimated.", []string{"policy", "step"}, inGo,
	}
	KeyEvictions = Metric{
		"sluice.key.evictions", "sluice_key_evictions_total", Counter, "{key}",
		"Keys of a step that lost their cell to another key.", []string{"policy", "step"}, inGo,
	}
	KeyShared = Metric{
		"sluice.key.shared", "sluice_key_shared_total", Counter, "{call}",
		"Calls that used the cell that new keys of a step share.", []string{"policy", "step"}, inGo,
	}
	KeyUnblocked = Metric{
		"sluice.key.unblocked", "sluice_key_unblocked_total", Counter, "{call}",
		"Calls over the rate of a step that could begin no block, because half of its keys have one.", []string{"policy", "step"}, inGo,
	}
	CallsRunning = Metric{
		"sluice.calls.running", "sluice_calls_running", Gauge, "{call}",
		"Calls that have begun and not ended, those that wait included.", []string{"policy"}, []Exporter{JavaScript},
	}
)

// All returns the table.
func All() []Metric {
	return []Metric{
		Decisions, CallDuration, BreakerChanges, BreakerState, QueueLength, Wait, Free, InUse, Places,
		Keys, KeyBytes, KeyEvictions, KeyShared, KeyUnblocked, CallsRunning,
	}
}
