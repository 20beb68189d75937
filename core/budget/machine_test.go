package budget_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Spec[budget.State]{
		New: func(a *script.Args) (reducer.Cell[budget.State], error) {
			c := budget.Config{Ratio: a.Share("ratio"), Window: a.Duration("window", 0)}
			c.MinimumCount, c.MinimumPeriod = a.Rate("minimum")
			switch {
			case a.Has("tokens"):
				c = budget.Config{Rule: budget.Tokens, Tokens: a.Count32("tokens", 0), Retry: a.Count32("retry", 5), Timeout: a.Count32("timeout", 10), Refund: a.Count32("refund", 1)}
			case a.Has("adaptive"):
				c = budget.Config{Rule: budget.Adaptive, Window: a.Duration("adaptive", 0), OneAbove: a.Share("one_above"), TwoAbove: a.Share("two_above"), Wait: a.Duration("wait", 2*time.Second)}
			case a.Has("max_tokens"):
				c = budget.Config{Rule: budget.Throttle, Tokens: a.Count32("max_tokens", 0), TokenRatio: a.Share("token_ratio")}
			}
			return budget.New(c)
		},
	})
}
