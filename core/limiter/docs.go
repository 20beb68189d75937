package limiter

import (
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
)

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:    "Admits no more than a rate.",
		Examples: []string{`"50/1m"`, `{"rate":"50/1m","burst":10,"wait":"3s","per":"header:x-tenant"}`},
		Settings: []mechanism.Doc{
			{
				Name: "algorithm", Value: `"token-bucket"`, Default: "`token-bucket`; `fixed-window` for a rate by the calendar", Example: "algorithm: sliding-log",
				Meaning: "how the limit counts",
			},
			{
				Name: "rate", Effect: mechanism.Looser, Type: "rate, or a count for each `day`, `week` or `month`", Range: "for `sliding-log` a count of at most 10,000", Example: "rate: 50/1m",
				Meaning: "permits for each duration, or for each window of the [calendar](#calendar-windows)",
				Larger:  "more calls pass",
				Smaller: "fewer calls pass",
			},
			{
				Name: "class", Note: "needs `rates`", Example: "class: header:plan",
				Meaning: "the attribute whose value is the [class](#classes) of a call",
			},
			{
				Name: "rates", Note: "needs a `class`", Example: "rates: {free: 10/m, pro: 1000/m}",
				Meaning: "the rate of each [class](#classes); a call takes from the limit of its class, one of no class from that of `rate`",
			},
			{
				Name: "burst", Effect: mechanism.Looser, Type: "number of permits; `token-bucket` alone", Default: "the count of `rate`; beside `warm_up` divided by its factor", Example: "burst: 10",
				Meaning: "the most permits at one instant",
				Larger:  "more calls at once after a quiet time; a longer time to fill",
				Smaller: "calls are spread more evenly",
			},
			{
				Name: "wait", Effect: mechanism.Looser, Value: `"0s"`, Default: "`0s`: refuse at once", Example: "wait: 500ms",
				Meaning: "the longest wait for a permit",
				Larger:  "fewer refusals, longer calls",
				Smaller: "refusals come sooner",
			},
			{
				Name: "queue", Effect: mechanism.Looser, Type: "number of calls; needs a `wait`", Value: `100`, Example: "queue: 50",
				Meaning: "the most waiting calls",
				Larger:  "more memory, and longer waits where `wait` allows them",
				Smaller: "calls are refused as `full` sooner",
			},
			{
				Name: "order", Note: "needs a `wait`", Value: `"oldest"`, Example: "order: newest",
				Meaning: "which waiting call is served next",
			},
			{
				Name: "cost", Effect: mechanism.Tighter, Type: "number of permits, `header:NAME`, `cookie:NAME`, `query:NAME`, or [both](#costs)",
				Range: "1 to the greatest cost that the limit admits; a default also 0", Default: "what the call names, else 1", Example: "cost: header:x-tokens",
				Meaning: "how many permits a call takes here, whatever it takes elsewhere",
				Larger:  "a call takes more of the limit",
				Smaller: "more calls pass",
			},
			{
				Name: "charge", Value: `"start"`, Example: "charge: settle",
				Meaning: "when the permits are taken: at the start; at the start, and [settled](#charges) by what was used; or at the end",
			},
			{
				Name: "settle_max", Effect: mechanism.Tighter, Type: "number of permits", Note: "needs a `charge` of `settle` or `end`", Default: "the greatest cost that the limit admits", Example: "settle_max: 500",
				Meaning: "the most permits that the end of one call takes [beyond its cost](#charges); what is more is dropped and told",
				Larger:  "a call that used much more than its cost keeps others out for longer",
				Smaller: "a wrong number of permits does less harm",
			},
			{
				Name: "counts", Type: "`ok`, `fail`, `throttle`, `ignore`, `timeout`, `cancel`, or a list of them", Default: "all of them", Example: "counts: [fail]",
				Meaning: "the [outcomes](#charges) that keep their permits; the permits of others come back at the end",
			},
			{
				Name: "block", Effect: mechanism.Tighter, Type: "duration, backoff, or map of `after` and `for`; not beside `wait`", Default: "none", Example: "block: {exponential: 1m, max: 1h}",
				Meaning: "the limit, or the key, refuses all calls for a [time](#blocks) after it was exceeded",
			},
			{
				Name: "block.after", Effect: mechanism.Looser, Value: `1`, Example: "after: 5",
				Meaning: "refusals in a row, without an admission between them, before a block",
				Larger:  "more refusals before a block",
				Smaller: "a block begins sooner",
			},
			{
				Name: "block.for", Effect: mechanism.Tighter, Type: "duration, or a [backoff](#backoff) other than `none` and `decorrelated`, without `jitter`; the default `max` of `exponential` is `24h`", Example: "for: {exponential: 1m, factor: 4}",
				Meaning: "the time of a block: that of attempt n of the backoff for the n-th in a row",
				Larger:  "longer blocks",
				Smaller: "shorter blocks",
			},
			{
				Name: "warm_up", Type: "duration, or map of `over` and `factor`; `token-bucket` alone", Default: "none", Example: "warm_up: 30s",
				Meaning: "after an idle time the limit begins at a part of the rate and [warms up](#warm-up)",
			},
			{
				Name: "warm_up.over", Effect: mechanism.Tighter, Range: "at most `720h`", Example: "over: 30s",
				Meaning: "the time in use in which the rate rises to the whole, and the idle time in which it falls back",
				Larger:  "a longer time below the rate",
				Smaller: "the whole rate is there sooner",
			},
			{
				Name: "warm_up.factor", Effect: mechanism.Tighter, Value: `3`, Example: "factor: 5",
				Meaning: "what the rate is divided by when the limit is cold",
				Larger:  "fewer calls pass at the beginning",
				Smaller: "more calls pass at the beginning",
			},
			{
				Name: "zone", Type: "`UTC`, an offset as in `+02:00`, or a rule of POSIX", Note: "needs a rate by the calendar", Value: `"UTC"`, Example: "zone: CET-1CEST,M3.5.0,M10.5.0/3",
				Meaning: "the time zone whose days, weeks or months are the windows",
			},
		},
		Schema: `{
	"dependentRequired": {"class": ["rates"], "rates": ["class"], "queue": ["wait"], "order": ["wait"]},
	"allOf": [
		{
			"if": {"required": ["wait"], "properties": {"wait": {"type": "string", "pattern": "^[^1-9]*$"}}},
			"then": {"properties": {"queue": false, "order": false}}
		},
		{
			"if": {"required": ["algorithm"], "properties": {"algorithm": {"enum": ["fixed-window", "sliding-counter", "sliding-log", "leaky-bucket"]}}},
			"then": {"properties": {"burst": false, "warm_up": false}}
		},
		{
			"if": {"required": ["wait"], "properties": {"wait": {"type": "string", "pattern": "[1-9]"}}},
			"then": {"properties": {"block": false}}
		},
		{
			"if": {"required": ["algorithm"], "properties": {"algorithm": {"const": "sliding-log"}}},
			"then": {"properties": {"rate": {"pattern": "^([1-9][0-9]{0,3}|10000)/"}}}
		},
		{
			"if": {"required": ["charge"], "properties": {"charge": {"enum": ["settle", "end"]}}},
			"else": {"properties": {"settle_max": false}}
		},
		{
			"if": {"required": ["rate"], "properties": {"rate": {"pattern": "/(day|week|month)$"}}},
			"then": {"properties": {"algorithm": {"const": "fixed-window"}, "burst": false, "warm_up": false}},
			"else": {"properties": {"zone": false}}
		}
	]
}`,
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Rank:     3,
		Admits:   func(c mechanism.Config, window time.Duration) uint64 { return c.(Config).Calls(window) },
		AtOnce:   func(c mechanism.Config) uint64 { return c.(Config).Admits(0) },
		Late:     func(c mechanism.Config) bool { return c.(Config).Charge == ChargeEnd },
		Covers:   covers,
		Waits:    waits,
		Adjust:   adjust,
		Lint:     lint,
	}
}
