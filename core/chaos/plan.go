package chaos

import "github.com/sluice-go/sluice/core/planwire"

// Plan codes the settings for plan bytes, in the order of the row.
func Plan(c *Config, v *planwire.Coder) {
	v.Share("fail", &c.Fail)
	v.Share("throttle.rate", &c.Throttle)
	v.Duration("throttle.retry_after", &c.RetryAfter)
	v.Share("ignore", &c.Ignore)
	v.Share("slow.rate", &c.Slow)
	v.Duration("slow.by", &c.By)
	v.Duration("slow.to", &c.To)
}
