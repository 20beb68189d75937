package sluice

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// The policy of a pipeline in Go, in place of a document.
type (
	// Policy is a list of steps, the outermost first.
	Policy = pipeline.Policy
	// Step is a mechanism of a policy: a configuration, a name, whether it is in
	// shadow, and its keys.
	Step = pipeline.Step
	// Kind is the mechanism of a step.
	Kind = pipeline.Kind
)

// The configurations of the mechanisms. Fields that are zero have the defaults of
// the policy document where zero is no legal value; New, NewBreaker and the like
// fill them in. Fields without a default are required, and an error names them.
type (
	LimiterConfig  = limiter.Config
	BreakerConfig  = breaker.Config
	BulkheadConfig = bulkhead.Config
	RetryConfig    = retry.Config
	HedgeConfig    = hedge.Config
	TimeoutConfig  = timeout.Config
	AdaptiveConfig = adaptive.Config
	ChaosConfig    = chaos.Config
	FallbackConfig = fallback.Config
	// BackoffConfig is the delay between attempts, and the open time of a breaker.
	BackoffConfig = backoff.Config
	// BudgetConfig bounds the retries or hedges of all calls together.
	BudgetConfig = budget.Config
	// BlockConfig blocks a key that exceeds a limit.
	BlockConfig = limiter.Block
	// WarmUpConfig has a limit begin with a part of its rate.
	WarmUpConfig = limiter.WarmUp
	// CostConfig says how many permits or places a call takes at a step.
	CostConfig = limiter.Cost
)

// The conditions of a policy and of its steps: Policy.Allow, Policy.Deny and Step.When.
type (
	// Condition matches a call that one of its cases matches.
	Condition = condition.Condition
	// ConditionCase matches a call by its attributes.
	ConditionCase = condition.Case
	// ConditionEntry is an attribute with the values that match.
	ConditionEntry = condition.Entry
	// EnforceConfig is the share of the calls that a step enforces for: Step.Enforce.
	EnforceConfig = condition.Share
)

// What a new key gets when a step has its maximum of keys: Step.WhenFull.
const (
	FullEvict = keyed.FullEvict // the cell of another key
	FullShare = keyed.FullShare // the cell that all new keys share
)

// What a call gets that lacks an attribute of the step's keys: Step.Missing.
const (
	MissingShare   = keyed.MissingShare   // the cell of all calls that lack it
	MissingDeny    = keyed.MissingDeny    // a refusal
	MissingSkip    = keyed.MissingSkip    // no step
	MissingDeny401 = keyed.MissingDeny401 // a refusal, over HTTP with status 401
	MissingDeny403 = keyed.MissingDeny403 // a refusal, over HTTP with status 403
)

// When a limit of a pipeline takes the permits of a call: LimiterConfig.Charge.
const (
	ChargeStart  = limiter.ChargeStart  // at its start
	ChargeSettle = limiter.ChargeSettle // at its start, and the difference to what it used at its end
	ChargeEnd    = limiter.ChargeEnd    // at its end
)

// Outcomes is a set of outcomes, as of OutcomesOf: LimiterConfig.Counts.
type Outcomes = limiter.Outcomes

// OutcomesOf returns the set of some outcomes. Without one, and with a value that is no
// outcome, a constructor that gets the result returns an error.
func OutcomesOf(outcomes ...Outcome) Outcomes {
	for _, o := range outcomes {
		if o < OutcomeOK || o > OutcomeCancelled {
			outcomes = nil
			break
		}
	}
	if len(outcomes) == 0 {
		return math.MaxUint8
	}
	return limiter.OutcomesOf(outcomes...)
}

// Share is a part of a whole, as of Percent.
type Share = reducer.Share

// Percent returns a share: Percent(50) is one half, Percent(0.1) one in a thousand.
// It has four digits after the point. 0 is not set: the default holds. Where a number is no
// share, a constructor that gets the result returns an error: one below 0.0001 beside 0,
// above 400,000, or NaN.
func Percent(p float64) Share {
	millionths := math.Round(p * reducer.Whole / 100)
	if p != 0 && !(millionths >= 1 && p <= 400_000) {
		return reducer.NoShare()
	}
	return reducer.Millionths(uint32(millionths))
}

// The algorithms of a limit.
const (
	TokenBucket    = limiter.TokenBucket    // permits come one after another, up to a burst
	FixedWindow    = limiter.FixedWindow    // a count of permits for each window
	SlidingCounter = limiter.SlidingCounter // weighs the window before; an approximation
	SlidingLog     = limiter.SlidingLog     // exact in every window, 8 bytes a permit
	LeakyBucket    = limiter.LeakyBucket    // permits at equal intervals, no burst
)

// Calendar lets a fixed window end with the day, week or month of a time zone:
// LimiterConfig.Calendar.
type Calendar = calendar.Config

// Zone is a time zone, as of ParseZone.
type Zone = calendar.Zone

// The units of a calendar.
const (
	Day   = calendar.Day   // from midnight to midnight
	Week  = calendar.Week  // from Monday to Sunday
	Month = calendar.Month // from its first day to its last
)

// ParseZone reads a time zone as documents have it: UTC, an offset from UTC as in +02:00, or
// a rule of POSIX as in CET-1CEST,M3.5.0,M10.5.0/3, which sluice zone Europe/Berlin prints.
// It returns an error for any other text.
func ParseZone(text string) (Zone, error) {
	zone, ok := calendar.ParseZone(text)
	if !ok {
		return Zone{}, fmt.Errorf("sluice: zone: found %q; allowed %s", text, calendar.ZoneText)
	}
	return zone, nil
}

// The orders of a queue.
const (
	OrderOldest = limiter.Oldest // the oldest waiter is served first
	OrderNewest = limiter.Newest // the newest waiter is served first
)

// The windows of a breaker.
const (
	WindowCalls       = breaker.Calls       // the last Count outcomes
	WindowTime        = breaker.Time        // the outcomes of the last Span
	WindowConsecutive = breaker.Consecutive // Count failures in a row
)

// How a delay grows with the attempts.
const (
	BackoffNone         = backoff.None
	BackoffConstant     = backoff.Constant
	BackoffLinear       = backoff.Linear
	BackoffExponential  = backoff.Exponential
	BackoffFibonacci    = backoff.Fibonacci
	BackoffDecorrelated = backoff.Decorrelated
	BackoffListed       = backoff.Listed
)

// BackoffDelays returns a backoff that delays by the first duration after the first
// attempt, by the second one after the second, and so on; the last one repeats. It
// takes 1 to 16 durations of 0 or more; a constructor refuses others.
func BackoffDelays(delays ...time.Duration) BackoffConfig {
	return backoff.Config{Kind: backoff.Listed, Delays: backoff.Delays(delays...)}
}

// What bounds the retries of all calls together, BudgetConfig.Rule.
const (
	BudgetWindowed = budget.Windowed // a ratio of the first attempts of a window
	BudgetTokens   = budget.Tokens   // a bucket that retries take from, as in the AWS SDKs
	BudgetThrottle = budget.Throttle // a bucket that failures take from, as in gRPC
	BudgetAdaptive = budget.Adaptive // retries of a call by the share of failures
)

// What follows a refusal by a step below a retry.
const (
	RefusalsEnd  = retry.EndRefused  // the call ends with it
	RefusalsWait = retry.WaitRefused // the call waits for its retry-after
)

// What randomness does to a delay d.
const (
	JitterNone     = backoff.NoJitter // keeps d
	JitterFull     = backoff.Full     // draws from 0 to d
	JitterEqual    = backoff.Equal    // keeps one half of d and draws the other
	JitterFraction = backoff.Fraction // draws from d less Share to d plus Share
)
