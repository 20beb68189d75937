package breaker

import (
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
)

// Kind returns mechanism.Breaker.
func (Config) Kind() mechanism.Kind { return mechanism.Breaker }

// Traits are those of the mechanism.
const Traits = mechanism.Asks | mechanism.Votes | mechanism.Keyed

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:   mechanism.Breaker,
		Traits: Traits,
		Form:   "a map of settings; {} takes every default",
		Settings: []mechanism.Setting{
			{Name: "window", Type: mechanism.OneOf, Says: "one of {calls: n}, {time: d, buckets: n} or {consecutive: n}", Parts: []mechanism.Setting{
				{Name: "calls", Type: mechanism.Count, Least: 1, Most: MaxCalls, Variant: true},
				{Name: "time", Type: mechanism.Duration, Least: 1, Variant: true},
				{Name: "buckets", Type: mechanism.Count, Least: 1, Most: MaxBuckets},
				{Name: "consecutive", Type: mechanism.Count, Least: 1, Most: MaxCalls, Variant: true},
			}},
			{Name: "minimum", Type: mechanism.Count, Least: 1, Most: MaxCalls},
			{Name: "failure_rate", Type: mechanism.Share},
			{Name: "slow", Type: mechanism.Map, Says: "a map of over and rate", Parts: []mechanism.Setting{
				{Name: "over", Type: mechanism.Duration, Least: 1, Required: true},
				{Name: "rate", Type: mechanism.Share, Required: true, Says: "a share as in 80%"},
			}},
			{Name: "open", Type: mechanism.OpenTime},
			{Name: "probes", Type: mechanism.Count, Least: 1, Most: MaxProbes},
			{Name: "successes", Type: mechanism.Count, Least: 1, Most: MaxProbes},
			{Name: "half_open_max", Type: mechanism.Duration},
		},
		New: func() mechanism.Draft { return &draft{} },
	}
}

type draft struct{ c Config }

func (d *draft) Field(name string) any {
	switch name {
	case "window.calls", "window.buckets", "window.consecutive":
		return &d.c.Count
	case "window.time":
		return &d.c.Span
	case "minimum":
		return &d.c.Minimum
	case "failure_rate":
		return &d.c.FailureRate
	case "slow.over":
		return &d.c.SlowOver
	case "slow.rate":
		return &d.c.SlowRate
	case "open":
		return &d.c.Open
	case "probes":
		return &d.c.Probes
	case "successes":
		return &d.c.Successes
	}
	return &d.c.HalfOpenMax
}

func (d *draft) Check(g mechanism.Given) {
	c := &d.c
	whole := !g.Has("window") || g.Whole("window")
	switch {
	case g.Has("window.consecutive"):
		c.Window = Consecutive
		for _, name := range [...]string{"minimum", "failure_rate", "slow"} {
			g.Refuse(name, "beside a window of consecutive failures", "beside a window of calls or time")
		}
		*c = Config{Window: c.Window, Count: c.Count, Span: c.Span, Open: c.Open, Probes: c.Probes, Successes: c.Successes, HalfOpenMax: c.HalfOpenMax}
	case g.Has("window.time"):
		c.Window = Time
	}
	*c = c.WithDefaults()
	if g.Whole("successes") && (!g.Has("probes") || g.Whole("probes")) && c.Successes > c.Probes {
		g.Wrong("successes", "at most the probes, "+mechanism.Number(c.Probes))
	}
	switch {
	case whole && c.Window == Time && c.Span < time.Duration(c.Count):
		g.Wrong("window.time", "at least a nanosecond for each of the "+mechanism.Number(c.Count)+" buckets")
	case whole && g.Whole("minimum") && c.Window == Calls && c.Minimum > c.Count:
		g.Wrong("minimum", "at most the window's calls, "+mechanism.Number(c.Count))
	}
}

func (d *draft) Config() mechanism.Config { return d.c }
