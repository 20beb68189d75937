package chaos

import (
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// Kind returns mechanism.Chaos.
func (Config) Kind() mechanism.Kind { return mechanism.Chaos }

// Traits are those of the mechanism.
const Traits = mechanism.Injects

// Row says what the mechanism is.
func Row() *mechanism.Row {
	const rate = "a share as in 10%, 0% for none"
	return &mechanism.Row{
		Kind:   mechanism.Chaos,
		Traits: Traits,
		Form:   "a map of fail, throttle, ignore and slow",
		Settings: []mechanism.Setting{
			{Name: "fail", Type: mechanism.Chance},
			{Name: "throttle", Type: mechanism.Map, Says: "a map of rate and retry_after", Parts: []mechanism.Setting{
				{Name: "rate", Type: mechanism.Chance, Required: true, Says: rate},
				{Name: "retry_after", Type: mechanism.Duration, Least: 1},
			}},
			{Name: "ignore", Type: mechanism.Chance},
			{Name: "slow", Type: mechanism.Map, Says: "a map of rate, by and to", Parts: []mechanism.Setting{
				{Name: "rate", Type: mechanism.Chance, Required: true, Says: rate},
				{Name: "by", Type: mechanism.Duration, Least: 1, Required: true},
				{Name: "to", Type: mechanism.Duration, Least: 1},
			}},
		},
		New:       func() mechanism.Draft { return &draft{} },
		Stateless: func(mechanism.Config) string { return "on a chaos, which keeps no state" },
	}
}

// Facts are what programs that run the mechanism need to know.
func Facts() *mechanism.Facts {
	return &mechanism.Facts{
		Envoy: "the filter fault of Envoy injects delays and aborts",
	}
}

type draft struct{ c Config }

func (d *draft) Field(name string) any {
	switch name {
	case "fail":
		return &d.c.Fail
	case "throttle.rate":
		return &d.c.Throttle
	case "throttle.retry_after":
		return &d.c.RetryAfter
	case "ignore":
		return &d.c.Ignore
	case "slow.rate":
		return &d.c.Slow
	case "slow.by":
		return &d.c.By
	}
	return &d.c.To
}

func (d *draft) Check(g mechanism.Given) {
	if !g.Has("fail") && !g.Has("throttle") && !g.Has("ignore") && !g.Has("slow") {
		g.Need("fail", "a share as in 5%; or throttle, ignore or slow")
	}
	results := uint32(0)
	for _, name := range [...]string{"fail", "throttle.rate", "ignore"} {
		if !g.Whole(name) {
			continue
		}
		if results += d.Field(name).(*reducer.Share).Millionths(); results > reducer.Whole {
			g.Wrong(name, "a share that makes at most 100% with fail, throttle and ignore together")
			break
		}
	}
	if g.Whole("slow.by") && g.Whole("slow.to") && d.c.To < d.c.By {
		g.Wrong("slow.to", "a duration of at least by")
	}
}

func (d *draft) Config() mechanism.Config { return d.c }
