package adaptive

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:    "Admits no more at once than a limit that rises with timely successes and falls with failures.",
		Examples: []string{`{}`, `{"maximum":50,"over":"500ms"}`},
		Settings: []mechanism.Doc{
			{
				Name: "initial", Effect: mechanism.Looser, Type: "number of places", Range: "`minimum` to `maximum`", Default: "20, or the bound next to it", Example: "initial: 50",
				Meaning: "the limit at first",
				Larger:  "more load until the first failures",
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
				Meaning: "what the limit gains by as many timely successes as it has places",
				Larger:  "the limit recovers sooner, and exceeds what the dependency bears by more",
				Smaller: "the limit is steadier and recovers later",
			},
			{
				Name: "decrease", Effect: mechanism.Tighter, Value: `"10%"`, Example: "decrease: 50%",
				Meaning: "the share of the limit that a failure takes",
				Larger:  "the dependency is relieved sooner, more of it lies idle",
				Smaller: "failures last longer, less capacity is lost by one",
			},
			{
				Name: "over", Effect: mechanism.Looser, Value: `"5s"`, Example: "over: 500ms",
				Meaning: "a success that took longer counts as a failure",
				Larger:  "higher latency before the limit falls",
				Smaller: "lower latency, a lower limit",
			},
			{
				Name: "cost", Effect: mechanism.Tighter, Type: "number of places, `header:NAME`, `cookie:NAME`, `query:NAME`, or [both](#costs-of-an-adaptive-limit)",
				Range: "1 to `maximum`", Default: "1", Example: "cost: header:x-size",
				Meaning: "how many places a call takes",
				Larger:  "a call takes more of the limit, and fewer run at once",
				Smaller: "more calls run at once",
			},
		},
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Rank:     4,
		Concurrent: func(c mechanism.Config) (uint64, bool) {
			return uint64(c.(Config).Maximum), true
		},
	}
}

// describe says how many calls may run, and what changes the limit.
func describe(config mechanism.Config, _ mechanism.Step) string {
	c := config.(Config)
	return mechanism.Number(c.Initial) + " at once, from " + mechanism.Number(c.Minimum) + " to " + mechanism.Number(c.Maximum) +
		": " + c.Cost.Text() + mechanism.Number(c.Increase) + " more by a round of successes, " + c.Decrease.String() +
		" less by a failure or a success over " + mechanism.Span(c.Over)
}
