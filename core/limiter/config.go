package limiter

import (
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// Algorithm names how a limiter counts.
type Algorithm uint8

// The algorithms.
const (
	// TokenBucket refills one permit after another, up to a burst (GCRA).
	TokenBucket Algorithm = iota
	// FixedWindow gives a count of permits to each window, which opens with
	// the first admission that finds none open.
	FixedWindow
	// SlidingCounter weighs the previous window's count by how much of it the
	// trailing window still covers.
	SlidingCounter
	// SlidingLog keeps the mark of each admission, and bounds every window
	// exactly.
	SlidingLog
	// LeakyBucket spaces calls evenly, without a burst.
	LeakyBucket
	algorithms
)

// Algorithms is one more than the last algorithm.
const Algorithms = algorithms

var algorithmNames = [algorithms]string{"token-bucket", "fixed-window", "sliding-counter", "sliding-log", "leaky-bucket"}

// String returns the word of the policy document.
func (a Algorithm) String() string {
	if a < algorithms {
		return algorithmNames[a]
	}
	return "unknown"
}

// spreads reports whether the refusals of an algorithm have the same retry-after, the end of
// a window.
func (a Algorithm) spreads() bool {
	switch a {
	case FixedWindow:
		return true
	case TokenBucket, SlidingCounter, SlidingLog, LeakyBucket:
	}
	return false
}

// Order says which waiter is served next.
type Order uint8

// The orders.
const (
	Oldest Order = iota
	Newest
)

// MaxCount is the greatest number of permits in a rate or a burst. The maximum of a sliding log
// is slidinglog.MaxCount.
const MaxCount = tokenbucket.MaxCount

// MaxQueue is the longest queue of any mechanism.
const MaxQueue = 10_000

// Config is the configuration of a limiter.
type Config struct {
	// Algorithm by which the limiter counts. Default TokenBucket.
	Algorithm Algorithm
	// Count permits for each Period. Required, 1 to MaxCount; for buckets at most
	// one permit a nanosecond, for a sliding log at most slidinglog.MaxCount.
	Count uint32
	// Period of the rate. Required, more than 0. A longer one with the same rate
	// allows larger bursts. Beside a Calendar it is the length of its unit, and 0 means it.
	Period time.Duration
	// Burst is the most permits at one instant, 1 to MaxCount. Token bucket
	// alone; 0 means Count, and beside WarmUp Count / Factor, rounded up.
	Burst uint32
	// Wait is the longest that a caller may wait for its turn. 0 refuses at once.
	Wait time.Duration
	// Queue is the most callers that may wait, 1 to MaxQueue; 0 exactly when
	// Wait is.
	Queue uint32
	// Order in which waiters are served. Default Oldest.
	Order Order
	// Cost of a call at a step of a pipeline. Default: what the call names. The
	// machine ignores it: its actions have their costs.
	Cost Cost
	// Charge says when a step of a pipeline takes the permits. Default ChargeStart. To the
	// machine it says with ChargeEnd that waiters take nothing: the pipeline returns what
	// they are granted at that mark.
	Charge Charge
	// SettleMax is the most permits that the end of one call takes beyond its cost at a
	// step of a pipeline, 1 to MaxCount. 0 means the capacity of the limiter. Not beside
	// ChargeStart. The machine ignores it: it bounds the debt by the capacity in any case.
	SettleMax uint32
	// Counts are the outcomes of calls that keep their permits at a step of a pipeline.
	// Default: all. The machine ignores it.
	Counts Outcomes
	// Block refuses all calls for a time after refusals. Not beside Wait. Default: none.
	Block Block
	// WarmUp lets a token bucket begin at a part of its rate after an idle time. Token
	// bucket alone. Default: none.
	WarmUp WarmUp
	// Calendar lets a fixed window end with the day, week or month of a time zone. Fixed
	// window alone. Default: none.
	Calendar calendar.Config
	// Spread is the share of the Period by which at most the retry-after of a refusal is
	// later than the end of the window. Fixed window alone, not beside Wait. Default: none.
	Spread reducer.Share
}

// OneWord reports whether the count of the configuration is the count of a token bucket
// alone, whose state is one word: without warm-up and without blocks.
func (c *Config) OneWord() bool {
	return c.Algorithm == TokenBucket && c.WarmUp.Over == 0 && !c.Block.on()
}

// WithEpoch implements mechanism.Dated: a limit by the calendar needs the wall time of
// mark 0.
func (c Config) WithEpoch(epoch func() time.Duration) (mechanism.Config, bool) {
	if c.Calendar.Unit == calendar.NoUnit || c.Calendar.Epoch != 0 {
		return c, false
	}
	c.Calendar.Epoch = epoch()
	return c, true
}

// checkRest adds what is wrong with the settings that are not an algorithm's, and with the
// cost, which needs a rate.
func (c *Config) checkRest(e *reducer.ConfigErrors, rated bool) {
	c.check(e)
	e.Count(c.Wait > 0 && c.Queue == 0, "queue", 0, "1 to 10000 beside wait")
	e.Count(c.Wait == 0 && c.Queue > 0 && c.Queue <= MaxQueue, "queue", uint64(c.Queue), "0 without wait")
	e.Count(c.SettleMax > 0 && c.Charge == ChargeStart, "settle_max", uint64(c.SettleMax), "0 beside ChargeStart, which takes nothing at the end")
	e.Count(c.Counts > allOutcomes, "counts", uint64(c.Counts), "a set of outcomes")
	e.Count(rated && c.Cost.Permits > c.most(), "cost", uint64(c.Cost.Permits), "at most the permits that are free at one instant")
	e.Add(c.Block.check(c.Wait > 0))
	e.Share(c.Spread.Positive() && (!c.Algorithm.spreads() || c.Wait > 0), "spread", c.Spread, "0% but for FixedWindow without a wait")
}

// declared are the settings of documents. make generate writes settings_gen.go from them.
func declared() []mechanism.Doc {
	return []mechanism.Doc{
		{
			Name: "algorithm", Is: mechanism.Setting{Type: mechanism.Word, Words: strings.Join(algorithmNames[:], " ")}, Field: "Algorithm", ByHand: true, With: "algorithm",
			Value: `"token-bucket"`, Default: "`token-bucket`; `fixed-window` for a rate by the calendar", Example: "algorithm: sliding-log",
			Meaning: "how the limit counts",
		},
		{
			Name: "rate", Is: mechanism.Setting{Type: mechanism.Rate, Required: true}, Field: "Count,Period,Calendar.Unit",
			Effect: mechanism.Looser, Type: "rate, or a count for each `day`, `week` or `month`", Range: "for `sliding-log` a count of at most 10,000", Example: "rate: 50/1m",
			Meaning: "permits for each duration, or for each window of the [calendar](#calendar-windows)",
			Larger:  "more calls pass",
			Smaller: "fewer calls pass",
		},
		{
			Name: "class", Is: mechanism.Setting{Type: mechanism.Attribute},
			Note: "needs `rates`", Example: "class: header:plan",
			Meaning: "the attribute whose value is the [class](#classes) of a call",
		},
		{
			Name: "rates", Is: mechanism.Setting{Type: mechanism.Rates},
			Note: "needs a `class`", Example: "rates: {free: 10/m, pro: 1000/m}",
			Meaning: "the rate of each [class](#classes); a call takes from the limit of its class, one of no class from that of `rate`",
		},
		{
			Name: "burst", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxCount}, Field: "Burst", ByHand: true,
			Effect: mechanism.Looser, Type: "number of permits; `token-bucket` alone", Default: "the count of `rate`; beside `warm_up` divided by its factor", Example: "burst: 10",
			Meaning: "the most permits at one instant",
			Larger:  "more calls at once after a quiet time; a longer time to fill",
			Smaller: "calls are spread more evenly",
		},
		{
			Name: "wait", Is: mechanism.Setting{Type: mechanism.Duration}, Field: "Wait",
			Effect: mechanism.Looser, Value: `"0s"`, Default: "`0s`: refuse at once", Example: "wait: 500ms",
			Meaning: "the longest wait for a permit",
			Larger:  "fewer refusals, longer calls",
			Smaller: "refusals come sooner",
		},
		{
			Name: "queue", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxQueue}, Field: "Queue", Beside: "wait", With: "wait",
			Effect: mechanism.Looser, Type: "number of calls; needs a `wait`", Value: `100`, Example: "queue: 50",
			Meaning: "the most waiting calls",
			Larger:  "more memory, and longer waits where `wait` allows them",
			Smaller: "calls are refused as `full` sooner",
		},
		{
			Name: "order", Is: mechanism.Setting{Type: mechanism.Word, Words: Orders}, Field: "Order", With: "wait",
			Note: "needs a `wait`", Value: `"oldest"`, Example: "order: newest",
			Meaning: "which waiting call is served next",
		},
		{
			Name: "cost", Is: mechanism.Setting{Type: mechanism.Cost, Least: 1, Most: MaxCount}, Field: "Cost",
			Effect: mechanism.Tighter, Type: "number of permits, `header:NAME`, `cookie:NAME`, `query:NAME`, or [both](#costs)",
			Range: "1 to the greatest cost that the limit admits; a default also 0", Default: "what the call names, else 1", Example: "cost: header:x-tokens",
			Meaning: "how many permits a call takes here, whatever it takes elsewhere",
			Larger:  "a call takes more of the limit",
			Smaller: "more calls pass",
		},
		{
			Name: "charge", Is: mechanism.Setting{Type: mechanism.Word, Words: "start settle end"}, Field: "Charge",
			Value: `"start"`, Example: "charge: settle",
			Meaning: "when the permits are taken: at the start; at the start, and [settled](#charges) by what was used; or at the end",
		},
		{
			Name: "settle_max", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxCount}, Field: "SettleMax",
			Effect: mechanism.Tighter, Type: "number of permits", Note: "needs a `charge` of `settle` or `end`", Default: "the greatest cost that the limit admits", Example: "settle_max: 500",
			Meaning: "the most permits that the end of one call takes [beyond its cost](#charges); what is more is dropped and told",
			Larger:  "a call that used much more than its cost keeps others out for longer",
			Smaller: "a wrong number of permits does less harm",
		},
		{
			Name: "counts", Is: mechanism.Setting{Type: mechanism.Words, Words: "ok fail throttle ignore timeout cancel"}, Field: "Counts",
			Type: "`ok`, `fail`, `throttle`, `ignore`, `timeout`, `cancel`, or a list of them", Default: "all of them", Example: "counts: [fail]",
			Meaning: "the [outcomes](#charges) that keep their permits; the permits of others come back at the end",
		},
		{
			Name: "block", Is: mechanism.Setting{Type: mechanism.Map, Says: "a duration, a backoff, or a map of after and for", Short: "for", Bit: 1 << 0},
			Effect: mechanism.Tighter, Type: "duration, backoff, or map of `after` and `for`; not beside `wait`", Default: "none", Example: "block: {exponential: 1m, max: 1h}",
			Meaning: "the limit, or the key, refuses all calls for a [time](#blocks) after it was exceeded",
		},
		{
			Name: "block.after", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxCount}, Field: "Block.After", ByHand: true,
			Effect: mechanism.Looser, Value: `1`, Example: "after: 5",
			Meaning: "refusals in a row, without an admission between them, before a block",
			Larger:  "more refusals before a block",
			Smaller: "a block begins sooner",
		},
		{
			Name: "block.for", Is: mechanism.Setting{Type: mechanism.BlockTime, Required: true, Says: "a duration as in 1m, or a backoff as in {exponential: 1m, max: 1h}"}, Field: "Block.For",
			Effect: mechanism.Tighter, Type: "duration, or a [backoff](#backoff) other than `none` and `decorrelated`, without `jitter`; the default `max` of `exponential` is `24h`", Example: "for: {exponential: 1m, factor: 4}",
			Meaning: "the time of a block: that of attempt n of the backoff for the n-th in a row",
			Larger:  "longer blocks",
			Smaller: "shorter blocks",
		},
		{
			Name: "warm_up", Is: mechanism.Setting{Type: mechanism.Map, Says: "a duration, or a map of over and factor", Short: "over", Bit: 1 << 1},
			Type: "duration, or map of `over` and `factor`; `token-bucket` alone", Default: "none", Example: "warm_up: 30s",
			Meaning: "after an idle time the limit begins at a part of the rate and [warms up](#warm-up)",
		},
		{
			Name: "warm_up.over", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1, Required: true}, Field: "WarmUp.Over", ByHand: true,
			Effect: mechanism.Tighter, Range: "at most `720h`", Example: "over: 30s",
			Meaning: "the time in use in which the rate rises to the whole, and the idle time in which it falls back",
			Larger:  "a longer time below the rate",
			Smaller: "the whole rate is there sooner",
		},
		{
			Name: "warm_up.factor", Is: mechanism.Setting{Type: mechanism.Count, Least: 2, Most: MaxFactor}, Field: "WarmUp.Factor", ByHand: true,
			Effect: mechanism.Tighter, Value: `3`, Example: "factor: 5",
			Meaning: "what the rate is divided by when the limit is cold",
			Larger:  "fewer calls pass at the beginning",
			Smaller: "more calls pass at the beginning",
		},
		{
			Name: "zone", Is: mechanism.Setting{Type: mechanism.Zone, Bit: 1 << 2}, Field: "Calendar",
			Type: "`UTC`, an offset as in `+02:00`, or a rule of POSIX", Note: "needs a rate by the calendar", Value: `"UTC"`, Example: "zone: CET-1CEST,M3.5.0,M10.5.0/3",
			Meaning: "the time zone whose days, weeks or months are the windows",
		},
		{
			Name: "spread", Is: mechanism.Setting{Type: mechanism.Share, Bit: 1 << 3}, Field: "Spread",
			Type: "share; `fixed-window` alone, not beside `wait`", Default: "none", Example: "spread: 10%",
			Meaning: "the share of a window by which at most `retry_after` is [later](#spread) than its end",
			Larger:  "callers that obey `retry_after` come back over a longer time",
			Smaller: "they come back sooner, and more of them at once",
		},
	}
}

// relations between the settings.
func relations() []mechanism.Relation {
	return []mechanism.Relation{
		{Setting: "warm_up.over", Op: mechanism.AtMost, Than: "720h", Says: "a duration of at most 720h"},
	}
}
