package chaos

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:    "Injects failures and latency into a share of the attempts, for tests and game days. At most one a policy, the last step.",
		Examples: []string{`{"fail":"5%","slow":{"rate":"10%","by":"200ms"}}`, `{"throttle":{"rate":"1%","retry_after":"2s"},"shadow":true}`},
		Settings: []mechanism.Doc{
			{
				Name: "fail", Range: "0% to 100%; at most 100% with `throttle` and `ignore` together", Example: "fail: 5%",
				Meaning: "the attempts that end as `fail` without the dependency",
				Larger:  "more attempts fail",
				Smaller: "fewer attempts fail; none at 0%",
			},
			{
				Name: "throttle", Type: "map of `rate` (share, required) and `retry_after` (duration)", Range: "`rate` 0% to 100%", Example: "throttle: {rate: 1%, retry_after: 2s}",
				Meaning: "the attempts that end as `throttle` without the dependency, and the `retry_after` that they have",
				Larger:  "more attempts are throttled",
				Smaller: "fewer attempts are throttled; none at 0%",
			},
			{
				Name: "throttle.rate", Example: "rate: 1%",
				Meaning: "the attempts that end as `throttle`",
			},
			{
				Name: "throttle.retry_after", Example: "retry_after: 2s",
				Meaning: "what the result says about the next attempt",
			},
			{
				Name: "ignore", Range: "0% to 100%", Example: "ignore: 1%",
				Meaning: "the attempts that end as `ignore` without the dependency",
				Larger:  "more attempts are ignored",
				Smaller: "fewer attempts are ignored; none at 0%",
			},
			{
				Name: "slow", Type: "map of `rate` (share) and `by` (duration), both required, and `to` (duration)", Range: "`rate` 0% to 100%; `to` at least `by`, default `by`", Example: "slow: {rate: 10%, by: 100ms, to: 500ms}",
				Meaning: "the attempts that begin later, by `by` or by a time from `by` to `to`",
				Larger:  "more attempts are slow",
				Smaller: "fewer attempts are slow; none at 0%",
			},
			{
				Name: "slow.rate", Example: "rate: 10%",
				Meaning: "the attempts that begin later",
			},
			{
				Name: "slow.by", Example: "by: 100ms",
				Meaning: "by how much, at least where there is a `to`",
			},
			{
				Name: "slow.to", Default: "`by`", Example: "to: 500ms",
				Meaning: "by how much at most; all times from `by` on are equally likely",
			},
		},
		Schema: `{
	"anyOf": [
		{"required": ["fail"]}, {"required": ["throttle"]}, {"required": ["ignore"]}, {"required": ["slow"]}
	]
}`,
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Lint: func(c mechanism.Config, p mechanism.Around) {
			if c.(Config).Injects() && p.Enforced() {
				p.Warn("chaos", p.Name()+" "+p.Settings()+": real requests fail or are slow", "chaos: {shadow: true}")
			}
		},
	}
}
