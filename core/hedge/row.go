package hedge

import "github.com/sluice-go/sluice/core/mechanism"

// Kind returns mechanism.Hedge.
func (Config) Kind() mechanism.Kind { return mechanism.Hedge }

// Traits are those of the mechanism.
const Traits = mechanism.Hedges | mechanism.Observes | mechanism.Keyed

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:   mechanism.Hedge,
		Traits: Traits,
		Like:   "after",
		Form:   "a map of settings",
		Below:  mechanism.Retry,
		Settings: []mechanism.Setting{
			{Name: "after", Type: mechanism.Delay},
			{Name: "max", Type: mechanism.Count, Least: 1, Most: MaxHedges},
			{Name: "parallel", Type: mechanism.Bool},
			{Name: "samples", Type: mechanism.Count, Least: 1, Most: MaxSamples},
			{Name: "minimum", Type: mechanism.Count, Least: 1, Most: MaxSamples},
			{Name: "budget", Type: mechanism.Budget},
			{Name: "methods", Type: mechanism.Methods},
		},
		New: func() mechanism.Draft { return &draft{} },
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

type draft struct{ c Config }

func (d *draft) Field(name string) any {
	switch name {
	case "after":
		return mechanism.DelayField{Duration: &d.c.After, Percentile: &d.c.Percentile}
	case "max":
		return &d.c.Max
	case "parallel":
		return &d.c.Parallel
	case "samples":
		return &d.c.Samples
	case "minimum":
		return &d.c.Minimum
	}
	return &d.c.Budget
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
	c.Budgeted = g.Has("budget") && !g.None("budget")
	c.Unbudgeted = g.None("budget")
	*c = c.WithDefaults()
	if g.Whole("minimum") && (!g.Has("samples") || g.Whole("samples")) && c.Minimum > c.Samples {
		g.Wrong("minimum", "at most the samples, "+mechanism.Number(c.Samples))
	}
}

func (d *draft) Config() mechanism.Config { return d.c }
