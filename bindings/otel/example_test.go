package sluiceotel_test

import (
	"context"
	"fmt"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sluice-go/sluice"
	sluiceotel "github.com/sluice-go/sluice/bindings/otel"
)

func Example() {
	set, err := sluice.Parse("policy.yaml", []byte("version: 1\npolicies: {vendor: {steps: [limit: 1/1h]}}"))
	if err != nil {
		panic(err)
	}
	spans := tracetest.NewInMemoryExporter() // in a program the exporter of OTLP
	telemetry, err := sluiceotel.New(
		sluiceotel.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))),
		sluiceotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))),
	)
	if err != nil {
		panic(err)
	}
	defer telemetry.AddSet(set)()

	for range 2 {
		_, _ = sluiceotel.Do(context.Background(), telemetry, set.Pipeline("vendor"), func(context.Context) (int, error) { return 1, nil })
	}
	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name, span.Status.Code)
		for _, event := range span.Events {
			fmt.Println("-", event.Name)
		}
	}
	// Output:
	// attempt Unset
	// sluice vendor Unset
	// sluice vendor Error
	// - sluice.reject
}
