package serve

import (
	"runtime"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/sluice-go/sluice"
	sluiceprometheus "github.com/sluice-go/sluice/bindings/prometheus"
	"github.com/sluice-go/sluice/internal/readmostly"
)

// meter counts what happens for Prometheus. No label has a caller's key: their
// number has no bound.
type meter struct {
	registry *prometheus.Registry
	inFlight atomic.Int64

	answers   *prometheus.CounterVec
	lostLines prometheus.Counter
	crowded   prometheus.Counter
	reloads   *prometheus.CounterVec
	reloadOK  prometheus.Gauge
	reloadAt  prometheus.Gauge

	// Counters that were looked up by labels once: quicker than by labels, which costs
	// as much as a decision.
	statuses readmostly.Map[int, prometheus.Counter]
}

func newMeter(set *sluice.Set, version string) *meter {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sluice", Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "sluice", Name: name, Help: help})
	}
	m := &meter{
		registry: prometheus.NewRegistry(),
		answers:  counter("http_answers_total", "Answers to clients by status.", "code"),
		lostLines: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "sluice", Name: "access_log_lost_lines_total", Help: "Lines of the access log that could not be written, as on a full disk.",
		}),
		crowded: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "sluice", Name: "client_connections_closed_total",
			Help: "Connections of clients that were closed at once because as many were open as are allowed.",
		}),
		reloads:  counter("reloads_total", "Readings of the policy document after the start.", "result"),
		reloadOK: gauge("last_reload_successful", "1 when the latest reading of the policy document was accepted, the first one included."),
		reloadAt: gauge("last_reload_success_timestamp_seconds", "When the active policy document was read."),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "sluice", Name: "build_info", Help: "1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	})
	build.Set(1)
	m.accepted()
	policies := sluiceprometheus.New()
	policies.AddSet(set)
	m.registry.MustRegister(policies, m.answers, m.lostLines, m.crowded, m.reloads, m.reloadOK, m.reloadAt, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "sluice", Name: "http_requests_in_flight",
			Help: "Requests under way, upgraded connections included."},
			func() float64 { return float64(m.inFlight.Load()) }))
	for _, result := range []string{"ok", "refused"} {
		m.reloads.WithLabelValues(result)
	}
	return m
}

// answered counts an answer. One that was never begun is counted as 0.
func (m *meter) answered(status int) {
	m.statuses.Get(status, m.answer).Inc()
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
