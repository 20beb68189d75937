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
		Kind:     mechanism.Breaker,
		Traits:   Traits,
		Form:     "a map of settings; {} takes every default",
		Settings: settings(),
		New:      func() mechanism.Draft { return &draft{} },
	}
}

// Facts are what programs that run the mechanism need to know.
func Facts() *mechanism.Facts {
	return &mechanism.Facts{
		Reasons: []reducer.Reason{reducer.ReasonOpen, reducer.ReasonProbes},
		Slow:    func(c mechanism.Config) time.Duration { return c.(Config).SlowOver },
	}
}

// Check refuses what a window of consecutive failures takes no part of, and compares.
func (d *draft) Check(g mechanism.Given) {
	if c := &d.c; c.Window == Consecutive {
		for _, name := range [...]string{"minimum", "failure_rate", "slow.rate"} {
			g.Refuse(name, "beside a window of consecutive failures", "beside a window of calls or time")
		}
		c.Minimum, c.FailureRate, c.SlowRate = 0, reducer.Share{}, reducer.Share{}
	}
	d.compare(g)
}
