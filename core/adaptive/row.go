package adaptive

import (
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// Kind returns mechanism.Adaptive.
func (Config) Kind() mechanism.Kind { return mechanism.Adaptive }

// Traits are those of the mechanism.
const Traits = mechanism.Asks | mechanism.Holds | mechanism.Leases | mechanism.Observes | mechanism.Keyed

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:   mechanism.Adaptive,
		Traits: Traits,
		Like:   "maximum",
		Form:   "a map of settings",
		Settings: []mechanism.Setting{
			{Name: "initial", Type: mechanism.Count, Least: 1, Most: MaxLimit},
			{Name: "minimum", Type: mechanism.Count, Least: 1, Most: MaxLimit},
			{Name: "maximum", Type: mechanism.Count, Least: 1, Most: MaxLimit},
			{Name: "increase", Type: mechanism.Count, Least: 1, Most: MaxIncrease},
			{Name: "decrease", Type: mechanism.Share},
			{Name: "tolerance", Type: mechanism.Share},
			{Name: "over", Type: mechanism.Bound},
			{Name: "lease", Type: mechanism.Duration, Least: 1},
			{Name: "cost", Type: mechanism.Cost, Least: 1, Most: MaxLimit},
		},
		New: func() mechanism.Draft { return &draft{} },
	}
}

// Facts are what programs that run the mechanism need to know.
func Facts() *mechanism.Facts {
	return &mechanism.Facts{
		Reasons: []reducer.Reason{reducer.ReasonFull},
		Lease:   func(c mechanism.Config) time.Duration { return c.(Config).Lease },
		Envoy:   "the filter adaptive_concurrency of Envoy adapts a limit of concurrent requests",
	}
}

type draft struct{ c Config }

func (d *draft) Field(name string) any {
	switch name {
	case "initial":
		return &d.c.Initial
	case "minimum":
		return &d.c.Minimum
	case "maximum":
		return &d.c.Maximum
	case "increase":
		return &d.c.Increase
	case "decrease":
		return &d.c.Decrease
	case "tolerance":
		return &d.c.Tolerance
	case "lease":
		return &d.c.Lease
	case "cost":
		return mechanism.CostField{Attribute: &d.c.Cost.Attribute, Permits: &d.c.Cost.Permits}
	}
	return mechanism.BoundField{Duration: &d.c.Over, Share: &d.c.OverShare}
}

// Check checks the cost of none, fills in the defaults and compares the limits with each
// other, and the cost with them.
func (d *draft) Check(g mechanism.Given) {
	none := g.Whole("cost") && d.c.Cost.Permits == 0
	if none {
		g.Wrong("cost", "a default of 1 or more: each call takes a place")
	}
	if g.Whole("tolerance") && d.c.Tolerance.Millionths() > MaxTolerance {
		g.Wrong("tolerance", "at most 50%: a limit whose calls are cut must fall")
	}
	for _, name := range [...]string{"initial", "minimum", "maximum"} {
		if g.Has(name) && !g.Whole(name) {
			return
		}
	}
	d.c = d.c.WithDefaults()
	switch c := &d.c; {
	case c.Minimum > c.Maximum:
		g.Wrong("minimum", "at most the maximum, "+mechanism.Number(c.Maximum))
	case c.Initial < c.Minimum:
		g.Wrong("initial", "at least the minimum, "+mechanism.Number(c.Minimum))
	case c.Initial > c.Maximum:
		g.Wrong("initial", "at most the maximum, "+mechanism.Number(c.Maximum))
	case g.Whole("cost") && !none && c.Cost.Permits > c.Maximum:
		g.Wrong("cost", "a cost, also as a default, of at most the maximum, "+mechanism.Number(c.Maximum)+"; a greater one is always refused")
	}
}

func (d *draft) Config() mechanism.Config { return d.c }
