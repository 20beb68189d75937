package breaker_test

import (
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Spec[breaker.State]{
		New: func(a *script.Args) (reducer.Cell[breaker.State], error) { return breaker.New(settings(a)) },
		Modes: func() (names []string) {
			for m := breaker.Closed; m <= breaker.MetricsOnly; m++ {
				names = append(names, m.String())
			}
			return names
		}(),
	})
}

// settings reads window=calls:10, window=time:10s/5, window=consecutive:3, and
// the other settings by the names of the policy document.
func settings(a *script.Args) breaker.Config {
	c := breaker.Config{
		Minimum:     a.Count32("minimum", 0),
		Forget:      a.Duration("forget", 0),
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
