package hedge

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:    "Starts another attempt while one still runs, and takes the first good result. At most one a policy, below the retry.",
		Examples: []string{`{"after":"200ms"}`, `{"after":"p95","budget":"10%"}`},
		Settings: []mechanism.Doc{
			{
				Name: "after", Effect: mechanism.Tighter, Default: "required unless `parallel`", Example: "after: p95",
				Meaning: "the delay from the `admit` of the latest attempt to the start of the next",
				Larger:  "fewer additional attempts, less gain",
				Smaller: "lower latency, more load",
			},
			{
				Name: "max", Effect: mechanism.Looser, Value: `1`, Example: "max: 2",
				Meaning: "the most additional attempts of a round",
				Larger:  "lower latency of the slowest calls, more load",
				Smaller: "less load",
			},
			{
				Name: "parallel", Effect: mechanism.Looser, Note: "not beside `after`", Value: `false`, Example: "parallel: true",
				Meaning: "starts all attempts of a round at once",
			},
			{
				Name: "samples", Note: "beside a percentile alone", Value: `100`, Example: "samples: 1000",
				Meaning: "the first attempts of the last rounds from whose durations the percentile is taken",
				Larger:  "a steadier delay that follows a change later",
				Smaller: "a delay that follows a change sooner and varies by chance",
			},
			{
				Name: "minimum", Note: "beside a percentile alone", Range: "1 to `samples`", Default: "the lesser of 20 and `samples`", Example: "minimum: 50",
				Meaning: "durations that must be known before a hedge starts",
				Larger:  "hedges begin later after a start",
				Smaller: "hedges begin on few durations",
			},
			{
				Name: "budget", Effect: mechanism.Looser, Type: "as of a retry", Range: "see [budget](#budget)", Default: "the retry's budget, if there is one, else `none`", Example: "budget: 10%",
				Meaning: "how many additional attempts all calls of the step may have together",
			},
			{
				Name: "methods", Effect: mechanism.Looser, Type: "as of a retry", Range: "as of a retry", Value: `["GET","HEAD","PUT","DELETE","OPTIONS","TRACE"]`, Default: "as of a retry", Example: "methods: [GET]",
				Meaning: "the methods for which HTTP runtimes start additional attempts",
			},
		},
		Schema: `{
	"allOf": [
		{
			"if": {"required": ["parallel"], "properties": {"parallel": {"const": true}}},
			"then": {"properties": {"after": false}},
			"else": {"required": ["after"]}
		},
		{
			"if": {"anyOf": [{"required": ["samples"]}, {"required": ["minimum"]}]},
			"then": {"required": ["after"], "properties": {"after": {"$ref": "#/$defs/percentile"}}}
		},
		{
			"if": {"anyOf": [{"required": ["per"]}, {"required": ["scope"]}]},
			"then": {
				"anyOf": [
					{"required": ["after"], "properties": {"after": {"$ref": "#/$defs/percentile"}}},
					{"required": ["budget"], "properties": {"budget": {"not": {"const": "none"}}}}
				]
			}
		}
	]
}`,
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Further: func(c mechanism.Config) mechanism.Further {
			h := c.(Config)
			return mechanism.Further{Attempts: h.Max, After: h.After, Parallel: h.Parallel}
		},
	}
}
