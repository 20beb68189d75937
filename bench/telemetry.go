package main

import (
	"context"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sluice-go/sluice"
	sluiceotel "github.com/sluice-go/sluice/bindings/otel"
	sluiceprometheus "github.com/sluice-go/sluice/bindings/prometheus"
)

// telemetryTasks measure a call that is observed beside the same call without a listener.
func telemetryTasks() []task {
	without := []peer{{"without a listener", repeated(ourPipeline), 0}}
	return []task{
		{name: "metrics of Prometheus", allocs: 1, sluice: repeated(observed(func(p *sluice.Pipeline) { sluiceprometheus.New().AddPipeline(p) })), peers: without},
		{name: "metrics of Prometheus, parallel", allocs: 1, sluice: crowded(observed(func(p *sluice.Pipeline) { sluiceprometheus.New().AddPipeline(p) })), peers: []peer{
			{"without a listener", crowded(ourPipeline), 0},
		}},
		{name: "metrics of OpenTelemetry", allocs: -1, sluice: repeated(observed(func(p *sluice.Pipeline) { otelMetrics().AddPipeline(p) })), peers: without},
		{name: "span of OpenTelemetry, not sampled", allocs: -1, sluice: repeated(spanned(false)), peers: without},
		{name: "span of OpenTelemetry, below one that is not sampled", allocs: -1, sluice: repeated(spanned(true)), peers: without},
	}
}

// observed makes calls of ourPipeline with what observe adds.
func observed(observe func(*sluice.Pipeline)) func(context.Context) func() {
	return func(context.Context) func() {
		p := vendor(plenty)
		observe(p)
		fn := func(context.Context) (int, error) { return work() }
		return func() { done(sluice.Do(context.Background(), p, fn)) }
	}
}

func otelMetrics() *sluiceotel.Telemetry {
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	return must(sluiceotel.New(sluiceotel.WithMeterProvider(provider)))
}

// spanned makes calls in spans that the sampler drops, below another one or not.
func spanned(below bool) func(context.Context) func() {
	return func(context.Context) func() {
		p := vendor(plenty)
		provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
		telemetry := must(sluiceotel.New(sluiceotel.WithTracerProvider(provider)))
		ctx := context.Background()
		if below {
			ctx, _ = provider.Tracer("bench").Start(ctx, "parent")
		}
		fn := func(context.Context) (int, error) { return work() }
		return func() { done(sluiceotel.Do(ctx, telemetry, p, fn)) }
	}
}
