package retry

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:    "Repeats what failed.",
		Examples: []string{`3`, `{"attempts":3,"backoff":{"exponential":"500ms","factor":2,"max":"1m"},"jitter":"full","budget":"20%"}`},
		Settings: []mechanism.Doc{
			{
				Name: "attempts", Effect: mechanism.Looser, Value: `3`, Example: "attempts: 5",
				Meaning: "attempts in all, the first included: 3 attempts are 2 retries. In a policy with a hedge: rounds. [Only the start](#retries) of an attempt must be before the deadline",
				Larger:  "survives longer faults; multiplies the load on a dependency that fails",
				Smaller: "less load, more errors for the caller",
			},
			{
				Name: "backoff", Effect: mechanism.Tighter, Value: `{"exponential":"500ms","factor":2,"max":"1m"}`, Example: "backoff: {constant: 1s}",
				Meaning: "the delay between the end of an attempt and the start of the next",
				Larger:  "the dependency has time to recover; calls take longer",
				Smaller: "shorter calls; more load while the dependency fails",
			},
			{
				Name: "jitter", Value: `"full"`, Default: "`full`; `none` beside `backoff: none` and `decorrelated`, which take no other", Example: "jitter: 20%",
				Meaning: "the random part of the delay d: `full` draws from 0 to d, `equal` from d/2 to d, `20%` from d - 20% to d + 20%",
				Larger:  "retries of many callers spread further",
				Smaller: "the delay is predictable; retries of many callers coincide",
			},
			{
				Name: "max_elapsed", Effect: mechanism.Looser, Example: "max_elapsed: 10s",
				Meaning: "no attempt starts that long or longer [after the call reached the retry](#retries). An attempt that runs goes on; a `timeout` above cuts it",
				Larger:  "survives longer faults",
				Smaller: "the caller learns of a failure sooner",
			},
			{
				Name: "refusals", Value: `"end"`, Example: "refusals: wait",
				Meaning: "what a refusal by a step below the retry does to the call: `end` ends it; `wait` [waits](#refusals-that-are-waited-for) for the refusal's `retry_after`, uses up one of the `attempts`, and repeats no request",
			},
			{
				Name: "budget", Effect: mechanism.Looser, Value: `"none"`, Example: "budget: 20%",
				Meaning: "how many retries all calls of the step may have together",
			},
			{
				Name: "methods", Effect: mechanism.Looser, Value: `["GET","HEAD","PUT","DELETE","OPTIONS","TRACE"]`, Example: "methods: [GET]",
				Meaning: "the methods that HTTP runtimes repeat",
			},
		},
		Schema: `{
	"allOf": [
		{
			"if": {"required": ["backoff"], "properties": {"backoff": {"anyOf": [{"const": "none"}, {"type": "object", "required": ["decorrelated"]}]}}},
			"then": {"properties": {"jitter": {"const": "none"}}}
		},
		{
			"if": {"anyOf": [{"required": ["per"]}, {"required": ["scope"]}]},
			"then": {"required": ["budget"], "properties": {"budget": {"not": {"const": "none"}}}}
		}
	]
}`,
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Rank:     1,
		Further: func(c mechanism.Config) mechanism.Further {
			r := c.(Config)
			return mechanism.Further{Attempts: r.Attempts, Elapsed: r.MaxElapsed, WaitsRefused: r.Refusals == WaitRefused}
		},
	}
}
