package retry

import "github.com/sluice-go/sluice/core/internal/planwire"

// Plan codes the settings for plan bytes, in the order of the row. To a retry the
// budget none is that of a retry without one.
func (c *Config) Plan(v *planwire.Coder) {
	v.Count("attempts", &c.Attempts)
	c.Backoff.Plan(v, "backoff")
	c.Backoff.PlanJitter(v, "jitter")
	v.Duration("max_elapsed", &c.MaxElapsed)
	v.Word("refusals", (*uint8)(&c.Refusals))
	var none bool
	c.Budget.Plan(v, &c.Budgeted, &none)
}
