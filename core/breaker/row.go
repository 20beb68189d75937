package breaker

import (
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// Kind returns mechanism.Breaker.
func (Config) Kind() mechanism.Kind { return mechanism.Breaker }

// Traits are those of the mechanism.
const Traits = mechanism.Asks | mechanism.Votes | mechanism.Modes | mechanism.Keyed

// Row says what the mechanism is.
func Row() *mechanism.Row {
	return &mechanism.Row{
		Kind:   mechanism.Breaker,
		Traits: Traits,
		Form:   "a map of settings; {} takes every default",
		Settings: []mechanism.Setting{
			{Name: "window", Type: mechanism.OneOf, Says: "one of {calls: n}, {time: d, buckets: n} or {consecutive: n, forget: d}", Parts: []mechanism.Setting{
				{Name: "calls", Type: mechanism.Count, Least: 1, Most: MaxCalls, Variant: true},
				{Name: "time", Type: mechanism.Duration, Least: 1, Variant: true},
				{Name: "buckets", Type: mechanism.Count, Least: 1, Most: MaxBuckets},
				{Name: "consecutive", Type: mechanism.Count, Least: 1, Most: MaxCalls, Variant: true},
				{Name: "forget", Type: mechanism.Duration, Least: 1},
			}},
			{Name: "minimum", Type: mechanism.Count, Least: 1, Most: MaxCalls},
			{Name: "failure_rate", Type: mechanism.Share},
			{Name: "slow", Type: mechanism.Map, Says: "a map of over, and of rate or consecutive", Parts: []mechanism.Setting{
				{Name: "over", Type: mechanism.Duration, Least: 1, Required: true},
				{Name: "rate", Type: mechanism.Share, Required: true, Says: "a share as in 80%, or consecutive", Or: "consecutive"},
				{Name: "consecutive", Type: mechanism.Count, Least: 1, Most: MaxCalls},
			}},
			{Name: "open", Type: mechanism.OpenTime},
			{Name: "probes", Type: mechanism.Count, Least: 1, Most: MaxProbes},
			{Name: "successes", Type: mechanism.Count, Least: 1, Most: MaxProbes},
			{Name: "half_open_max", Type: mechanism.Duration},
			{Name: "initial", Type: mechanism.Word, Words: "closed open half-open forced-open forced-closed metrics-only"},
			{Name: "obey_retry_after", Type: mechanism.Duration, Least: 1},
			{Name: "ramp", Type: mechanism.Map, Says: "a map of over and from", Parts: []mechanism.Setting{
				{Name: "over", Type: mechanism.Duration, Least: 1, Required: true},
				{Name: "from", Type: mechanism.Share},
			}},
		},
		New: func() mechanism.Draft { return &draft{} },
	}
}

// Facts are what programs that run the mechanism need to know.
func Facts() *mechanism.Facts {
	return &mechanism.Facts{
		Reasons: []reducer.Reason{reducer.ReasonOpen, reducer.ReasonProbes},
		Slow:    func(c mechanism.Config) time.Duration { return c.(Config).SlowOver },
	}
}

type draft struct{ c Config }

func (d *draft) Field(name string) any {
	switch name {
	case "window.calls", "window.buckets", "window.consecutive":
		return &d.c.Count
	case "window.time":
		return &d.c.Span
	case "window.forget":
		return &d.c.Forget
	case "minimum":
		return &d.c.Minimum
	case "failure_rate":
		return &d.c.FailureRate
	case "slow.over":
		return &d.c.SlowOver
	case "slow.rate":
		return &d.c.SlowRate
	case "slow.consecutive":
		return &d.c.SlowConsecutive
	case "open":
		return &d.c.Open
	case "probes":
		return &d.c.Probes
	case "successes":
		return &d.c.Successes
	case "initial":
		return (*uint8)(&d.c.Initial)
	case "obey_retry_after":
		return &d.c.ObeyRetryAfter
	case "ramp.over":
		return &d.c.RampOver
	case "ramp.from":
		return &d.c.RampFrom
	}
	return &d.c.HalfOpenMax
}

func (d *draft) Check(g mechanism.Given) {
	c := &d.c
	whole := !g.Has("window") || g.Whole("window")
	switch {
	case g.Has("window.consecutive"):
		c.Window = Consecutive
		for _, name := range [...]string{"minimum", "failure_rate", "slow.rate"} {
			g.Refuse(name, "beside a window of consecutive failures", "beside a window of calls or time")
		}
		c.Minimum, c.FailureRate, c.SlowRate = 0, reducer.Share{}, reducer.Share{}
	case g.Has("window.time"):
		c.Window = Time
	}
	*c = c.WithDefaults()
	if g.Whole("ramp.from") && c.RampFrom.Millionths() == reducer.Whole {
		g.Wrong("ramp.from", "more than 0% and less than 100%")
	}
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
