package breaker_test

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

// The same stories are told by both machines; those of testdata/large need one
// that is not small.
func TestScripts(t *testing.T) { script.Run(t, "testdata", small) }

func TestScriptsLarge(t *testing.T) {
	script.Run(t, "testdata", large)
	script.Run(t, "testdata/large", large)
}

var modes = func() (names []string) {
	for m := breaker.Closed; m <= breaker.MetricsOnly; m++ {
		names = append(names, m.String())
	}
	return names
}()

var small = script.Spec[breaker.State]{
	Modes: modes,
	New: func(a *script.Args) (reducer.Cell[breaker.State], error) {
		return breaker.New(settings(a))
	},
	Adopt: func(s breaker.State, from, to reducer.Cell[breaker.State], now clock.Mark, out *reducer.Out) breaker.State {
		old := s.Words
		to.(*breaker.Machine).Adopt(&s.Core, s.Words[:], old[:], from.(*breaker.Machine).Config(), now, out)
		return s
	},
}

var large = script.Spec[breaker.LargeState]{
	Modes: modes,
	New: func(a *script.Args) (reducer.Cell[breaker.LargeState], error) {
		return breaker.NewLarge(settings(a))
	},
	Adopt: func(s breaker.LargeState, from, to reducer.Cell[breaker.LargeState], now clock.Mark, out *reducer.Out) breaker.LargeState {
		m, old := to.(*breaker.Large), s.Words
		s.Words = make([]uint64, max(m.Words(), int(s.Out)))
		m.Adopt(&s.Core, s.Words, old, from.(*breaker.Large).Config(), now, out)
		return s
	},
}

// settings reads window=calls:10, window=time:10s/5 or window=consecutive:3, and
// the other settings by the names of the policy document.
func settings(a *script.Args) breaker.Config {
	c := breaker.Config{
		Minimum:     a.Count32("minimum", 0),
		FailureRate: a.Share("failure_rate"),
		SlowOver:    a.Duration("slow", 0),
		SlowRate:    a.Share("slow_rate"),
		Open:        a.Backoff("open"),
		Probes:      a.Count32("probes", 1),
		HalfOpenMax: a.Duration("half_open_max", 0),
	}
	window, _ := a.Text("window")
	kind, size, _ := strings.Cut(window, ":")
	parts := script.NewArgs(nil, "window", "count="+size)
	switch kind {
	case "time":
		span, buckets, _ := strings.Cut(size, "/")
		parts = script.NewArgs(nil, "window", "count="+buckets+" span="+span)
		c.Window, c.Span = breaker.Time, parts.Duration("span", 0)
	case "consecutive":
		c.Window = breaker.Consecutive
	case "none":
		c.Window = breaker.Consecutive + 1
	}
	c.Count = parts.Count32("count", 0)
	return c
}
