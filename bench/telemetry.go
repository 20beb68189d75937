package main

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
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
		{name: "metrics of OpenTelemetry", allocs: -1, sluice: repeated(observed(func(p *sluice.Pipeline) { otelMetrics().AddPipeline(p) })), peers: append(slices.Clip(without),
			peer{"one Record of the SDK", repeated(recordedAlone), 0})},
		{name: "span of OpenTelemetry, not sampled", allocs: -1, sluice: repeated(spanned(false)), peers: append(slices.Clip(without),
			peer{"a span of the SDK around it", repeated(spannedAlone), 0})},
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

// recordedAlone makes calls of ourPipeline, and has the SDK count the duration of each.
func recordedAlone(ctx context.Context) func() {
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	durations := must(provider.Meter("bench").Float64Histogram("durations"))
	set := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attribute.String("policy", "vendor"), attribute.String("outcome", "ok")))}
	call := ourPipeline(ctx)
	return func() {
		call()
		durations.Record(context.Background(), 1e-7, set...)
	}
}

// spannedAlone makes calls of ourPipeline, each in a span that the sampler drops.
func spannedAlone(context.Context) func() {
	p := vendor(plenty)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())).Tracer("bench")
	fn := func(context.Context) (int, error) { return work() }
	return func() {
		ctx, span := tracer.Start(context.Background(), "vendor")
		done(sluice.Do(ctx, p, fn))
		span.End()
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
