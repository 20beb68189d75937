package bulkhead

import "github.com/sluice-go/sluice/core/mechanism"

// Docs are the texts for people.
func Docs() *mechanism.Docs {
	return &mechanism.Docs{
		Means:    "Admits no more at once than it has places.",
		Examples: []string{`5`, `{"concurrent":5,"queue":100,"wait":"5s"}`},
		Settings: []mechanism.Doc{
			{
				Name: "concurrent", Effect: mechanism.Looser, Type: "number of places", Example: "concurrent: 5",
				Meaning: "how many attempts may run at once",
				Larger:  "more load on the dependency, more throughput up to its limit",
				Smaller: "less load; calls wait or are refused sooner",
			},
			{
				Name: "queue", Effect: mechanism.Looser, Type: "number of calls", Default: "0; 100 beside a `wait`", Example: "queue: 20",
				Meaning: "the most waiting calls",
				Larger:  "fewer refusals, longer waits",
				Smaller: "calls are refused as `full` sooner",
			},
			{
				Name: "wait", Effect: mechanism.Looser, Default: "none: as long as the caller waits", Example: "wait: 5s",
				Meaning: "the longest wait for a place; `0s` for no waiting",
				Larger:  "fewer refusals, longer calls",
				Smaller: "refusals come sooner",
			},
			{
				Name: "order", Note: "needs a queue", Value: `"oldest"`, Example: "order: newest",
				Meaning: "which waiting call is served next",
			},
			{
				Name: "lease", Example: "lease: 1m",
				Meaning: "a place that was neither released nor renewed for this long is free again",
				Larger:  "a lost holder blocks its place longer",
				Smaller: "a slow holder loses its place while it still runs",
			},
			{
				Name: "cost", Effect: mechanism.Tighter, Type: "number of places, `header:NAME`, `cookie:NAME`, `query:NAME`, or [both](#places)",
				Range: "1 to `concurrent`", Default: "1", Example: "cost: header:x-size",
				Meaning: "how many places a call takes",
				Larger:  "a call takes more of the bulkhead, and fewer run at once",
				Smaller: "more calls run at once",
			},
		},
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
