package quota

import "github.com/sluice-go/sluice/core/planwire"

// Plan codes the settings for plan bytes, in the order of the row.
func Plan(c *Config, v *planwire.Coder) { v.Count("calls", &c.Calls) }
