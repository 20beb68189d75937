package tokenbucket_test

import (
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Spec[tokenbucket.State]{
		New: func(a *script.Args) (reducer.Cell[tokenbucket.State], error) {
			count, period := a.Rate("rate")
			return tokenbucket.New(tokenbucket.Config{Count: count, Period: period, Burst: a.Count32("burst", 0)})
		},
		Adopt: func(s tokenbucket.State, from, to reducer.Cell[tokenbucket.State], now clock.Mark, _ *reducer.Out) tokenbucket.State {
			return to.(*tokenbucket.Machine).Adopt(s, from.(*tokenbucket.Machine), now)
		},
		Permit: func(c reducer.Cell[tokenbucket.State], p reducer.Permit) string {
			if at := c.(*tokenbucket.Machine).ReadyAt(p); at > p.Mark {
				return ", usable at " + at.String()
			}
			return ""
		},
	})
}
