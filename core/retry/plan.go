package retry

import (
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/planwire"
)

// Plan codes the settings for plan bytes, in the order of the row. To a retry the
// budget none is that of a retry without one.
func Plan(c *Config, v *planwire.Coder) {
	v.Count("attempts", &c.Attempts)
	backoff.Plan(&c.Backoff, v, "backoff")
	backoff.PlanJitter(&c.Backoff, v, "jitter")
	v.Duration("max_elapsed", &c.MaxElapsed)
	v.Word("refusals", (*uint8)(&c.Refusals))
	var none bool
	budget.Plan(&c.Budget, v, &c.Budgeted, &none)
}
