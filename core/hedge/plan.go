package hedge

import "github.com/sluice-go/sluice/core/internal/planwire"

// Plan codes the settings for plan bytes, in the order of the row.
func (c *Config) Plan(v *planwire.Coder) {
	v.Duration("after", &c.After)
	v.Share("after", &c.Percentile)
	v.Count("max", &c.Max)
	v.Flag("parallel", &c.Parallel)
	v.Count("samples", &c.Samples)
	v.Count("minimum", &c.Minimum)
	c.Budget.Plan(v, &c.Budgeted, &c.Unbudgeted)
}
