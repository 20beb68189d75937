package breaker

import (
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/planwire"
)

// more is the bit of the kind of the window that says that the settings follow which older
// plan bytes do not have. Without it they have their defaults.
const more = 1 << 6

// Plan codes the settings for plan bytes, in the order of the row: of the window its
// kind and what belongs to that kind.
func Plan(c *Config, v *planwire.Coder) {
	kind := uint8(c.Window)
	if c.extended() {
		kind |= more
	}
	v.Word("window", &kind)
	c.Window = WindowKind(kind &^ more)
	switch c.Window {
	case Time:
		v.Duration("window.time", &c.Span)
		v.Count("window.buckets", &c.Count)
	case Consecutive:
		v.Count("window.consecutive", &c.Count)
		if kind&more != 0 {
			v.Duration("window.forget", &c.Forget)
		}
	default:
		v.Count("window.calls", &c.Count)
	}
	v.Count("minimum", &c.Minimum)
	v.Share("failure_rate", &c.FailureRate)
	v.Duration("slow.over", &c.SlowOver)
	v.Share("slow.rate", &c.SlowRate)
	if kind&more != 0 {
		v.Count("slow.consecutive", &c.SlowConsecutive)
	}
	backoff.Plan(&c.Open, v, "open")
	backoff.PlanJitter(&c.Open, v, "open")
	v.Count("probes", &c.Probes)
	v.Count("successes", &c.Successes)
	v.Duration("half_open_max", &c.HalfOpenMax)
	if kind&more == 0 {
		return
	}
	v.Word("initial", (*uint8)(&c.Initial))
	v.Duration("obey_retry_after", &c.ObeyRetryAfter)
	v.Duration("ramp.over", &c.RampOver)
	v.Share("ramp.from", &c.RampFrom)
	if v.Reads() && !v.Failed() && !c.extended() {
		v.Refuse("window")
	}
}
