package breaker

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:    "Stops calling what fails. {} takes every default.",
		Examples: []string{`{"window":{"calls":100},"minimum":20,"failure_rate":"50%","open":"30s","probes":10}`},
		Settings: []mechanism.Doc{
			{
				Name: "window", Type: "one of `{calls: n}`, `{time: d, buckets: n}`, `{consecutive: n, forget: d}`", Range: "`calls` 1 to 10,000; `buckets` 1 to 1000, default 10, at least a nanosecond each; `consecutive` 1 to 10,000", Value: `{"calls":100}`, Example: "window: {time: 1m, buckets: 6}",
				Meaning: "the outcomes that decide: the last n, those of the last time d, or n failures in a row, of which `forget` without a failure sets the count to 0",
				Larger:  "reacts later, and less to chance",
				Smaller: "reacts sooner, and more to chance",
			},
			{
				Name: "window.calls", Example: "calls: 100",
				Meaning: "how many outcomes",
			},
			{
				Name: "window.time", Example: "time: 10s",
				Meaning: "how far back; at least a nanosecond for each bucket",
			},
			{
				Name: "window.buckets", Value: `10`, Example: "buckets: 6",
				Meaning: "how many buckets the time is cut into",
			},
			{
				Name: "window.consecutive", Example: "consecutive: 5",
				Meaning: "at how many failures in a row it opens",
			},
			{
				Name: "window.forget", Effect: mechanism.Tighter, Default: "none: only a success sets the count to 0", Example: "forget: 60s",
				Meaning: "[so long after a failure without another one](#breakers) the count of failures in a row is 0 again",
				Larger:  "failures that are rarer open it",
				Smaller: "only failures that follow each other quickly open it",
			},
			{
				Name: "minimum", Effect: mechanism.Looser, Note: "not beside `consecutive`", Range: "1 to 10,000, at most the window's `calls`", Default: "the lesser of 100 and the window's `calls`; 100 beside `time`", Example: "minimum: 20",
				Meaning: "outcomes that the window must hold before the rates count",
				Larger:  "few calls never open the breaker",
				Smaller: "a few failures open it",
			},
			{
				Name: "failure_rate", Effect: mechanism.Looser, Note: "not beside `consecutive`", Value: `"50%"`, Example: "failure_rate: 30%",
				Meaning: "opens when this share of the outcomes are failures",
				Larger:  "tolerates more failures",
				Smaller: "opens sooner",
			},
			{
				Name: "slow", Type: "map of `over` (duration, required), and `rate` (share), `consecutive` (1 to 10,000) or both", Example: "slow: {over: 2s, rate: 80%}",
				Meaning: "opens when this share of the attempts took longer than `over`, or so many in a row did",
				Larger:  "tolerates slower answers",
				Smaller: "opens sooner",
			},
			{
				Name: "slow.over", Effect: mechanism.Looser, Example: "over: 2s",
				Meaning: "longer than this is slow",
			},
			{
				Name: "slow.rate", Effect: mechanism.Looser, Note: "not beside a `window` of `consecutive`", Example: "rate: 80%",
				Meaning: "opens when this share of the attempts were slow",
			},
			{
				Name: "slow.consecutive", Effect: mechanism.Looser, Example: "consecutive: 5",
				Meaning: "opens at so many slow attempts in a row, whatever the `minimum`",
			},
			{
				Name: "open", Effect: mechanism.Tighter, Value: `"1m"`, Example: "open: {exponential: 10s, max: 5m}",
				Meaning: "how long it stays open. A backoff counts the openings since the breaker was last closed that failures or failed probes caused; it has no jitter unless one is written",
				Larger:  "the dependency recovers in peace; good calls are refused longer",
				Smaller: "tries the dependency sooner",
			},
			{
				Name: "probes", Value: `10`, Example: "probes: 3",
				Meaning: "the attempts whose outcomes decide when the breaker is half-open. [All of them must end](#breakers), even when the verdict is certain earlier, unless `successes` decide",
				Larger:  "a surer verdict, and more calls to a dependency that may still fail; few callers take long to supply them",
				Smaller: "a quick verdict that chance decides more often",
			},
			{
				Name: "successes", Effect: mechanism.Tighter, Range: "1 to 1000, at most `probes`", Default: "none: the rates decide", Example: "successes: 2",
				Meaning: "as many good outcomes of the `probes` [close the breaker](#breakers) at once, and it opens at once when they can no longer be reached",
				Larger:  "a surer verdict",
				Smaller: "closes sooner, and more often by chance",
			},
			{
				Name: "half_open_max", Value: `"0s"`, Default: "`0s`: no bound", Example: "half_open_max: 30s",
				Meaning: "the longest stay in half-open",
				Larger:  "the probes have more time",
				Smaller: "a breaker without enough probes opens again sooner",
			},
			{
				Name: "initial", Value: `"closed"`, Example: "initial: half-open",
				Meaning: "the [mode](#breakers) in which a new breaker starts, and one that is reset",
			},
			{
				Name: "obey_retry_after", Effect: mechanism.Tighter, Default: "none: no answer opens it by itself", Example: "obey_retry_after: 10m",
				Meaning: "an answer `fail` or `throttle` with a `retry_after` [opens the breaker](#breakers) until then, for this time at most",
				Larger:  "an answer may close the dependency off for longer",
				Smaller: "the dependency is tried before it asked for that",
			},
			{
				Name: "ramp", Type: "map of `over` (duration, required) and `from` (share below 100%)", Default: "none: all calls pass at once", Example: "ramp: {over: 30s, from: 10%}",
				Meaning: "after half-open has closed it, the breaker admits a share of the calls that rises from `from` to all of them in the time `over`",
				Larger:  "the load comes back more slowly",
				Smaller: "the load comes back sooner",
			},
			{
				Name: "ramp.over", Effect: mechanism.Tighter, Example: "over: 30s",
				Meaning: "how long the share rises",
			},
			{
				Name: "ramp.from", Effect: mechanism.Looser, Range: "more than 0% and less than 100%", Value: `"10%"`, Example: "from: 10%",
				Meaning: "the share at the beginning",
			},
		},
		Schema: `{
	"if": {"required": ["window"], "properties": {"window": {"type": "object", "required": ["consecutive"]}}},
	"then": {"properties": {"minimum": false, "failure_rate": false, "slow": {"properties": {"rate": false}}}}
}`,
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Rank:     2,
		Opens:    opens,
		Variant:  func(c mechanism.Config) string { return [...]string{"calls", "time", "consecutive"}[c.(Config).Window] },
		Adjust:   adjust,
		Lint:     lint,
	}
}
