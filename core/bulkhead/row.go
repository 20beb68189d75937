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
		Kind:     mechanism.Bulkhead,
		Traits:   Traits,
		Short:    "concurrent",
		Form:     "a number of places as in 5, or a map of settings",
		Settings: settings(),
		New:      func() mechanism.Draft { return &draft{} },
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

// Check checks queue, wait and order, then the cost. With a queue alone only the caller bounds
// its wait, and a wait needs a queue.
func (d *draft) Check(g mechanism.Given) {
	d.line(g)
	d.compare(g)
}

func (d *draft) line(g mechanism.Given) {
	c := &d.c
	if !mechanism.Readable(g, "wait", "queue") {
		return
	}
	if !g.Has("queue") && c.Wait > 0 {
		c.Queue = limiter.DefaultQueue
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
