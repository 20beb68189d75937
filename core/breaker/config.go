package breaker

import (
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/mechanism"
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

// validate returns every error of the configuration, and the backoff of one without errors.
func (c *Config) validate() (open *backoff.Machine, err error) {
	var e reducer.ConfigErrors
	c.checkWindow(&e)
	e.Duration(c.SlowOver == 0 && (c.SlowRate.Positive() || c.SlowConsecutive > 0), "slow.over", 0, "more than 0 beside slow.rate and slow.consecutive")
	e.Share(c.SlowOver > 0 && !c.SlowRate.Positive() && c.SlowConsecutive == 0, "slow.rate", c.SlowRate, "more than 0% and at most 100%, or slow.consecutive")
	c.check(&e)
	listed := c.Open.Kind == backoff.Listed && c.Open.Delays.Shortest() == 0
	e.Duration(c.Open.Kind == backoff.None, "open", c.Open.Base, "a duration or a backoff")
	e.Duration(listed, "open", 0, "delays of more than 0")
	if c.Open.Kind != backoff.None && !listed {
		open, err = backoff.New(c.Open)
		e.Add(err)
	}
	e.Share((c.RampOver > 0) != c.RampFrom.Positive(), "ramp.from", c.RampFrom, "more than 0% and less than 100% beside ramp.over, nothing without it")
	return open, e.Err()
}

// checkWindow adds what is wrong beside the kind of the window.
func (c *Config) checkWindow(e *reducer.ConfigErrors) {
	e.Duration(c.Window != Consecutive && c.Forget != 0, "window.forget", c.Forget, "nothing without window.consecutive")
	switch c.Window {
	case Calls, Time:
		e.Within("minimum", c.Minimum, 1, MaxCalls)
		e.PartOf("failure_rate", c.FailureRate, 1, reducer.Whole)
	case Consecutive:
		const without = "nothing beside window.consecutive"
		e.Count(c.Minimum != 0, "minimum", uint64(c.Minimum), without)
		e.Share(c.FailureRate.Positive(), "failure_rate", c.FailureRate, without)
		e.Share(c.SlowRate.Positive(), "slow.rate", c.SlowRate, without)
	}
}

// sameWindow reports whether outcomes counted under one configuration mean the
// same under another.
func (c *Config) sameWindow(other *Config) bool {
	return c.Window == other.Window && c.Count == other.Count && c.Span == other.Span && c.Forget == other.Forget
}

// declared are the settings of documents. make generate writes settings_gen.go from them.
func declared() []mechanism.Doc {
	return []mechanism.Doc{
		{
			Name: "window", Is: mechanism.Setting{Type: mechanism.OneOf, Says: "one of {calls: n}, {time: d, buckets: n} or {consecutive: n, forget: d}"}, Field: "Window",
			Type: "one of `{calls: n}`, `{time: d, buckets: n}`, `{consecutive: n, forget: d}`", Range: "`calls` 1 to 10,000; `buckets` 1 to 1000, default 10, at least a nanosecond each; `consecutive` 1 to 10,000", Value: `{"calls":100}`, Example: "window: {time: 1m, buckets: 6}",
			Meaning: "the outcomes that decide: the last n, those of the last time d, or n failures in a row, of which `forget` without a failure sets the count to 0",
			Larger:  "reacts later, and less to chance",
			Smaller: "reacts sooner, and more to chance",
		},
		{
			Name: "window.calls", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxCalls, Variant: true}, Field: "Count",
			Example: "calls: 100",
			Meaning: "how many outcomes",
		},
		{
			Name: "window.time", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1, Variant: true}, Field: "Span",
			Example: "time: 10s",
			Meaning: "how far back; at least a nanosecond for each bucket",
		},
		{
			Name: "window.buckets", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxBuckets}, Field: "Count",
			Value: `10`, Example: "buckets: 6",
			Meaning: "how many buckets the time is cut into",
		},
		{
			Name: "window.consecutive", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxCalls, Variant: true}, Field: "Count",
			Example: "consecutive: 5",
			Meaning: "at how many failures in a row it opens",
		},
		{
			Name: "window.forget", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1}, Field: "Forget",
			Effect: mechanism.Tighter, Default: "none: only a success sets the count to 0", Example: "forget: 60s",
			Meaning: "[so long after a failure without another one](#breakers) the count of failures in a row is 0 again",
			Larger:  "failures that are rarer open it",
			Smaller: "only failures that follow each other quickly open it",
		},
		{
			Name: "minimum", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxCalls}, Field: "Minimum", ByHand: true,
			Effect: mechanism.Looser, Note: "not beside `consecutive`", Range: "1 to 10,000, at most the window's `calls`", Default: "the lesser of 100 and the window's `calls`; 100 beside `time`", Example: "minimum: 20",
			Meaning: "outcomes that the window must hold before the rates count",
			Larger:  "few calls never open the breaker",
			Smaller: "a few failures open it",
		},
		{
			Name: "failure_rate", Is: mechanism.Setting{Type: mechanism.Share}, Field: "FailureRate", ByHand: true, Depends: true,
			Effect: mechanism.Looser, Note: "not beside `consecutive`", Value: `"50%"`, Example: "failure_rate: 30%",
			Meaning: "opens when this share of the outcomes are failures",
			Larger:  "tolerates more failures",
			Smaller: "opens sooner",
		},
		{
			Name: "slow", Is: mechanism.Setting{Type: mechanism.Map, Says: "a map of over, and of rate or consecutive"},
			Type: "map of `over` (duration, required), and `rate` (share), `consecutive` (1 to 10,000) or both", Example: "slow: {over: 2s, rate: 80%}",
			Meaning: "opens when this share of the attempts took longer than `over`, or so many in a row did",
			Larger:  "tolerates slower answers",
			Smaller: "opens sooner",
		},
		{
			Name: "slow.over", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1, Required: true}, Field: "SlowOver",
			Effect: mechanism.Looser, Example: "over: 2s",
			Meaning: "longer than this is slow",
		},
		{
			Name: "slow.rate", Is: mechanism.Setting{Type: mechanism.Share, Required: true, Says: "a share as in 80%, or consecutive", Or: "consecutive"}, Field: "SlowRate",
			Effect: mechanism.Looser, Note: "not beside a `window` of `consecutive`", Example: "rate: 80%",
			Meaning: "opens when this share of the attempts were slow",
		},
		{
			Name: "slow.consecutive", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxCalls}, Field: "SlowConsecutive",
			Effect: mechanism.Looser, Example: "consecutive: 5",
			Meaning: "opens at so many slow attempts in a row, whatever the `minimum`",
		},
		{
			Name: "open", Is: mechanism.Setting{Type: mechanism.OpenTime}, Field: "Open",
			Effect: mechanism.Tighter, Value: `"1m"`, Example: "open: {exponential: 10s, max: 5m}",
			Meaning: "how long it stays open. A backoff counts the openings since the breaker was last closed that failures or failed probes caused; it has no jitter unless one is written",
			Larger:  "the dependency recovers in peace; good calls are refused longer",
			Smaller: "tries the dependency sooner",
		},
		{
			Name: "probes", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxProbes}, Field: "Probes", Needed: true,
			Value: `10`, Example: "probes: 3",
			Meaning: "the attempts whose outcomes decide when the breaker is half-open. [All of them must end](#breakers), even when the verdict is certain earlier, unless `successes` decide",
			Larger:  "a surer verdict, and more calls to a dependency that may still fail; few callers take long to supply them",
			Smaller: "a quick verdict that chance decides more often",
		},
		{
			Name: "successes", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxProbes}, Field: "Successes",
			Effect: mechanism.Tighter, Range: "1 to 1000, at most `probes`", Default: "none: the rates decide", Example: "successes: 2",
			Meaning: "as many good outcomes of the `probes` [close the breaker](#breakers) at once, and it opens at once when they can no longer be reached",
			Larger:  "a surer verdict",
			Smaller: "closes sooner, and more often by chance",
		},
		{
			Name: "half_open_max", Is: mechanism.Setting{Type: mechanism.Duration}, Field: "HalfOpenMax",
			Value: `"0s"`, Default: "`0s`: no bound", Example: "half_open_max: 30s",
			Meaning: "the longest stay in half-open",
			Larger:  "the probes have more time",
			Smaller: "a breaker without enough probes opens again sooner",
		},
		{
			Name: "initial", Is: mechanism.Setting{Type: mechanism.Word, Words: "closed open half-open forced-open forced-closed metrics-only"}, Field: "Initial",
			Value: `"closed"`, Example: "initial: half-open",
			Meaning: "the [mode](#breakers) in which a new breaker starts, and one that is reset",
		},
		{
			Name: "obey_retry_after", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1}, Field: "ObeyRetryAfter",
			Effect: mechanism.Tighter, Default: "none: no answer opens it by itself", Example: "obey_retry_after: 10m",
			Meaning: "an answer `fail` or `throttle` with a `retry_after` [opens the breaker](#breakers) until then, for this time at most",
			Larger:  "an answer may close the dependency off for longer",
			Smaller: "the dependency is tried before it asked for that",
		},
		{
			Name: "ramp", Is: mechanism.Setting{Type: mechanism.Map, Says: "a map of over and from"},
			Type: "map of `over` (duration, required) and `from` (share below 100%)", Default: "none: all calls pass at once", Example: "ramp: {over: 30s, from: 10%}",
			Meaning: "after half-open has closed it, the breaker admits a share of the calls that rises from `from` to all of them in the time `over`",
			Larger:  "the load comes back more slowly",
			Smaller: "the load comes back sooner",
		},
		{
			Name: "ramp.over", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1, Required: true}, Field: "RampOver",
			Effect: mechanism.Tighter, Example: "over: 30s",
			Meaning: "how long the share rises",
		},
		{
			Name: "ramp.from", Is: mechanism.Setting{Type: mechanism.Share}, Field: "RampFrom",
			Effect: mechanism.Looser, Range: "more than 0% and less than 100%", Value: `"10%"`, Example: "from: 10%",
			Meaning: "the share at the beginning",
		},
	}
}

// relations between the settings.
func relations() []mechanism.Relation {
	return []mechanism.Relation{
		{Setting: "ramp.from", Op: mechanism.Below, Than: "100%", Says: "more than 0% and less than 100%"},
		{Setting: "successes", Op: mechanism.AtMost, Than: "probes", Says: "at most the probes, #"},
		{Setting: "window.time", Op: mechanism.AtLeast, Than: "window.buckets", Says: "at least a nanosecond for each of the # buckets"},
		{Setting: "minimum", Op: mechanism.AtMost, Than: "window.calls", Says: "at most the window's calls, #"},
	}
}
