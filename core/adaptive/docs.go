package adaptive

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:    "Admits no more at once than a limit that rises while answers come in time and falls when many come late or not at all.",
		Examples: []string{`{}`, `{"maximum":50,"over":"500ms"}`},
		Settings: []mechanism.Doc{
			{
				Name: "initial", Effect: mechanism.Looser, Type: "number of places", Range: "`minimum` to `maximum`", Default: "20, or the bound next to it", Example: "initial: 50",
				Meaning: "the limit at first",
				Larger:  "more load until the first bad round",
				Smaller: "calls are refused until the limit has risen",
			},
			{
				Name: "minimum", Effect: mechanism.Looser, Type: "number of places", Range: "1 to `maximum`", Value: `1`, Example: "minimum: 5",
				Meaning: "the lowest limit",
				Larger:  "more load on a dependency that is down, a sooner recovery",
				Smaller: "less load, a later recovery",
			},
			{
				Name: "maximum", Effect: mechanism.Looser, Type: "number of places", Default: "200, or the greater of `minimum` and `initial` above that", Example: "maximum: 50",
				Meaning: "the highest limit",
				Larger:  "more load on a dependency that keeps up",
				Smaller: "calls are refused as `full` sooner",
			},
			{
				Name: "increase", Effect: mechanism.Looser, Type: "number of places", Value: `1`, Example: "increase: 2",
				Meaning: "what the limit gains by a good round, at least",
				Larger:  "the limit recovers sooner, and exceeds what the dependency bears by more",
				Smaller: "the limit is steadier and recovers later",
			},
			{
				Name: "decrease", Effect: mechanism.Tighter, Value: `"10%"`, Example: "decrease: 50%",
				Meaning: "the share of the limit that a bad round takes, at least",
				Larger:  "the dependency is relieved sooner, more of it lies idle",
				Smaller: "overload lasts longer, less capacity is lost by one round",
			},
			{
				Name: "tolerance", Effect: mechanism.Looser, Range: "more than 0% to 50%", Value: `"15%"`, Example: "tolerance: 20%",
				Meaning: "the share of late answers and timeouts of a round above which it is bad",
				Larger:  "calls that hang whatever the load cost less; overload is noticed later",
				Smaller: "overload is noticed sooner; a few calls that hang lower the limit",
			},
			{
				Name: "over", Effect: mechanism.Looser, Type: "duration, or share of the [time that the attempt has](#adaptive-limits)", Value: `"60%"`, Default: "60%; 5s where no deadline is known", Example: "over: 500ms",
				Meaning: "a success that took longer is late",
				Larger:  "higher latency before the limit falls",
				Smaller: "lower latency, a lower limit",
			},
			{
				Name: "lease", Example: "lease: 1m",
				Meaning: "a place that was neither released nor renewed for this long is free again",
				Larger:  "a lost holder blocks its place longer",
				Smaller: "a slow holder loses its place while it still runs",
			},
			{
				Name: "cost", Effect: mechanism.Tighter, Type: "number of places, `header:NAME`, `cookie:NAME`, `query:NAME`, or [both](#costs-of-an-adaptive-limit)",
				Range: "1 to `maximum`", Default: "1", Example: "cost: header:x-size",
				Meaning: "how many places a call takes",
				Larger:  "a call takes more of the limit, and fewer run at once",
				Smaller: "more calls run at once",
			},
		},
		Schema: `{
	"properties": {"tolerance": {"pattern": "^0*(50(\\.0*)?|[0-4]?[0-9](\\.[0-9]*)?)%$"}}
}`,
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Rank:     4,
		Adjust: func(_ mechanism.Config, setting string, v *mechanism.Value) {
			if setting == "cost" {
				v.OnePlace()
			}
		},
		Lint: lint,
		Concurrent: func(c mechanism.Config) (uint64, bool) {
			a := c.(Config)
			return uint64(a.Maximum), a.Lease == 0
		},
	}
}

// describe says how many calls may run, and what changes the limit.
func describe(config mechanism.Config, _ mechanism.Step) string {
	c := config.(Config)
	over := c.OverShare.String() + " of the time that an attempt has"
	if !c.OverShare.Positive() {
		over = mechanism.Span(c.Over)
	}
	lease := ""
	if c.Lease > 0 {
		lease = ", places free again after " + mechanism.Span(c.Lease)
	}
	return mechanism.Number(c.Initial) + " at once, from " + mechanism.Number(c.Minimum) + " to " + mechanism.Number(c.Maximum) +
		": " + c.Cost.Text() + mechanism.Number(c.Increase) + " more by a good round, " + c.Decrease.String() +
		" less by one with more than " + c.Tolerance.String() + " timeouts and answers over " + over + lease
}
