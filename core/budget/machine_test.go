package budget_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Spec[budget.State]{
		New: func(a *script.Args) (reducer.Cell[budget.State], error) {
			c := budget.Config{Ratio: a.Share("ratio"), Window: a.Duration("window", 0)}
			c.MinimumCount, c.MinimumPeriod = a.Rate("minimum")
			return budget.New(c)
		},
	})
}
