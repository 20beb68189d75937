package timeout

import "github.com/sluice-go/sluice/core/planwire"

// Plan codes the settings for plan bytes, in the order of the row.
func Plan(c *Config, v *planwire.Coder) {
	v.Duration("after", &c.After)
	v.Duration("soft", &c.Soft)
}
