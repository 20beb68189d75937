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
	return &mechanism.Row{
		Kind:      mechanism.Chaos,
		Traits:    Traits,
		Form:      "a map of fail, throttle, ignore and slow",
		Settings:  settings(),
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
	d.compare(g)
}
