package breaker

import (
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/reducer"
)

// WindowKind names the kind of window of a breaker.
type WindowKind uint8

// The kinds of windows.
const (
	// Calls is a window of the last Count outcomes.
	Calls WindowKind = iota
	// Time is a window of the outcomes of the last Span, in Count buckets.
	Time
	// Consecutive opens at Count consecutive failures.
	Consecutive
)

// Limits of a configuration.
const (
	MaxCalls   = 10_000
	MaxBuckets = 1_000
	MaxProbes  = 1_000
)

// Config is the configuration of a circuit breaker.
type Config struct {
	// Window is the kind of window, Calls by default.
	Window WindowKind
	// Count of outcomes (Calls, 1 to MaxCalls), buckets (Time, 1 to MaxBuckets) or
	// failures (Consecutive, 1 to MaxCalls). A larger window reacts later and varies
	// less by chance.
	Count uint32
	// Span of a Time window, at least Count nanoseconds.
	Span time.Duration
	// Minimum outcomes in the window before the rates count: 1 to MaxCalls,
	// for Calls at most Count; 0 for Consecutive. A smaller one lets fewer
	// failures open the breaker while there is little traffic.
	Minimum uint32
	// FailureRate opens when it is reached, more than 0 and at most the whole.
	// 0 for Consecutive.
	FailureRate reducer.Share
	// SlowOver: an outcome that took longer is slow. 0 for no slow rule.
	SlowOver time.Duration
	// SlowRate opens when it is reached. 0 exactly when SlowOver is.
	SlowRate reducer.Share
	// Open is how long the breaker stays open, by the number of times that it opened
	// since it was last closed. Neither None nor a listed delay of 0 is allowed. From the opening MaxGrowth on
	// the time no longer grows.
	Open backoff.Config
	// Probes are the attempts whose outcomes decide when half-open, 1 to MaxProbes.
	// More probes decide more reliably and load the dependency more.
	Probes uint32
	// Successes of the probes close a half-open breaker, as soon as that many are in:
	// outcomes that neither failed nor were slow. It opens as soon as they can no
	// longer be reached. 1 to Probes; 0 lets the rates decide when all outcomes are in.
	Successes uint32
	// HalfOpenMax is the longest stay in half-open, after which the breaker opens
	// again. 0 for no bound: then a probe that is pending for longer than the open
	// time no longer counts, and its place is free.
	HalfOpenMax time.Duration
}

func (c *Config) check() error {
	if err := c.checkWindow(); err != nil {
		return err
	}
	switch {
	case c.SlowOver < 0:
		return reducer.BadDuration("slow.over", c.SlowOver, "0 or more")
	case c.SlowRate.Millionths() > reducer.Whole || (!c.SlowRate.Positive()) != (c.SlowOver == 0):
		return reducer.BadShare("slow.rate", c.SlowRate, "more than 0% and at most 100%, beside slow.over alone")
	case c.Open.Kind == backoff.None:
		return reducer.BadDuration("open", c.Open.Base, "a duration or a backoff")
	case c.Open.Kind == backoff.Listed && c.Open.Delays.Shortest() == 0:
		return reducer.BadDuration("open", 0, "delays of more than 0")
	case c.Probes == 0 || c.Probes > MaxProbes:
		return reducer.BadCount("probes", uint64(c.Probes), "1 to 1000")
	case c.Successes > c.Probes:
		return reducer.BadCount("successes", uint64(c.Successes), "at most the probes, or 0 for none")
	case c.HalfOpenMax < 0:
		return reducer.BadDuration("half_open_max", c.HalfOpenMax, "0 or more")
	}
	return nil
}

func (c *Config) checkWindow() error {
	switch c.Window {
	case Calls:
		if c.Count == 0 || c.Count > MaxCalls {
			return reducer.BadCount("window.calls", uint64(c.Count), "1 to 10000")
		}
		if c.Minimum > c.Count {
			return reducer.BadCount("minimum", uint64(c.Minimum), "at most window.calls")
		}
	case Time:
		if c.Count == 0 || c.Count > MaxBuckets {
			return reducer.BadCount("window.buckets", uint64(c.Count), "1 to 1000")
		}
		if c.Span < time.Duration(c.Count) {
			return reducer.BadDuration("window.time", c.Span, "at least a nanosecond a bucket")
		}
	case Consecutive:
		if c.Count == 0 || c.Count > MaxCalls {
			return reducer.BadCount("window.consecutive", uint64(c.Count), "1 to 10000")
		}
		if c.Minimum != 0 || c.FailureRate.Positive() || c.SlowOver != 0 {
			return reducer.BadShare("failure_rate", c.FailureRate, "no minimum and no rates beside window.consecutive")
		}
		return nil
	default:
		return reducer.BadCount("window", uint64(c.Window), "Calls, Time or Consecutive")
	}
	if c.Minimum == 0 || c.Minimum > MaxCalls {
		return reducer.BadCount("minimum", uint64(c.Minimum), "1 to 10000")
	}
	if !c.FailureRate.Positive() || c.FailureRate.Millionths() > reducer.Whole {
		return reducer.BadShare("failure_rate", c.FailureRate, "more than 0% and at most 100%")
	}
	return nil
}

// sameWindow reports whether outcomes counted under one configuration mean the
// same under another.
func (c *Config) sameWindow(other *Config) bool {
	return c.Window == other.Window && c.Count == other.Count && c.Span == other.Span
}
