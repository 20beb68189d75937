package hedge

import (
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/planwire"
)

// Plan codes the settings for plan bytes, in the order of the row.
func Plan(c *Config, v *planwire.Coder) {
	v.Duration("after", &c.After)
	v.Share("after", &c.Percentile)
	v.Count("max", &c.Max)
	v.Flag("parallel", &c.Parallel)
	v.Count("samples", &c.Samples)
	v.Count("minimum", &c.Minimum)
	budget.Plan(&c.Budget, v, &c.Budgeted, &c.Unbudgeted)
}
