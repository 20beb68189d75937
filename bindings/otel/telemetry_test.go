package sluiceotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/otlptranslator"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sluice-go/sluice"
	sluiceotel "github.com/sluice-go/sluice/bindings/otel"
	"github.com/sluice-go/sluice/internal/metricnames"
)

const document = `
version: 1
policies:
  vendor:
    steps:
      - timeout: {after: 30s, soft: 1s}
      - retry: {attempts: 2, backoff: {constant: 1s}, jitter: none, budget: 20%}
      - breaker: {window: {consecutive: 2}, open: 10s}
      - bulkhead: {concurrent: 1, queue: 1, wait: 4s}
  tenant:
    steps:
      - limit: {rate: 1/1m, per: key}
`

func parse(t testing.TB, src string) *sluice.Set {
	t.Helper()
	set, err := sluice.Parse("test.yaml", []byte(src))
	require.NoError(t, err)
	return set
}

func call(p *sluice.Pipeline, takes time.Duration, err error) error {
	_, err = sluice.DoWith(context.Background(), p, sluice.Request{Key: "a"}, func(context.Context) (int, error) {
		time.Sleep(takes)
		return 1, err
	})
	return err
}

// metered returns a Telemetry and a function that exports its metrics.
func metered(t testing.TB, options ...sluiceotel.Option) (*sluiceotel.Telemetry, func() []metricdata.Metrics) {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	telemetry, err := sluiceotel.New(append(options, sluiceotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))...)
	require.NoError(t, err)
	return telemetry, func() []metricdata.Metrics {
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(context.Background(), &all))
		if len(all.ScopeMetrics) == 0 {
			return nil
		}
		require.Len(t, all.ScopeMetrics, 1)
		assert.Equal(t, sluiceotel.Scope, all.ScopeMetrics[0].Scope.Name)
		return all.ScopeMetrics[0].Metrics
	}
}

// series returns the values by the name and the attributes.
func series(all []metricdata.Metrics) map[string]string {
	found := map[string]string{}
	put := func(m metricdata.Metrics, set attribute.Set, value any) {
		found[m.Name+"{"+set.Encoded(attribute.DefaultEncoder())+"}"] = fmt.Sprint(value)
	}
	for _, m := range all {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				put(m, p.Attributes, p.Value)
			}
		case metricdata.Sum[float64]:
			for _, p := range data.DataPoints {
				put(m, p.Attributes, p.Value)
			}
		case metricdata.Gauge[int64]:
			for _, p := range data.DataPoints {
				put(m, p.Attributes, p.Value)
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				put(m, p.Attributes, fmt.Sprint(p.Count, " ", p.Sum))
			}
		}
	}
	return found
}

// TestNames compares what is exported with the table of names, and the table with what
// exporters to Prometheus make of the names.
func TestNames(t *testing.T) {
	set := parse(t, document)
	telemetry, export := metered(t)
	defer telemetry.AddSet(set)()
	assert.NoError(t, call(set.Pipeline("tenant"), 0, nil))
	synctest.Test(t, func(t *testing.T) { // two calls, one of which waits
		vendor := parse(t, document).Pipeline("vendor")
		defer telemetry.AddPipeline(vendor)()
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { assert.NoError(t, call(vendor, time.Second/2, nil)) })
		}
		all.Wait()
	})
	found := map[string]string{}
	for _, m := range export() {
		kind := "gauge"
		switch m.Data.(type) {
		case metricdata.Sum[int64], metricdata.Sum[float64]:
			kind = "counter"
		case metricdata.Histogram[float64]:
			kind = "histogram"
		}
		found[m.Name] = strings.Join([]string{kind, m.Unit, m.Description}, " ")
	}
	want := map[string]string{}
	for _, m := range metricnames.Of(metricnames.OTel) {
		want[m.Name] = strings.Join([]string{string(m.Kind), m.Unit, m.Help}, " ")
	}
	assert.Equal(t, want, found)

	namer := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	for _, m := range metricnames.All() {
		kind := map[metricnames.Kind]otlptranslator.MetricType{
			metricnames.Counter: otlptranslator.MetricTypeMonotonicCounter, metricnames.Gauge: otlptranslator.MetricTypeGauge,
			metricnames.Histogram: otlptranslator.MetricTypeHistogram,
		}[m.Kind]
		name, err := namer.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: kind})
		require.NoError(t, err)
		assert.Equal(t, m.Prometheus, name)
	}
}

// TestMetrics exports states before the first call, and counts and durations after calls.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := parse(t, document)
		telemetry, export := metered(t)
		remove := telemetry.AddSet(set)
		first := series(export())
		for name, value := range map[string]string{
			"sluice.decisions{sluice.decision=admit,sluice.policy=vendor,sluice.shadow=false}":                                         "0",
			"sluice.decisions{sluice.decision=reject,sluice.policy=vendor,sluice.reason=open,sluice.shadow=false,sluice.step=breaker}": "0",
			"sluice.breaker.state{sluice.policy=vendor,sluice.state=closed,sluice.step=breaker}":                                       "1",
			"sluice.breaker.state{sluice.policy=vendor,sluice.state=open,sluice.step=breaker}":                                         "0",
			"sluice.places{sluice.policy=vendor,sluice.step=bulkhead}":                                                                 "1",
			"sluice.in_use{sluice.policy=vendor,sluice.step=bulkhead}":                                                                 "0",
			"sluice.keys{sluice.policy=tenant,sluice.step=limit}":                                                                      "0",
		} {
			assert.Equal(t, value, first[name], name)
		}

		vendor := set.Pipeline("vendor")
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { assert.NoError(t, call(vendor, 2*time.Second, nil)) })
		}
		all.Wait()
		assert.Error(t, call(vendor, 0, errors.New("down")))
		assert.ErrorIs(t, call(vendor, 0, nil), sluice.ErrRejected)
		after := series(export())
		for name, value := range map[string]string{
			"sluice.decisions{sluice.decision=admit,sluice.policy=vendor,sluice.shadow=false}":                                         "4",
			"sluice.decisions{sluice.decision=reject,sluice.policy=vendor,sluice.reason=open,sluice.shadow=false,sluice.step=breaker}": "1",
			"sluice.breaker.changes{sluice.policy=vendor,sluice.state=open,sluice.step=breaker}":                                       "1",
			"sluice.breaker.state{sluice.policy=vendor,sluice.state=open,sluice.step=breaker}":                                         "1",
			"sluice.wait{sluice.policy=vendor,sluice.step=bulkhead}":                                                                   "1 2",
			"sluice.call.duration{sluice.outcome=ok,sluice.policy=vendor}":                                                             "2 6",
			"sluice.call.duration{sluice.outcome=fail,sluice.policy=vendor}":                                                           "1 1",
			"sluice.call.duration{sluice.outcome=refused,sluice.policy=vendor}":                                                        "1 0",
		} {
			assert.Equal(t, value, after[name], name)
		}

		remove()
		assert.Error(t, call(vendor, 0, nil))
		left := series(export())
		assert.Equal(t, "1 0", left["sluice.call.duration{sluice.outcome=refused,sluice.policy=vendor}"])
		assert.Len(t, left, 4, "the SDK keeps histograms")
		require.NoError(t, telemetry.Close())
	})
}

// TestComeAndGo has exports come and go while calls run: one that stays has every call
// once, others never more.
func TestComeAndGo(t *testing.T) {
	const callers, calls = 4, 200
	set := parse(t, "version: 1\npolicies: {a: {steps: [limit: 500/1h]}}")
	p := set.Pipeline("a")
	telemetry, export := metered(t)
	telemetry.AddSet(set)
	visitor, visited := metered(t)
	over := make(chan struct{})
	var all, visitors sync.WaitGroup
	visitors.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			remove := visitor.AddPipeline(p)
			visited()
			remove()
		}
	})
	for range callers {
		all.Go(func() {
			for range calls {
				_ = call(p, 0, nil)
			}
		})
	}
	all.Wait()
	close(over)
	visitors.Wait()
	found := series(export())
	for name, value := range map[string]string{
		"sluice.decisions{sluice.decision=admit,sluice.policy=a,sluice.shadow=false}":                                       "500",
		"sluice.decisions{sluice.decision=end,sluice.policy=a,sluice.shadow=false}":                                         "500",
		"sluice.decisions{sluice.decision=reject,sluice.policy=a,sluice.reason=rate,sluice.shadow=false,sluice.step=limit}": "300",
	} {
		assert.Equal(t, value, found[name], name)
	}
	assert.True(t, strings.HasPrefix(found["sluice.call.duration{sluice.outcome=ok,sluice.policy=a}"], "500 "))
	assert.True(t, slices.ContainsFunc(export(), func(m metricdata.Metrics) bool { return m.Name == "sluice.free" }))
}
