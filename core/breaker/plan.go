package breaker

import (
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/planwire"
)

// Plan codes the settings for plan bytes, in the order of the row: of the window its
// kind and what belongs to that kind.
func Plan(c *Config, v *planwire.Coder) {
	v.Word("window", (*uint8)(&c.Window))
	switch c.Window {
	case Time:
		v.Duration("window.time", &c.Span)
		v.Count("window.buckets", &c.Count)
	case Consecutive:
		v.Count("window.consecutive", &c.Count)
		v.Duration("window.forget", &c.Forget)
	default:
		v.Count("window.calls", &c.Count)
	}
	v.Count("minimum", &c.Minimum)
	v.Share("failure_rate", &c.FailureRate)
	v.Duration("slow.over", &c.SlowOver)
	v.Share("slow.rate", &c.SlowRate)
	v.Count("slow.consecutive", &c.SlowConsecutive)
	backoff.Plan(&c.Open, v, "open")
	backoff.PlanJitter(&c.Open, v, "open")
	v.Count("probes", &c.Probes)
	v.Count("successes", &c.Successes)
	v.Duration("half_open_max", &c.HalfOpenMax)
	v.Word("initial", (*uint8)(&c.Initial))
	v.Duration("obey_retry_after", &c.ObeyRetryAfter)
	v.Duration("ramp.over", &c.RampOver)
	v.Share("ramp.from", &c.RampFrom)
}
