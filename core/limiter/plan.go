package limiter

import "github.com/sluice-go/sluice/core/internal/planwire"

// Bits of the byte of the counted outcomes, which has six of them: the plan bytes have
// the settings behind it.
const (
	planBlock  = 1 << 6
	planWarmUp = 1 << 7
)

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
	bits := uint8(c.Counts)
	if c.Block.on() {
		bits |= planBlock
	}
	if c.WarmUp.Over > 0 {
		bits |= planWarmUp
	}
	v.Word("counts", &bits)
	c.Counts = Outcomes(bits) & allOutcomes
	if bits&planBlock != 0 {
		v.Count("block.after", &c.Block.After)
		if c.Block.For.Plan(v, "block.for"); !c.Block.on() {
			v.Refuse("block.for")
		}
	}
	if bits&planWarmUp != 0 {
		if v.Duration("warm_up.over", &c.WarmUp.Over); c.WarmUp.Over == 0 {
			v.Refuse("warm_up.over")
		}
		v.Count("warm_up.factor", &c.WarmUp.Factor)
	}
}
