package backoff

import "github.com/sluice-go/sluice/core/planwire"

// Plan codes a backoff without its jitter for plan bytes, under the name of its
// setting. Listed has its delays in place of the other values.
func Plan(c *Config, v *planwire.Coder, name string) {
	if v.Word(name, (*uint8)(&c.Kind)); c.Kind == Listed {
		c.Delays.plan(v, name)
		return
	}
	v.Duration(name, &c.Base)
	v.Count(name, (*uint32)(&c.Factor))
	v.Duration(name, &c.Max)
}

// PlanJitter codes the jitter of a backoff likewise.
func PlanJitter(c *Config, v *planwire.Coder, name string) {
	v.Word(name, (*uint8)(&c.Jitter))
	v.Share(name, &c.Share)
}
