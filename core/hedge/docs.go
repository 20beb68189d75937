package hedge

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:     "Starts another attempt while one still runs, and takes the first good result. At most one a policy, below the retry.",
		Examples:  []string{`{"after":"200ms"}`, `{"after":"p95","budget":"10%"}`},
		Settings:  declared(),
		Relations: relations(),
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
