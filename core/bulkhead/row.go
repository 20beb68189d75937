package bulkhead

import (
	"time"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// Kind returns mechanism.Bulkhead.
func (Config) Kind() mechanism.Kind { return mechanism.Bulkhead }

// Traits are those of the mechanism.
const Traits = mechanism.Asks | mechanism.Holds | mechanism.Leases | mechanism.Keyed

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:   mechanism.Bulkhead,
		Traits: Traits,
		Short:  "concurrent",
		Form:   "a number of places as in 5, or a map of settings",
		Settings: []mechanism.Setting{
			{Name: "concurrent", Type: mechanism.Count, Least: 1, Most: MaxConcurrent, Required: true, Says: "how many may run at once"},
			{Name: "queue", Type: mechanism.Count, Most: limiter.MaxQueue},
			{Name: "wait", Type: mechanism.Duration},
			{Name: "order", Type: mechanism.Word, Words: limiter.Orders},
			{Name: "lease", Type: mechanism.Duration, Least: 1},
			{Name: "cost", Type: mechanism.Cost, Least: 1, Most: MaxConcurrent},
		},
		New: func() mechanism.Draft { return &draft{} },
	}
}

// Facts are what programs that run the mechanism need to know.
func Facts() *mechanism.Facts {
	return &mechanism.Facts{
		Reasons: []reducer.Reason{reducer.ReasonFull},
		Queue: func(c mechanism.Config) mechanism.Queue {
			b := c.(Config)
			return mechanism.Queue{Places: b.Queue, Wait: b.Wait, Newest: b.Order == limiter.Newest}
		},
		Lease: func(c mechanism.Config) time.Duration { return c.(Config).Lease },
	}
}

type draft struct{ c Config }

func (d *draft) Field(name string) any {
	switch name {
	case "concurrent":
		return &d.c.Concurrent
	case "queue":
		return &d.c.Queue
	case "wait":
		return &d.c.Wait
	case "order":
		return (*uint8)(&d.c.Order)
	case "cost":
		return mechanism.CostField{Attribute: &d.c.Cost.Attribute, Permits: &d.c.Cost.Permits}
	}
	return &d.c.Lease
}

// Check checks the cost, then queue, wait and order: with a queue alone only the caller
// bounds its wait, and a wait needs a queue.
func (d *draft) Check(g mechanism.Given) {
	c := &d.c
	switch {
	case !g.Whole("concurrent") || !g.Whole("cost"):
	case c.Cost.Permits == 0:
		g.Wrong("cost", "a default of 1 or more: each call takes a place")
	case c.Cost.Permits > c.Concurrent:
		g.Wrong("cost", "a cost, also as a default, of at most concurrent; a greater one is always refused")
	}
	if g.Has("wait") && !g.Whole("wait") || g.Has("queue") && !g.Whole("queue") {
		return
	}
	if !g.Has("queue") {
		*c = c.WithDefaults()
	}
	switch {
	case g.Has("wait") && c.Wait == 0 && c.Queue > 0:
		g.Refuse("queue", "beside a wait of nothing", "beside a wait of more than 0, or without wait")
	case c.Wait > 0 && c.Queue == 0:
		g.Refuse("wait", "beside a queue of 0", "beside a queue of 1 or more")
	}
	if c.Queue == 0 {
		g.Refuse("order", "without a queue", "beside a queue of 1 or more, or a wait")
		c.Order = limiter.Oldest
	}
}

func (d *draft) Config() mechanism.Config { return d.c }
