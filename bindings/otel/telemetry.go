package sluiceotel

import (
	"context"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/internal/durations"
	"github.com/sluice-go/sluice/internal/metricnames"
	"github.com/sluice-go/sluice/internal/policymeter"
	"github.com/sluice-go/sluice/internal/readmostly"
	"github.com/sluice-go/sluice/reducer"
)

// Scope is the name of the instrumentation scope.
const Scope = "github.com/sluice-go/sluice/bindings/otel"

// Telemetry exports pipelines and sets. It is safe for concurrent use.
type Telemetry struct {
	tracer       trace.Tracer
	sources      policymeter.Sources[*calls]
	names        readmostly.Map[string, string] // of spans, by policy
	durations    metric.Float64Histogram
	waits        metric.Float64Histogram
	waitOptions  readmostly.Map[[2]string, []metric.RecordOption] // by policy and step
	integers     map[string]metric.Int64Observable                // by the name of the metric
	registration metric.Registration
}

// Option changes a Telemetry.
type Option func(*config)

type config struct {
	meters  metric.MeterProvider
	tracers trace.TracerProvider
}

// WithMeterProvider sets the provider of the metrics. Default: the global one.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// WithTracerProvider sets the provider of the spans of Do. Default: the global one.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// New returns a Telemetry of nothing. The error comes from the provider of the metrics.
func New(options ...Option) (*Telemetry, error) {
	c := config{meters: otel.GetMeterProvider(), tracers: otel.GetTracerProvider()}
	for _, option := range options {
		option(&c)
	}
	t := &Telemetry{
		tracer:   c.tracers.Tracer(Scope, trace.WithInstrumentationVersion(version())),
		integers: map[string]metric.Int64Observable{},
	}
	t.sources.Make = func(policy string) *calls { return &calls{policy: policy, durations: t.durations} }
	t.sources.Listener = t.listen
	return t, t.instrument(c.meters.Meter(Scope, metric.WithInstrumentationVersion(version())))
}

// version returns the version of this module, empty where the program was built in a
// workspace.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == Scope {
				return m.Version
			}
		}
	}
	return ""
}

// instrument makes the instruments.
func (t *Telemetry) instrument(meter metric.Meter) (err error) {
	bounds := make([]float64, 0, durations.Ranges)
	for _, bound := range durations.Bounds() {
		bounds = append(bounds, bound.Seconds())
	}
	var all []metric.Observable
	for _, m := range metricnames.Of(metricnames.OTel) {
		switch {
		case m.Kind == metricnames.Histogram:
			var histogram metric.Float64Histogram
			histogram, err = meter.Float64Histogram(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help), metric.WithExplicitBucketBoundaries(bounds...))
			if m.Name == metricnames.Wait.Name {
				t.waits = histogram
			} else {
				t.durations = histogram
			}
		case m.Kind == metricnames.Counter:
			var counter metric.Int64ObservableCounter
			counter, err = meter.Int64ObservableCounter(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help))
			t.integers[m.Name], all = counter, append(all, counter)
		default:
			var gauge metric.Int64ObservableGauge
			gauge, err = meter.Int64ObservableGauge(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help))
			t.integers[m.Name], all = gauge, append(all, gauge)
		}
		if err != nil {
			return err
		}
	}
	t.registration, err = meter.RegisterCallback(t.observe, all...)
	return err
}

// Close ends the export of counters and states. The functions that AddSet and AddPipeline
// returned end the rest.
func (t *Telemetry) Close() error { return t.registration.Unregister() }

// AddSet exports what the pipelines of the set decide from now on, pipelines of later
// documents included, and the state of the active ones. remove ends it. A Telemetry has
// one set or pipeline for each name of a policy.
func (t *Telemetry) AddSet(set *sluice.Set) (remove func()) { return t.sources.AddSet(set) }

// AddPipeline is AddSet for one pipeline. It has no effect on a pipeline without a policy.
func (t *Telemetry) AddPipeline(p *sluice.Pipeline) (remove func()) {
	return t.sources.AddPipeline(p)
}

// observe exports counters and states.
func (t *Telemetry) observe(_ context.Context, to metric.Observer) error {
	t.sources.Read(func(p policymeter.Point) {
		to.ObserveInt64(t.integers[p.Metric.Name], int64(p.Value), attributes(p.Metric, p.Labels...))
	}, func(durations.Snapshot, ...string) {}, func(*calls) {})
	return nil
}

// listen records waits and adds the events of spans.
func (t *Telemetry) listen(e sluice.Event) {
	if e.Kind == decision.Granted || e.Kind == decision.Expire {
		t.waits.Record(orBackground(e.Context), e.Wait.Seconds(), t.waitOptions.Get([2]string{e.Policy, e.Step}, waitOption)...)
	}
	addEvent(e)
}

func waitOption(of [2]string) []metric.RecordOption {
	return []metric.RecordOption{attributes(metricnames.Wait, of[0], of[1])}
}

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// attributes makes the attributes of a series. Those without a value are left out.
func attributes(m metricnames.Metric, labels ...string) metric.MeasurementOption {
	set := make([]attribute.KeyValue, 0, len(labels))
	for i, value := range labels {
		switch key := prefix + m.Labels[i]; {
		case key == keyShadow:
			set = append(set, attribute.Bool(key, value == "true"))
		case value != "":
			set = append(set, attribute.String(key, value))
		}
	}
	return metric.WithAttributeSet(attribute.NewSet(set...))
}

// calls records the durations of the calls of one policy.
type calls struct {
	policy    string
	durations metric.Float64Histogram
	options   readmostly.Map[reducer.Outcome, []metric.RecordOption]
}

// Ended implements policymeter.Calls.
func (c *calls) Ended(o reducer.Outcome, ctx context.Context, elapsed time.Duration) {
	c.durations.Record(orBackground(ctx), elapsed.Seconds(), c.options.Get(o, c.option)...)
}

func (c *calls) option(o reducer.Outcome) []metric.RecordOption {
	return []metric.RecordOption{attributes(metricnames.CallDuration, c.policy, policymeter.Outcome(o))}
}
