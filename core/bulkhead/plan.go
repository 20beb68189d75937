package bulkhead

import "github.com/sluice-go/sluice/core/planwire"

// Plan codes the settings for plan bytes, in the order of the row.
func Plan(c *Config, v *planwire.Coder) {
	v.Count("concurrent", &c.Concurrent)
	v.Count("queue", &c.Queue)
	v.Duration("wait", &c.Wait)
	v.Word("order", (*uint8)(&c.Order))
	v.Duration("lease", &c.Lease)
	v.Text("cost", &c.Cost.Attribute)
	v.Count("cost", &c.Cost.Permits)
}
