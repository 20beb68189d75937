package retry

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:    "Repeats what failed.",
		Examples: []string{`3`, `{"attempts":3,"backoff":{"exponential":"500ms","factor":2,"max":"1m"},"jitter":"full","budget":"20%"}`},
		Settings: declared(),
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
