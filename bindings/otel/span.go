package sluiceotel

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// The attributes of spans and their events, beside error.type of the semantic conventions.
const (
	prefix        = "sluice."
	keyPolicy     = prefix + "policy"
	keyStep       = prefix + "step"
	keyReason     = prefix + "reason"
	keyShadow     = prefix + "shadow"
	keyAttempt    = prefix + "attempt"
	keyAttempts   = prefix + "attempts"
	keyHedge      = prefix + "hedge"
	keyOutcome    = prefix + "outcome"
	keyWait       = prefix + "wait"        // seconds
	keyRetryAfter = prefix + "retry_after" // seconds
	keyFallback   = prefix + "fallback"
)

// Do is sluice.Do in a span of the call, named after the policy, with a span for each
// attempt. fn gets the context with the span of its attempt.
//
// The span of a call that returns an error has the status Error and the attribute
// error.type. An attempt that lost to another one of its round has the outcome cancel in
// their place. Where a step refused the call or cut it, sluice.step and sluice.reason say
// which one and why. A span that is not recorded has no spans of attempts, and a call below
// a span of this process that is neither recorded nor sampled has no span of its own.
func Do[T any](ctx context.Context, t *Telemetry, p *sluice.Pipeline, fn func(context.Context) (T, error)) (T, error) {
	return DoWith(ctx, t, p, sluice.Request{}, fn)
}

// DoWith is Do for a request with a key, a cost or attributes.
func DoWith[T any](ctx context.Context, t *Telemetry, p *sluice.Pipeline, q sluice.Request, fn func(context.Context) (T, error)) (T, error) {
	if parent := trace.SpanFromContext(ctx); unsampled(parent) {
		return sluice.DoWith(ctx, p, q, fn)
	}
	ctx, span := t.tracer.Start(ctx, t.names.Get(p.Name(), spanName))
	if !span.IsRecording() {
		defer span.End()
		return sluice.DoWith(ctx, p, q, fn)
	}
	var attempts atomic.Int64
	// The span ends when fn panics too, with what is known by then.
	defer func() {
		span.SetAttributes(attribute.String(keyPolicy, p.Name()), attribute.Int64(keyAttempts, attempts.Load()))
		span.End()
	}()
	value, err := sluice.DoWith(ctx, p, q, func(ctx context.Context) (T, error) {
		number := attempts.Add(1)
		ctx, span := t.tracer.Start(ctx, "attempt", trace.WithAttributes(attribute.String(keyPolicy, p.Name()), attribute.Int64(keyAttempt, number)))
		defer span.End()
		if k, hedge, ok := sluice.AttemptOf(ctx); ok {
			span.SetAttributes(attribute.Int64(keyAttempt, int64(k)), attribute.Bool(keyHedge, hedge))
		}
		value, err := fn(ctx)
		if context.Cause(ctx) == sluice.ErrHedgeLost {
			span.SetAttributes(attribute.String(keyOutcome, reducer.Cancelled.String()))
		} else {
			fail(span, err)
		}
		return value, err
	})
	fail(span, err)
	return value, err
}

// unsampled reports whether a span was made in this process and is not exported, so that a
// span below it would cost time for nothing.
func unsampled(span trace.Span) bool {
	c := span.SpanContext()
	return c.IsValid() && !c.IsRemote() && !c.IsSampled() && !span.IsRecording()
}

func spanName(policy string) string { return "sluice " + policy }

// fail notes why a call or an attempt failed, unless it succeeded.
func fail(span trace.Span, err error) {
	if err == nil {
		return
	}
	span.SetStatus(codes.Error, err.Error())
	span.SetAttributes(errorType(err))
	var (
		rejected *sluice.RejectedError
		timeout  *sluice.TimeoutError
		retry    *sluice.RetryError
	)
	switch {
	case errors.As(err, &rejected):
		span.SetAttributes(attribute.String(keyStep, rejected.Step), attribute.String(keyReason, rejected.Reason.String()))
	case errors.As(err, &retry):
		span.SetAttributes(attribute.String(keyStep, retry.Step), attribute.String(keyReason, retry.Reason.String()))
	case errors.As(err, &timeout):
		span.SetAttributes(attribute.String(keyStep, timeout.Step))
	}
}

// addEvent adds a decision to the active span of its call. Admissions and ends are the
// spans of Do themselves, and have no event.
func addEvent(e sluice.Event) {
	if e.Kind == decision.Admit || e.Kind == decision.End || e.Context == nil {
		return
	}
	span := trace.SpanFromContext(e.Context)
	if !span.IsRecording() {
		return
	}
	set := []attribute.KeyValue{attribute.String(keyPolicy, e.Policy)}
	text := func(key, value string) {
		if value != "" {
			set = append(set, attribute.String(key, value))
		}
	}
	text(keyStep, e.Step)
	text(keyReason, e.Reason.String())
	text(keyOutcome, e.Outcome.String())
	if e.Attempt > 0 {
		set = append(set, attribute.Int64(keyAttempt, int64(e.Attempt)))
	}
	if e.Wait > 0 {
		set = append(set, attribute.Float64(keyWait, e.Wait.Seconds()))
	}
	if e.RetryAfter > 0 && (e.Kind == decision.Reject || e.Kind == decision.Inject) {
		set = append(set, attribute.Float64(keyRetryAfter, e.RetryAfter.Seconds()))
	}
	if e.Shadow {
		set = append(set, attribute.Bool(keyShadow, true))
	}
	if e.Fallback {
		set = append(set, attribute.Bool(keyFallback, true))
	}
	name := prefix + e.Kind.String()
	if e.Soft {
		name = prefix + "soft-timeout"
	}
	span.AddEvent(name, trace.WithAttributes(set...))
}

// errorType is semconv.ErrorType, with the errors of package api under the names that users of
// package sluice know.
func errorType(err error) attribute.KeyValue {
	kind := semconv.ErrorType(err)
	for ; err != nil; err = errors.Unwrap(err) {
		t := reflect.TypeOf(err)
		if t.String() == kind.Value.AsString() && t.Kind() == reflect.Pointer && t.Elem().PkgPath() == dataPackage {
			return semconv.ErrorTypeKey.String("*sluice." + t.Elem().Name())
		}
	}
	return kind
}

var dataPackage = reflect.TypeFor[sluice.RejectedError]().PkgPath()
