package serve

import (
	"maps"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/reducer"
)

// meter counts what happens for Prometheus. No label has a caller's key: their
// number has no bound.
type meter struct {
	set      *sluice.Set
	registry *prometheus.Registry
	inFlight atomic.Int64

	decisions *prometheus.CounterVec
	durations *prometheus.HistogramVec
	changes   *prometheus.CounterVec
	answers   *prometheus.CounterVec
	reloads   *prometheus.CounterVec
	reloadOK  prometheus.Gauge
	reloadAt  prometheus.Gauge

	// What was looked up by labels once: quicker than by labels, which costs as
	// much as a decision.
	counters cache[counted, prometheus.Counter]
	timers   cache[ending, prometheus.Observer]
	statuses cache[int, prometheus.Counter]
}

// cache is a map that is read without a lock and copied by the goroutine that adds to it.
type cache[K comparable, V any] struct {
	mu    sync.Mutex
	known atomic.Pointer[map[K]V]
}

// get returns the value of a key, which make makes the first time.
func (c *cache[K, V]) get(key K, make func(K) V) V {
	if known := c.known.Load(); known != nil {
		if v, ok := (*known)[key]; ok {
			return v
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[K]V{}
	if known := c.known.Load(); known != nil {
		maps.Copy(next, *known)
	}
	v := make(key)
	next[key] = v
	c.known.Store(&next)
	return v
}

// ending is what durations are kept by.
type ending struct{ policy, outcome string }

// counted is what decisions are counted by.
type counted struct {
	policy, step string
	kind         decision.Kind
	reason       reducer.Reason
	shadow       bool
}

// buckets of durations in seconds: from a refusal to the longest of timeouts.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func newMeter(set *sluice.Set, version string) *meter {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sluice", Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "sluice", Name: name, Help: help})
	}
	m := &meter{
		set: set, registry: prometheus.NewRegistry(),
		decisions: counter("decisions_total", "Decisions, in the words of the decision log.", "policy", "step", "decision", "reason", "shadow"),
		changes:   counter("breaker_changes_total", "Changes of breakers, those with a cell for each key included.", "policy", "step", "state"),
		answers:   counter("http_answers_total", "Answers to clients by status.", "code"),
		reloads:   counter("reloads_total", "Readings of the policy document after the start.", "result"),
		reloadOK:  gauge("last_reload_successful", "1 when the latest reading of the policy document was accepted, the first one included."),
		reloadAt:  gauge("last_reload_success_timestamp_seconds", "When the active policy document was read."),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "sluice", Name: "call_duration_seconds", Help: "Time from a request's first step to its outcome, retries and waits included.", Buckets: buckets,
		}, []string{"policy", "outcome"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "sluice", Name: "build_info", Help: "1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	})
	build.Set(1)
	m.accepted()
	m.registry.MustRegister(m.decisions, m.durations, m.changes, m.answers, m.reloads, m.reloadOK, m.reloadAt, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sluice", Name: "http_requests_in_flight", Help: "Requests under way, upgraded connections included."},
			func() float64 { return float64(m.inFlight.Load()) }),
		stateCollector{set})
	for _, result := range []string{"ok", "refused"} {
		m.reloads.WithLabelValues(result)
	}
	return m
}

// observe counts an event.
func (m *meter) observe(e sluice.Event) {
	if e.Kind == decision.Change {
		m.changes.WithLabelValues(e.Policy, e.Step, e.Mode.String()).Inc()
		return
	}
	m.counters.get(counted{e.Policy, e.Step, e.Kind, e.Reason, e.Shadow}, m.counter).Inc()
	if e.Shadow {
		return
	}
	switch e.Kind {
	case decision.End:
		m.timers.get(ending{e.Policy, e.Outcome.String()}, m.timer).Observe(e.Elapsed.Seconds())
	case decision.Reject, decision.Expire:
		m.timers.get(ending{e.Policy, "refused"}, m.timer).Observe(e.Elapsed.Seconds())
	}
}

func (m *meter) counter(d counted) prometheus.Counter {
	return m.decisions.WithLabelValues(d.policy, d.step, d.kind.String(), d.reason.String(), strconv.FormatBool(d.shadow))
}

func (m *meter) timer(e ending) prometheus.Observer {
	return m.durations.WithLabelValues(e.policy, e.outcome)
}

// answered counts an answer. One that was never begun is counted as 0.
func (m *meter) answered(status int) {
	m.statuses.get(status, m.answer).Inc()
}

func (m *meter) answer(status int) prometheus.Counter {
	return m.answers.WithLabelValues(strconv.Itoa(status))
}

// reloaded counts a reading of the document after the start.
func (m *meter) reloaded(ok bool) {
	if !ok {
		m.reloads.WithLabelValues("refused").Inc()
		m.reloadOK.Set(0)
		return
	}
	m.reloads.WithLabelValues("ok").Inc()
	m.accepted()
}

// accepted notes that a document was read and is active.
func (m *meter) accepted() {
	m.reloadOK.Set(1)
	m.reloadAt.SetToCurrentTime()
}

// stateCollector reads the state of the steps when Prometheus asks.
type stateCollector struct{ set *sluice.Set }

var (
	breakerState = prometheus.NewDesc("sluice_breaker_state", "1 for the state that a breaker is in, of those that all calls share.", []string{"policy", "step", "state"}, nil)
	queueLength  = prometheus.NewDesc("sluice_queue_length", "Callers that wait at a step.", []string{"policy", "step"}, nil)
	waits        = prometheus.NewDesc("sluice_wait_seconds", "Time that requests waited at a step, however the wait ended.", []string{"policy", "step"}, nil)
	stepFree     = prometheus.NewDesc("sluice_free", "Permits or places that are free at a step that all calls share.", []string{"policy", "step"}, nil)
	stepKeys     = prometheus.NewDesc("sluice_keys", "Cells of a step that has one for each key.", []string{"policy", "step"}, nil)
	keyBytes     = prometheus.NewDesc("sluice_key_bytes", "Memory of the cells of a step that has one for each key, estimated.", []string{"policy", "step"}, nil)
	evictions    = prometheus.NewDesc("sluice_key_evictions_total", "Keys of a step that lost their cell to another key.", []string{"policy", "step"}, nil)
	sharedUses   = prometheus.NewDesc("sluice_key_shared_total", "Requests that used the cell that new keys of a step share.", []string{"policy", "step"}, nil)
)

// breakerStates are the names that a breaker's state has.
var breakerStates = []string{"closed", "open", "half-open"}

// Describe implements prometheus.Collector.
func (stateCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{breakerState, queueLength, waits, stepFree, stepKeys, keyBytes, evictions, sharedUses} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c stateCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	for _, name := range c.set.Names() {
		p := c.set.Pipeline(name)
		if p == nil {
			continue
		}
		for _, s := range p.State() {
			if row := mechanisms.Row(s.Kind); row != nil && row.Queue != nil {
				gauge(queueLength, float64(s.Waiting), name, s.Step)
				to <- prometheus.MustNewConstSummary(waits, s.Waits, s.Waited.Seconds(), nil, name, s.Step)
			}
			if s.Counted {
				gauge(stepFree, float64(s.Free), name, s.Step)
			}
			if s.Keys > 0 {
				gauge(stepKeys, float64(s.Keys), name, s.Step)
				gauge(keyBytes, float64(s.Bytes), name, s.Step)
				count(evictions, s.Evictions, name, s.Step)
				count(sharedUses, s.Shared, name, s.Step)
			}
			if s.Mode == "" {
				continue
			}
			for _, state := range breakerStates {
				on := 0.0
				if s.Mode == state {
					on = 1
				}
				gauge(breakerState, on, name, s.Step, state)
			}
		}
	}
}
