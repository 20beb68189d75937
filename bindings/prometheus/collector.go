package sluiceprometheus

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/durations"
	"github.com/sluice-go/sluice/internal/metricnames"
	"github.com/sluice-go/sluice/internal/policymeter"
)

// Collector is a prometheus.Collector of pipelines and sets. It is safe for concurrent
// use.
type Collector struct {
	traceID func(context.Context) string
	sources policymeter.Sources[*calls]
}

var _ prometheus.Collector = (*Collector)(nil)

// Option changes a Collector.
type Option func(*Collector)

// WithTraceID adds an exemplar to the ranges of the histogram of calls: the id of the
// trace of the latest call in it, as the label trace_id. traceID gets the context of a
// call and returns its trace's id, empty for a call without one or one whose trace is not
// kept. It is called at the end of each call, on its goroutine. Prometheus reads exemplars
// in the format OpenMetrics alone (promhttp.HandlerOpts.EnableOpenMetrics). Default: no
// exemplars.
func WithTraceID(traceID func(ctx context.Context) string) Option {
	return func(c *Collector) { c.traceID = traceID }
}

// New returns a Collector of nothing.
func New(options ...Option) *Collector {
	c := &Collector{}
	for _, option := range options {
		option(c)
	}
	c.sources.Make = func(policy string) *calls { return newCalls(policy, c.traceID) }
	return c
}

// AddSet counts what the pipelines of the set decide from now on, pipelines of later
// documents included, and exports the state of the active ones. remove ends it; what was
// counted is no longer exported then. A Collector has one set or pipeline for each name of
// a policy: two of one name make the scrape fail. prometheus.WrapRegistererWith keeps two
// Collectors apart.
func (c *Collector) AddSet(set *sluice.Set) (remove func()) { return c.sources.AddSet(set) }

// AddPipeline is AddSet for one pipeline. It has no effect on a pipeline without a policy.
func (c *Collector) AddPipeline(p *sluice.Pipeline) (remove func()) { return c.sources.AddPipeline(p) }

// descs are the descriptions of the table's metrics by their names.
var descs = func() map[string]*prometheus.Desc {
	all := map[string]*prometheus.Desc{}
	for _, m := range metricnames.Of(metricnames.Prometheus) {
		all[m.Name] = prometheus.NewDesc(m.Prometheus, m.Help, m.Labels, nil)
	}
	return all
}()

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	c.sources.Read(func(p policymeter.Point) {
		kind := prometheus.GaugeValue
		if p.Metric.Kind == metricnames.Counter {
			kind = prometheus.CounterValue
		}
		to <- prometheus.MustNewConstMetric(descs[p.Metric.Name], kind, float64(p.Value), p.Labels...)
	}, func(waits durations.Snapshot, labels ...string) {
		to <- histogram(metricnames.Wait, waits, labels...)
	}, func(c *calls) { c.collect(to) })
}
