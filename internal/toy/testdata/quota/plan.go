package quota

import "github.com/sluice-go/sluice/core/internal/planwire"

// Plan codes the settings for plan bytes, in the order of the row.
func (c *Config) Plan(v *planwire.Coder) { v.Count("calls", &c.Calls) }
