package bulkhead

import (
	"time"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
)

// MaxConcurrent is the most places of a bulkhead.
const MaxConcurrent = 1_000_000

// Config is the configuration of a bulkhead.
type Config struct {
	// Concurrent calls, 1 to MaxConcurrent.
	Concurrent uint32
	// Queue is the most callers that may wait, 0 to limiter.MaxQueue.
	Queue uint32
	// Wait is the longest that a caller may wait; 0 for no limit but the caller's
	// own.
	Wait time.Duration
	// Order in which waiters are served.
	Order limiter.Order
	// Lease frees the places of a holder that neither released nor renewed them
	// for so long. 0 for none.
	Lease time.Duration
	// Cost of a call at a step of a pipeline, in places: 1 to Concurrent, and at least 1
	// where an attribute has it. Default: one place, whatever the call names. The
	// machine ignores it: its actions have their costs.
	Cost limiter.Cost
}

// declared are the settings of documents. make generate writes settings_gen.go from them.
func declared() []mechanism.Doc {
	return []mechanism.Doc{
		{
			Name: "concurrent", Is: mechanism.Setting{Type: mechanism.Count, Least: 1, Most: MaxConcurrent, Required: true, Says: "how many may run at once"}, Field: "Concurrent",
			Effect: mechanism.Looser, Type: "number of places", Example: "concurrent: 5",
			Meaning: "how many attempts may run at once",
			Larger:  "more load on the dependency, more throughput up to its limit",
			Smaller: "less load; calls wait or are refused sooner",
		},
		{
			Name: "queue", Is: mechanism.Setting{Type: mechanism.Count, Most: limiter.MaxQueue}, Field: "Queue",
			Effect: mechanism.Looser, Type: "number of calls", Default: "0; 100 beside a `wait`", Example: "queue: 20",
			Meaning: "the most waiting calls",
			Larger:  "fewer refusals, longer waits",
			Smaller: "calls are refused as `full` sooner",
		},
		{
			Name: "wait", Is: mechanism.Setting{Type: mechanism.Duration}, Field: "Wait",
			Effect: mechanism.Looser, Default: "none: as long as the caller waits", Example: "wait: 5s",
			Meaning: "the longest wait for a place; `0s` for no waiting",
			Larger:  "fewer refusals, longer calls",
			Smaller: "refusals come sooner",
		},
		{
			Name: "order", Is: mechanism.Setting{Type: mechanism.Word, Words: limiter.Orders}, Field: "Order", With: "queue",
			Note: "needs a queue", Value: `"oldest"`, Example: "order: newest",
			Meaning: "which waiting call is served next",
		},
		{
			Name: "lease", Is: mechanism.Setting{Type: mechanism.Duration, Least: 1}, Field: "Lease",
			Example: "lease: 1m",
			Meaning: "a place that was neither released nor renewed for this long is free again",
			Larger:  "a lost holder blocks its place longer",
			Smaller: "a slow holder loses its place while it still runs",
		},
		{
			Name: "cost", Is: mechanism.Setting{Type: mechanism.Cost, Least: 1, Most: MaxConcurrent}, Field: "Cost",
			Effect: mechanism.Tighter, Type: "number of places, `header:NAME`, `cookie:NAME`, `query:NAME`, or [both](#places)",
			Range: "1 to `concurrent`", Default: "1", Example: "cost: header:x-size",
			Meaning: "how many places a call takes",
			Larger:  "a call takes more of the bulkhead, and fewer run at once",
			Smaller: "more calls run at once",
		},
	}
}

// relations between the settings.
func relations() []mechanism.Relation {
	return []mechanism.Relation{
		{Setting: "cost", Op: mechanism.AtLeast, Than: "1", Says: "a default of 1 or more: each call takes a place", Document: true},
		{Setting: "cost", Op: mechanism.AtMost, Than: "concurrent", Says: "a cost, also as a default, of at most concurrent; a greater one is always refused"},
	}
}
