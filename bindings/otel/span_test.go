package sluiceotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluice-go/sluice"
	sluiceotel "github.com/sluice-go/sluice/bindings/otel"
)

// traced runs f with a Telemetry of the document, and returns the spans in the order of
// their beginnings: depth, name, status, attributes and events.
func traced(t *testing.T, src string, f func(*sluiceotel.Telemetry, *sluice.Set, trace.Tracer), options ...sdktrace.TracerProviderOption) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		recorder := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(append(options, sdktrace.WithSpanProcessor(recorder))...)
		telemetry, err := sluiceotel.New(sluiceotel.WithTracerProvider(provider), sluiceotel.WithMeterProvider(noop.NewMeterProvider()))
		require.NoError(t, err)
		set := parse(t, src)
		defer telemetry.AddSet(set)()
		f(telemetry, set, provider.Tracer("test"))
		spans := recorder.Started()
		assert.Len(t, recorder.Ended(), len(spans), "every span ends")
		for _, s := range spans {
			depth := 0
			for parent := s.Parent().SpanID(); parent.IsValid(); depth++ {
				i := slices.IndexFunc(spans, func(p sdktrace.ReadWriteSpan) bool { return p.SpanContext().SpanID() == parent })
				parent = spans[i].Parent().SpanID()
			}
			line := strings.Repeat("  ", depth) + s.Name() + " " + text(s.Attributes())
			if s.Status().Description != "" {
				line += " " + s.Status().Code.String() + ": " + s.Status().Description
			}
			lines = append(lines, line)
			for _, e := range s.Events() {
				lines = append(lines, strings.Repeat("  ", depth)+"- "+e.Name+" "+text(e.Attributes))
			}
		}
		time.Sleep(time.Hour)
	})
	return lines
}

func text(set []attribute.KeyValue) string {
	var all []string
	for _, a := range set {
		all = append(all, strings.TrimPrefix(string(a.Key), "sluice.")+"="+a.Value.String())
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

func TestSpans(t *testing.T) {
	down := errors.New("down")
	lines := traced(t, document, func(telemetry *sluiceotel.Telemetry, set *sluice.Set, _ trace.Tracer) {
		p := set.Pipeline("vendor")
		failures := 1
		value, err := sluiceotel.Do(context.Background(), telemetry, p, func(ctx context.Context) (int, error) {
			assert.True(t, trace.SpanFromContext(ctx).IsRecording())
			if failures--; failures >= 0 {
				return 0, down
			}
			return 7, nil
		})
		assert.NoError(t, err)
		assert.Equal(t, 7, value)
		for range 2 {
			_, _ = sluiceotel.Do(context.Background(), telemetry, p, func(context.Context) (int, error) { return 0, down })
		}
	})
	failed := "attempt=%d error.type=*errors.errorString policy=vendor] Error: down"
	assert.Equal(t, []string{
		"sluice vendor [attempts=2 policy=vendor]",
		"- sluice.retry [attempt=1 policy=vendor reason=fail wait=1]",
		"- sluice.soft-timeout [attempt=1 policy=vendor step=timeout]",
		"  attempt [" + fmt.Sprintf(failed, 1),
		"  attempt [attempt=2 policy=vendor]",
		"sluice vendor [attempts=2 error.type=*sluice.RetryError policy=vendor reason=attempts step=retry] Error: sluice: vendor.retry: gave up after 2 attempts (attempts): down",
		"- sluice.retry [attempt=1 policy=vendor reason=fail wait=1]",
		"- sluice.soft-timeout [attempt=1 policy=vendor step=timeout]",
		"  attempt [" + fmt.Sprintf(failed, 1),
		"  attempt [" + fmt.Sprintf(failed, 2),
		"sluice vendor [attempts=0 error.type=*sluice.RejectedError policy=vendor reason=open step=breaker] Error: sluice: vendor.breaker: rejected: open, retry after 10s",
		"- sluice.reject [policy=vendor reason=open retry_after=10 step=breaker]",
	}, lines)
}

// TestEventsOfOthers adds the decisions to the span around a pipeline that is called
// without Do.
func TestEventsOfOthers(t *testing.T) {
	lines := traced(t, document, func(_ *sluiceotel.Telemetry, set *sluice.Set, tracer trace.Tracer) {
		ctx, span := tracer.Start(context.Background(), "GET /")
		for range 2 {
			_, _ = sluice.DoWith(ctx, set.Pipeline("tenant"), sluice.Request{Key: "a secret"}, func(context.Context) (int, error) { return 1, nil })
		}
		span.End()
		_, _ = sluice.DoWith(ctx, set.Pipeline("tenant"), sluice.Request{Key: "a secret"}, func(context.Context) (int, error) { return 1, nil })
	})
	assert.Equal(t, []string{"GET / []", "- sluice.reject [policy=tenant reason=rate retry_after=60 step=limit]"}, lines)
}

// TestHedges numbers the attempts of a round as the policy does.
func TestHedges(t *testing.T) {
	lines := traced(t, "version: 1\npolicies: {a: {steps: [hedge: {after: 1s}]}}", func(telemetry *sluiceotel.Telemetry, set *sluice.Set, _ trace.Tracer) {
		_, err := sluiceotel.Do(context.Background(), telemetry, set.Pipeline("a"), func(ctx context.Context) (int, error) {
			if _, hedge, _ := sluice.AttemptOf(ctx); !hedge {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			time.Sleep(time.Second)
			return 1, nil
		})
		assert.NoError(t, err)
		synctest.Wait()
	})
	assert.Equal(t, []string{
		"sluice a [attempts=2 policy=a]",
		"- sluice.hedge [attempt=2 policy=a step=hedge]",
		"- sluice.cancel [attempt=1 policy=a]",
		"  attempt [attempt=1 hedge=false outcome=cancel policy=a]",
		"  attempt [attempt=2 hedge=true policy=a]",
	}, lines)
}

// TestPanic ends the spans of a call whose function panics.
func TestPanic(t *testing.T) {
	lines := traced(t, document, func(telemetry *sluiceotel.Telemetry, set *sluice.Set, _ trace.Tracer) {
		assert.Panics(t, func() {
			_, _ = sluiceotel.Do(context.Background(), telemetry, set.Pipeline("vendor"), func(context.Context) (int, error) { panic("lost") })
		})
	})
	assert.Equal(t, []string{"sluice vendor [attempts=1 policy=vendor]", "  attempt [attempt=1 policy=vendor]", "  - exception [exception.message=lost exception.type=.string]"}, lines)
}

// TestUnsampled makes no spans of attempts, and runs the function with the context of the
// call.
func TestUnsampled(t *testing.T) {
	ran := 0
	lines := traced(t, document, func(telemetry *sluiceotel.Telemetry, set *sluice.Set, tracer trace.Tracer) {
		_, err := sluiceotel.Do(context.Background(), telemetry, set.Pipeline("vendor"), func(ctx context.Context) (int, error) {
			ran++
			assert.True(t, trace.SpanContextFromContext(ctx).IsValid())
			return 1, nil
		})
		assert.NoError(t, err)
		below, parent := tracer.Start(context.Background(), "GET /")
		defer parent.End()
		_, err = sluiceotel.Do(below, telemetry, set.Pipeline("vendor"), func(ctx context.Context) (int, error) {
			ran++
			assert.Equal(t, parent.SpanContext(), trace.SpanContextFromContext(ctx), "no span of its own")
			return 1, nil
		})
		assert.NoError(t, err)
		remote := trace.ContextWithRemoteSpanContext(context.Background(), parent.SpanContext())
		_, err = sluiceotel.Do(remote, telemetry, set.Pipeline("vendor"), func(ctx context.Context) (int, error) {
			ran++
			assert.NotEqual(t, parent.SpanContext().SpanID(), trace.SpanContextFromContext(ctx).SpanID(), "the sampler decides")
			return 1, nil
		})
		assert.NoError(t, err)
		_, err = sluiceotel.Do(context.Background(), telemetry, set.Pipeline("missing"), func(context.Context) (int, error) { return 1, nil })
		assert.Error(t, err)
	}, sdktrace.WithSampler(sdktrace.NeverSample()))
	assert.Empty(t, lines)
	assert.Equal(t, 3, ran)
}
