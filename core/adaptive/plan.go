package adaptive

import "github.com/sluice-go/sluice/core/planwire"

// Plan codes the settings for plan bytes, in the order of the row.
func Plan(c *Config, v *planwire.Coder) {
	v.Count("initial", &c.Initial)
	v.Count("minimum", &c.Minimum)
	v.Count("maximum", &c.Maximum)
	v.Count("increase", &c.Increase)
	v.Share("decrease", &c.Decrease)
	v.Share("tolerance", &c.Tolerance)
	v.Duration("over", &c.Over)
	v.Share("over", &c.OverShare)
	v.Duration("lease", &c.Lease)
	v.Text("cost", &c.Cost.Attribute)
	v.Count("cost", &c.Cost.Permits)
}
