package bulkhead

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:     "Admits no more at once than it has places.",
		Examples:  []string{`5`, `{"concurrent":5,"queue":100,"wait":"5s"}`},
		Settings:  declared(),
		Relations: relations(),
		Schema: `{
	"allOf": [
		{
			"if": {"required": ["wait"], "properties": {"wait": {"type": "string", "pattern": "^[^1-9]*$"}}},
			"then": {"properties": {"queue": {"const": 0}, "order": false}}
		},
		{
			"if": {"required": ["wait"], "properties": {"wait": {"not": {"type": "string", "pattern": "^[^1-9]*$"}}}},
			"then": {"properties": {"queue": {"minimum": 1}}}
		},
		{
			"if": {"required": ["order"]},
			"then": {"anyOf": [{"required": ["wait"]}, {"required": ["queue"], "properties": {"queue": {"minimum": 1}}}]}
		}
	]
}`,
		Draft:    func(c mechanism.Config) mechanism.Draft { return &draft{c.(Config)} },
		Describe: describe,
		Rank:     4,
		Adjust:   adjust,
		Lint:     lint,
		Concurrent: func(c mechanism.Config) (uint64, bool) {
			b := c.(Config)
			most := b.Concurrent
			if b.Cost.Attribute == "" {
				most /= max(1, b.Cost.Permits)
			}
			return uint64(most), b.Lease == 0
		},
	}
}
