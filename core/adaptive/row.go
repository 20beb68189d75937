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
		Kind:     mechanism.Adaptive,
		Traits:   Traits,
		Like:     "maximum",
		Form:     "a map of settings",
		Settings: settings(),
		New:      func() mechanism.Draft { return &draft{} },
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

// Check compares the settings with each other and with their defaults.
func (d *draft) Check(g mechanism.Given) { d.compare(g) }
