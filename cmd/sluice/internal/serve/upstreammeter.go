package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/reducer"
)

// upstreamMeter counts for one upstream of several.
type upstreamMeter struct {
	ok, failed, cancelled prometheus.Counter
	failovers, recoveries prometheus.Counter
	ejections, probes     *prometheus.CounterVec
}

// measure puts meters on the upstreams. Their names come from the command line, so their
// number is bounded.
func measure(upstreams []*upstream, registry prometheus.Registerer) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sluice", Subsystem: "upstream", Name: name, Help: help},
			append([]string{"upstream"}, labels...))
		registry.MustRegister(c)
		return c
	}
	requests := counter("requests_total", "Attempts at an upstream; cancel: the client left or did not send its body.", "result")
	failovers := counter("failovers_total", "Requests that went to another upstream, for this one could not be connected to.")
	ejections := counter("ejections_total", "Ejections of an upstream.", "by")
	recoveries := counter("recoveries_total", "Ends of ejections.")
	probes := counter("probes_total", "Probes of an upstream.", "result")
	for _, u := range upstreams {
		u.meter = upstreamMeter{
			ok: requests.WithLabelValues(u.name, "ok"), failed: requests.WithLabelValues(u.name, "fail"),
			cancelled: requests.WithLabelValues(u.name, "cancel"),
			failovers: failovers.WithLabelValues(u.name), recoveries: recoveries.WithLabelValues(u.name),
			ejections: ejections, probes: probes,
		}
		for _, by := range causeNames {
			ejections.WithLabelValues(u.name, by)
		}
	}
	registry.MustRegister(upstreamCollector(upstreams))
}

// count counts an attempt.
func (m *upstreamMeter) count(o reducer.Outcome) {
	switch o {
	case reducer.OK:
		m.ok.Inc()
	case reducer.Cancelled:
		m.cancelled.Inc()
	default:
		m.failed.Inc()
	}
}

// upstreamCollector reads the states of upstreams when Prometheus asks.
type upstreamCollector []*upstream

var (
	upstreamInFlight = prometheus.NewDesc("sluice_upstream_in_flight", "Requests under way at an upstream, their answers included.",
		[]string{"upstream"}, nil)
	upstreamEjected = prometheus.NewDesc("sluice_upstream_ejected", "1 while an upstream is ejected.", []string{"upstream"}, nil)
)

// Describe implements prometheus.Collector.
func (upstreamCollector) Describe(to chan<- *prometheus.Desc) {
	to <- upstreamInFlight
	to <- upstreamEjected
}

// Collect implements prometheus.Collector.
func (c upstreamCollector) Collect(to chan<- prometheus.Metric) {
	for _, u := range c {
		ejected := 0.0
		if u.state.ejected.Load() {
			ejected = 1
		}
		to <- prometheus.MustNewConstMetric(upstreamInFlight, prometheus.GaugeValue, float64(u.load.Load()), u.name)
		to <- prometheus.MustNewConstMetric(upstreamEjected, prometheus.GaugeValue, ejected, u.name)
	}
}
