package breaker

import (
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/reducer"
)

// WindowKind names what a breaker judges by.
type WindowKind uint8

// The kinds of windows.
const (
	// Calls judges the last Count outcomes.
	Calls WindowKind = iota
	// Time judges the outcomes of the last Span, in Count buckets.
	Time
	// Consecutive opens at Count failures in a row.
	Consecutive
)

// Limits of a configuration.
const (
	MaxCalls   = 10_000
	MaxBuckets = 1_000
	MaxProbes  = 1_000
)

// Config is what a circuit breaker is made of.
type Config struct {
	Window WindowKind
	// Count of outcomes (Calls, 1 to MaxCalls), buckets (Time, 1 to
	// MaxBuckets) or failures (Consecutive, 1 to MaxCalls).
	Count uint32
	// Span of a Time window, at least Count nanoseconds.
	Span time.Duration
	// Minimum outcomes in the window before the rates count: 1 to MaxCalls,
	// for Calls at most Count; 0 for Consecutive.
	Minimum uint32
	// FailureRate opens when it is reached, more than 0 and at most the whole.
	// 0 for Consecutive.
	FailureRate reducer.Share
	// SlowOver: an outcome that took longer is slow. 0 for no slow rule.
	SlowOver time.Duration
	// SlowRate opens when it is reached. 0 exactly when SlowOver is.
	SlowRate reducer.Share
	// Open is how long the breaker stays open, by the number of times that it
	// opened since it was last closed. None is not allowed.
	Open backoff.Config
	// Probes are the attempts whose outcomes decide when half-open, 1 to MaxProbes.
	Probes uint32
	// HalfOpenMax is the longest stay in half-open. 0 for no bound: then a
	// probe that is out for longer than the open time gives its place back.
	HalfOpenMax time.Duration
}
