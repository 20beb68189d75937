package limiter

import "github.com/sluice-go/sluice/core/internal/planwire"

// Plan codes the settings for plan bytes, in the order of the row.
func (c *Config) Plan(v *planwire.Coder) {
	v.Word("algorithm", (*uint8)(&c.Algorithm))
	v.Count("rate", &c.Count)
	v.Duration("rate", &c.Period)
	v.Count("burst", &c.Burst)
	v.Duration("wait", &c.Wait)
	v.Count("queue", &c.Queue)
	v.Word("order", (*uint8)(&c.Order))
	v.Text("cost", &c.Cost.Attribute)
	v.Count("cost", &c.Cost.Permits)
	v.Word("charge", (*uint8)(&c.Charge))
	v.Word("counts", (*uint8)(&c.Counts))
}
