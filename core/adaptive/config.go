package adaptive

import (
	"time"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// MaxLimit is the most that a limit may be raised to.
const MaxLimit = 10_000

// MaxIncrease is the greatest increase.
const MaxIncrease = 100

// Config is the configuration of an adaptive limit. The limit is a number of places.
type Config struct {
	// Initial is the limit at first, Minimum to Maximum. A larger one admits more
	// calls until the first failures.
	Initial uint32
	// Minimum is the lowest limit, 1 to Maximum. A larger one admits more calls of
	// a dependency that is down.
	Minimum uint32
	// Maximum is the highest limit, Minimum to MaxLimit.
	Maximum uint32
	// Increase is how many places a good round adds, at least: as many as the logarithm
	// of the limit where that is more. 1 to MaxIncrease. A larger one follows spare
	// capacity sooner, and exceeds it by more.
	Increase uint32
	// Decrease is the share of the limit that a bad round takes, at least, more than 0 to
	// the whole. A larger one relieves the dependency sooner and wastes more capacity.
	Decrease reducer.Share
	// Tolerance is the share of late and cut outcomes above which a round is bad, more than 0
	// to a half. A larger one admits more to a dependency that answers some calls too
	// late whatever the load.
	Tolerance reducer.Share
	// Over is the longest duration of a success that is timely, more than 0. A shorter one
	// keeps latency lower and admits less. 0 with OverShare.
	Over time.Duration
	// OverShare is Over as a share of the time from the admission to the deadline of the
	// action; DefaultOver where it has none. 0 with Over.
	OverShare reducer.Share
	// Lease frees the places of a holder that neither released nor renewed them
	// for so long. 0 for none.
	Lease time.Duration
	// Cost of a call at a step of a pipeline, in places: 1 to Maximum, and at least 1 where
	// an attribute has it. Default: one place, whatever the call names. The machine
	// ignores it: its actions have their costs.
	Cost limiter.Cost
}

// declared are the settings of documents. make generate writes settings_gen.go from them.
func declared() []mechanism.Doc {
	return []mechanism.Doc{
		{
			Name: "initial", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxLimit}, Field: "Initial", Needed: true,
			Effect: mechanism.Looser, Type: "number of places", Range: "`minimum` to `maximum`", Default: "20, or the bound next to it", Example: "initial: 50",
			Meaning: "the limit at first",
			Larger:  "more load until the first bad round",
			Smaller: "calls are refused until the limit has risen",
		},
		{
			Name: "minimum", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxLimit}, Field: "Minimum", Needed: true,
			Effect: mechanism.Looser, Type: "number of places", Range: "1 to `maximum`", Value: `1`, Example: "minimum: 5",
			Meaning: "the lowest limit",
			Larger:  "more load on a dependency that is down, a sooner recovery",
			Smaller: "less load, a later recovery",
		},
		{
			Name: "maximum", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxLimit}, Field: "Maximum", Needed: true,
			Effect: mechanism.Looser, Type: "number of places", Default: "200, or the greater of `minimum` and `initial` above that", Example: "maximum: 50",
			Meaning: "the highest limit",
			Larger:  "more load on a dependency that keeps up",
			Smaller: "calls are refused as `full` sooner",
		},
		{
			Name: "increase", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxIncrease}, Field: "Increase", Needed: true,
			Effect: mechanism.Looser, Type: "number of places", Value: `1`, Example: "increase: 2",
			Meaning: "what the limit gains by a good round, at least",
			Larger:  "the limit recovers sooner, and exceeds what the dependency bears by more",
			Smaller: "the limit is steadier and recovers later",
		},
		{
			Name: "decrease", Is: mechanism.Setting{Type: mechanism.Share}, Field: "Decrease", Needed: true,
			Effect: mechanism.Tighter, Value: `"10%"`, Example: "decrease: 50%",
			Meaning: "the share of the limit that a bad round takes, at least",
			Larger:  "the dependency is relieved sooner, more of it lies idle",
			Smaller: "overload lasts longer, less capacity is lost by one round",
		},
		{
			Name: "tolerance", Is: mechanism.Setting{Type: mechanism.Share}, Field: "Tolerance", Needed: true,
			Effect: mechanism.Looser, Range: "more than 0% to 50%", Value: `"15%"`, Example: "tolerance: 20%",
			Meaning: "the share of late answers and timeouts of a round above which it is bad",
			Larger:  "calls that hang whatever the load cost less; overload is noticed later",
			Smaller: "overload is noticed sooner; a few calls that hang lower the limit",
		},
		{
			Name: "over", Is: mechanism.Setting{Type: mechanism.Bound}, Field: "Over,OverShare", Needed: true,
			Effect: mechanism.Looser, Type: "duration, or share of the [time that the attempt has](#adaptive-limits)", Value: `"60%"`, Default: "60%; 5s where no deadline is known", Example: "over: 500ms",
			Meaning: "a success that took longer is late",
			Larger:  "higher latency before the limit falls",
			Smaller: "lower latency, a lower limit",
		},
		{
			Name: "lease", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1}, Field: "Lease",
			Example: "lease: 1m",
			Meaning: "a place that was neither released nor renewed for this long is free again",
			Larger:  "a lost holder blocks its place longer",
			Smaller: "a slow holder loses its place while it still runs",
		},
		{
			Name: "cost", Is: mechanism.Setting{Type: mechanism.Cost, Least: 1, Most: MaxLimit}, Field: "Cost",
			Effect: mechanism.Tighter, Type: "number of places, `header:NAME`, `cookie:NAME`, `query:NAME`, or [both](#costs-of-an-adaptive-limit)",
			Range: "1 to `maximum`", Default: "1", Example: "cost: header:x-size",
			Meaning: "how many places a call takes",
			Larger:  "a call takes more of the limit, and fewer run at once",
			Smaller: "more calls run at once",
		},
	}
}

// relations between the settings.
func relations() []mechanism.Relation {
	return []mechanism.Relation{
		{Setting: "cost", Op: mechanism.AtLeast, Than: "1", Says: "a default of 1 or more: each call takes a place", Document: true},
		{Setting: "tolerance", Op: mechanism.AtMost, Than: "50%", Says: "at most 50%: a limit whose calls are cut must fall"},
		{Setting: "minimum", Op: mechanism.AtMost, Than: "maximum", Says: "at most the maximum, #"},
		{Setting: "initial", Op: mechanism.AtLeast, Than: "minimum", Says: "at least the minimum, #"},
		{Setting: "initial", Op: mechanism.AtMost, Than: "maximum", Says: "at most the maximum, #"},
		{Setting: "cost", Op: mechanism.AtMost, Than: "maximum", Says: "a cost, also as a default, of at most the maximum, #; a greater one is always refused", Aside: true},
	}
}
