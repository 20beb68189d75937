package hedge

import "github.com/sluice-go/sluice/core/mechanism"

// Kind returns mechanism.Hedge.
func (Config) Kind() mechanism.Kind { return mechanism.Hedge }

// Traits are those of the mechanism.
const Traits = mechanism.Hedges | mechanism.Observes | mechanism.Keyed

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:     mechanism.Hedge,
		Traits:   Traits,
		Like:     "after",
		Form:     "a map of settings",
		Below:    mechanism.Retry,
		Settings: settings(),
		New:      func() mechanism.Draft { return &draft{} },
		Stateless: func(c mechanism.Config) string {
			if h := c.(Config); h.Budgeted || h.Percentile.Positive() {
				return ""
			}
			return "on a hedge without a percentile or a budget, which keeps no state"
		},
	}
}

// Facts are what programs that run the mechanism need to know.
func Facts() *mechanism.Facts {
	return &mechanism.Facts{
		Envoy: "hedge_policy of an Envoy route hedges requests",
	}
}

func (d *draft) Check(g mechanism.Given) {
	c := &d.c
	switch {
	case c.Parallel:
		g.Refuse("after", "beside parallel", "or parallel, not both")
	case !g.Has("after"):
		g.Need("after", "a duration as in 200ms, or a percentile as in p95; or parallel: true")
	}
	if !c.Percentile.Positive() {
		if c.Parallel || !g.Has("after") || g.Whole("after") {
			g.Refuse("samples", "without a percentile", "beside a percentile as in after: p95")
			g.Refuse("minimum", "without a percentile", "beside a percentile as in after: p95")
		}
		c.Samples, c.Minimum = 0, 0
	}
	d.compare(g)
}
