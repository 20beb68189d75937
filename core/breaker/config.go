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
	// Forget of a Consecutive window: so long after a failure without another one, the count
	// is 0 again. 0 for never. A longer one opens for failures that are rarer.
	Forget time.Duration
	// Minimum outcomes in the window before the rates count: 1 to MaxCalls,
	// for Calls at most Count; 0 for Consecutive. A smaller one lets fewer
	// failures open the breaker while there is little traffic.
	Minimum uint32
	// FailureRate opens when it is reached, more than 0 and at most the whole.
	// 0 for Consecutive.
	FailureRate reducer.Share
	// SlowOver: an outcome that took longer is slow. 0 for no slow rule.
	SlowOver time.Duration
	// SlowRate opens when it is reached: more than 0 and at most the whole. 0 for none,
	// as for Consecutive.
	SlowRate reducer.Share
	// SlowConsecutive opens at so many slow outcomes in a row, whatever the minimum; half-open one
	// slow probe opens it. 1 to MaxCalls, 0 for none. SlowOver needs it or SlowRate, and both need SlowOver.
	SlowConsecutive uint32
	// Open is how long the breaker stays open, by the number of times that outcomes which
	// failed or were slow opened it since it was last closed. Neither None nor a listed delay of 0 is allowed. From the opening MaxGrowth on
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
	// Initial is the mode in which a new breaker and one that is reset starts, Closed by
	// default. Open begins with the first step, as an opening does.
	Initial Mode
	// ObeyRetryAfter is the longest time for which an answer opens the breaker: a failure
	// or a throttle with a retry-after opens it for that time, at most this one. 0 for a
	// breaker that a retry-after does not open.
	ObeyRetryAfter time.Duration
	// RampOver is how long the share of the calls that the breaker admits rises, from
	// RampFrom to all of them, after half-open has closed it. 0 for all of them at once.
	RampOver time.Duration
	// RampFrom is the share of the calls at the beginning of the ramp, more than 0 and less
	// than the whole. 0 exactly when RampOver is.
	RampFrom reducer.Share
}

// check returns every error of the configuration, and the backoff of one without errors.
func (c *Config) check() (open *backoff.Machine, err error) {
	var e reducer.ConfigErrors
	c.checkWindow(&e)
	c.checkSlow(&e)
	listed := c.Open.Kind == backoff.Listed && c.Open.Delays.Shortest() == 0
	e.Duration(c.Open.Kind == backoff.None, "open", c.Open.Base, "a duration or a backoff")
	e.Duration(listed, "open", 0, "delays of more than 0")
	if c.Open.Kind != backoff.None && !listed {
		open, err = backoff.New(c.Open)
		e.Add(err)
	}
	probes := c.Probes > 0 && c.Probes <= MaxProbes
	e.Count(!probes, "probes", uint64(c.Probes), "1 to 1000")
	e.Count(probes && c.Successes > c.Probes, "successes", uint64(c.Successes), "at most the probes, or 0 for none")
	e.Duration(c.HalfOpenMax < 0, "half_open_max", c.HalfOpenMax, "0 or more")
	e.Count(c.Initial > MetricsOnly, "initial", uint64(c.Initial), "a mode")
	e.Duration(c.ObeyRetryAfter < 0, "obey_retry_after", c.ObeyRetryAfter, "0 or more")
	e.Duration(c.RampOver < 0, "ramp.over", c.RampOver, "0 or more")
	from := c.RampFrom.Positive() && c.RampFrom.Millionths() < reducer.Whole
	e.Share(c.RampOver > 0 && !from, "ramp.from", c.RampFrom, "more than 0% and less than 100%")
	e.Share(c.RampOver == 0 && c.RampFrom.Positive(), "ramp.from", c.RampFrom, "nothing without ramp.over")
	return open, e.Err()
}

func (c *Config) checkSlow(e *reducer.ConfigErrors) {
	e.Duration(c.SlowOver < 0, "slow.over", c.SlowOver, "0 or more")
	e.Duration(c.SlowOver == 0 && (c.SlowRate.Positive() || c.SlowConsecutive > 0), "slow.over", 0, "more than 0 beside slow.rate and slow.consecutive")
	e.Share(c.SlowOver > 0 && !c.SlowRate.Positive() && c.SlowConsecutive == 0, "slow.rate", c.SlowRate, "more than 0% and at most 100%, or slow.consecutive")
	e.Share(c.SlowRate.Millionths() > reducer.Whole, "slow.rate", c.SlowRate, "at most 100%")
	e.Count(c.SlowConsecutive > MaxCalls, "slow.consecutive", uint64(c.SlowConsecutive), "1 to 10000, or 0 for none")
}

func (c *Config) checkWindow(e *reducer.ConfigErrors) {
	e.Duration(c.Forget < 0, "window.forget", c.Forget, "0 or more")
	e.Duration(c.Forget > 0 && c.Window != Consecutive, "window.forget", c.Forget, "nothing without window.consecutive")
	switch c.Window {
	case Calls:
		e.Count(c.Count == 0 || c.Count > MaxCalls, "window.calls", uint64(c.Count), "1 to 10000")
	case Time:
		buckets := c.Count > 0 && c.Count <= MaxBuckets
		e.Count(!buckets, "window.buckets", uint64(c.Count), "1 to 1000")
		e.Duration(c.Span <= 0 || buckets && c.Span < time.Duration(c.Count), "window.time", c.Span, "at least a nanosecond a bucket")
	case Consecutive:
		const without = "nothing beside window.consecutive"
		e.Count(c.Count == 0 || c.Count > MaxCalls, "window.consecutive", uint64(c.Count), "1 to 10000")
		e.Count(c.Minimum != 0, "minimum", uint64(c.Minimum), without)
		e.Share(c.FailureRate.Positive(), "failure_rate", c.FailureRate, without)
		e.Share(c.SlowRate.Positive(), "slow.rate", c.SlowRate, without)
		return
	default:
		e.Count(true, "window", uint64(c.Window), "Calls, Time or Consecutive")
		return
	}
	minimum := c.Minimum > 0 && c.Minimum <= MaxCalls
	e.Count(!minimum, "minimum", uint64(c.Minimum), "1 to 10000")
	e.Count(c.Window == Calls && minimum && c.Count > 0 && c.Minimum > c.Count, "minimum", uint64(c.Minimum), "at most window.calls")
	e.Share(!c.FailureRate.Positive() || c.FailureRate.Millionths() > reducer.Whole, "failure_rate", c.FailureRate, "more than 0% and at most 100%")
}

// sameWindow reports whether outcomes counted under one configuration mean the
// same under another.
func (c *Config) sameWindow(other *Config) bool {
	return c.Window == other.Window && c.Count == other.Count && c.Span == other.Span && c.Forget == other.Forget
}
