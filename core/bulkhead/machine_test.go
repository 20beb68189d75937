package bulkhead_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestScripts(t *testing.T) {
	script.Run(t, "testdata", script.Spec[bulkhead.State]{
		New: func(a *script.Args) (reducer.Cell[bulkhead.State], error) {
			c := bulkhead.Config{
				Concurrent: a.Count32("concurrent", 0),
				Queue:      a.Count32("queue", 0),
				Wait:       a.Duration("wait", 0),
				Lease:      a.Duration("lease", 0),
				Order:      limiter.Order(a.Count32("order", 0)),
			}
			if a.Is("newest") {
				c.Order = limiter.Newest
			}
			return bulkhead.New(c)
		},
	})
}
