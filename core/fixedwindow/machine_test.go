package fixedwindow_test

import (
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/fixedwindow"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Spec[fixedwindow.State]{
		New: func(a *script.Args) (reducer.Cell[fixedwindow.State], error) {
			count, period := a.Rate("rate")
			return fixedwindow.New(fixedwindow.Config{Count: count, Period: period})
		},
		Adopt: func(s fixedwindow.State, from, to reducer.Cell[fixedwindow.State], now clock.Mark, _ *reducer.Out) fixedwindow.State {
			return to.(*fixedwindow.Machine).Adopt(s, from.(*fixedwindow.Machine), now)
		},
	})
}
