package breaker

import "github.com/sluice-go/sluice/core/internal/planwire"

// Plan codes the settings for plan bytes, in the order of the row: of the window its
// kind and what belongs to that kind.
func (c *Config) Plan(v *planwire.Coder) {
	v.Word("window", (*uint8)(&c.Window))
	switch c.Window {
	case Time:
		v.Duration("window.time", &c.Span)
		v.Count("window.buckets", &c.Count)
	case Consecutive:
		v.Count("window.consecutive", &c.Count)
	default:
		v.Count("window.calls", &c.Count)
	}
	v.Count("minimum", &c.Minimum)
	v.Share("failure_rate", &c.FailureRate)
	v.Duration("slow.over", &c.SlowOver)
	v.Share("slow.rate", &c.SlowRate)
	c.Open.Plan(v, "open")
	c.Open.PlanJitter(v, "open")
	v.Count("probes", &c.Probes)
	v.Count("successes", &c.Successes)
	v.Duration("half_open_max", &c.HalfOpenMax)
}
