package sluiceotel_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/sluice-go/sluice"
	sluiceotel "github.com/sluice-go/sluice/bindings/otel"
)

// traceReceiver and metricReceiver are the services of OTLP that a collector has. They send
// each request that they get.
type traceReceiver struct {
	collectortrace.UnimplementedTraceServiceServer
	requests chan *collectortrace.ExportTraceServiceRequest
}

func (r traceReceiver) Export(_ context.Context, q *collectortrace.ExportTraceServiceRequest) (*collectortrace.ExportTraceServiceResponse, error) {
	r.requests <- q
	return &collectortrace.ExportTraceServiceResponse{}, nil
}

type metricReceiver struct {
	collectormetrics.UnimplementedMetricsServiceServer
	requests chan *collectormetrics.ExportMetricsServiceRequest
}

func (r metricReceiver) Export(_ context.Context, q *collectormetrics.ExportMetricsServiceRequest) (*collectormetrics.ExportMetricsServiceResponse, error) {
	r.requests <- q
	return &collectormetrics.ExportMetricsServiceResponse{}, nil
}

// value returns the text of an attribute, empty for none.
func value(set []*common.KeyValue, key string) string {
	i := slices.IndexFunc(set, func(a *common.KeyValue) bool { return a.GetKey() == key })
	if i < 0 {
		return ""
	}
	return set[i].GetValue().GetStringValue()
}

// TestOTLP sends the spans and the metrics of a call that is retried and of one that is
// refused through the exporters of the SDK, and reads what a collector receives.
func TestOTLP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	traces := traceReceiver{requests: make(chan *collectortrace.ExportTraceServiceRequest, 1)}
	metrics := metricReceiver{requests: make(chan *collectormetrics.ExportMetricsServiceRequest, 1)}
	server := grpc.NewServer()
	collectortrace.RegisterTraceServiceServer(server, traces)
	collectormetrics.RegisterMetricsServiceServer(server, metrics)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		assert.NoError(t, <-served)
	}()

	ctx := t.Context()
	spanExporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithInsecure(), otlptracegrpc.WithEndpoint(listener.Addr().String()))
	require.NoError(t, err)
	metricExporter, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithInsecure(), otlpmetricgrpc.WithEndpoint(listener.Addr().String()))
	require.NoError(t, err)
	spans := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spanExporter, sdktrace.WithBatchTimeout(time.Hour)))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metricExporter, sdkmetric.WithInterval(time.Hour))))
	telemetry, err := sluiceotel.New(sluiceotel.WithTracerProvider(spans), sluiceotel.WithMeterProvider(meters))
	require.NoError(t, err)
	set := parse(t, `
version: 1
policies:
  vendor:
    steps:
      - retry: {attempts: 2, backoff: {constant: 1ns}, jitter: none}
      - limit: {rate: 2/1h, per: key}
`)
	defer telemetry.AddSet(set)()
	failures := 1
	do := func() error {
		_, err := sluiceotel.DoWith(ctx, telemetry, set.Pipeline("vendor"), sluice.Request{Key: "a secret"}, func(context.Context) (int, error) {
			if failures--; failures >= 0 {
				return 0, errors.New("down")
			}
			return 1, nil
		})
		return err
	}
	require.NoError(t, do())
	require.ErrorIs(t, do(), sluice.ErrRejected)
	require.NoError(t, spans.Shutdown(ctx))
	require.NoError(t, meters.Shutdown(ctx))

	trace := <-traces.requests
	require.Len(t, trace.GetResourceSpans(), 1)
	require.Len(t, trace.GetResourceSpans()[0].GetScopeSpans(), 1)
	scope := trace.GetResourceSpans()[0].GetScopeSpans()[0]
	assert.Equal(t, sluiceotel.Scope, scope.GetScope().GetName())
	got := scope.GetSpans() // in the order of their ends
	require.Len(t, got, 4)
	for i, name := range []string{"attempt", "attempt", "sluice vendor", "sluice vendor"} {
		assert.Equal(t, name, got[i].GetName())
	}
	first, second, retried, refused := got[0], got[1], got[2], got[3]
	assert.Equal(t, tracepb.Status_STATUS_CODE_ERROR, first.GetStatus().GetCode())
	assert.Equal(t, "*errors.errorString", value(first.GetAttributes(), "error.type"))
	assert.Equal(t, tracepb.Status_STATUS_CODE_UNSET, second.GetStatus().GetCode())
	for _, attempt := range []*tracepb.Span{first, second} {
		assert.Equal(t, retried.GetSpanId(), attempt.GetParentSpanId())
		assert.Equal(t, retried.GetTraceId(), attempt.GetTraceId())
	}
	require.Len(t, retried.GetEvents(), 1)
	assert.Equal(t, "sluice.retry", retried.GetEvents()[0].GetName())
	assert.Equal(t, "fail", value(retried.GetEvents()[0].GetAttributes(), "sluice.reason"))
	assert.Empty(t, retried.GetParentSpanId())
	assert.NotEqual(t, retried.GetTraceId(), refused.GetTraceId())
	assert.Equal(t, tracepb.Status_STATUS_CODE_ERROR, refused.GetStatus().GetCode())
	assert.Equal(t, "*sluice.RejectedError", value(refused.GetAttributes(), "error.type"))
	require.Len(t, refused.GetEvents(), 1)
	assert.Equal(t, "sluice.reject", refused.GetEvents()[0].GetName())
	assert.Equal(t, "limit", value(refused.GetEvents()[0].GetAttributes(), "sluice.step"))
	assert.NotContains(t, trace.String(), "a secret")

	measured := <-metrics.requests
	require.Len(t, measured.GetResourceMetrics(), 1)
	require.Len(t, measured.GetResourceMetrics()[0].GetScopeMetrics(), 1)
	outcomes := map[string]uint64{}
	for _, m := range measured.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
		if m.GetName() == "sluice.call.duration" {
			for _, p := range m.GetHistogram().GetDataPoints() {
				outcomes[value(p.GetAttributes(), "sluice.outcome")] = p.GetCount()
			}
		}
	}
	assert.Equal(t, map[string]uint64{"ok": 1, "refused": 1}, outcomes)
	assert.NotContains(t, measured.String(), "a secret")
}
