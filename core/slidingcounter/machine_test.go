package slidingcounter_test

import (
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/slidingcounter"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Spec[slidingcounter.State]{
		New: func(a *script.Args) (reducer.Cell[slidingcounter.State], error) {
			count, period := a.Rate("rate")
			return slidingcounter.New(slidingcounter.Config{Count: count, Period: period})
		},
		Adopt: func(s slidingcounter.State, from, to reducer.Cell[slidingcounter.State], now clock.Mark, _ *reducer.Out) slidingcounter.State {
			return to.(*slidingcounter.Machine).Adopt(s, from.(*slidingcounter.Machine), now)
		},
	})
}
