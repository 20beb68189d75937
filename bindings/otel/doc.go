// Package sluiceotel exports what Sluice policies decide to OpenTelemetry: metrics, spans
// of calls and of their attempts, and decisions as events of spans. It uses the API of
// OpenTelemetry alone; the program chooses the SDK and the exporters.
//
//	set, err := sluice.Load("policy.yaml")
//	telemetry, err := sluiceotel.New()
//	defer telemetry.AddSet(set)()
//	price, err := sluiceotel.Do(ctx, telemetry, set.Pipeline("vendor"), fetchPrice)
//
// The metrics have the names of bindings/prometheus and of sluice serve in the form of
// OpenTelemetry, and docs/observability.md has the table. Their attributes are the labels
// there with the prefix "sluice.". Counters and states are read when the metrics are
// exported; a call costs atomic additions, and one record of the histogram of calls.
//
// Decisions that are not the plain course of a call - refusals, waits, timeouts, retries,
// hedges, leases that ran out, injected faults - are events of the span that is active in the context
// of the call, with the names "sluice.reject" and so on. That is the span of Do, and also
// the span of a server or a client around a Pipeline that is called without Do.
//
// No attribute has a caller's key, because the number of keys has no bound.
package sluiceotel
