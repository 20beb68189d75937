package limiter

import (
	"github.com/sluice-go/sluice/core/internal/planwire"
	"github.com/sluice-go/sluice/core/mechanism"
)

// planMore in the byte of the counted outcomes says that another byte is behind it, with
// a bit for each map that the plan bytes have.
const (
	planMore   = mechanism.MoreBit
	planBlock  = 1 << 0
	planWarmUp = 1 << 1
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
	bits := uint8(0)
	if c.Block.on() {
		bits |= planBlock
	}
	if c.WarmUp.Over > 0 {
		bits |= planWarmUp
	}
	counts := uint8(c.Counts)
	if bits != 0 {
		counts |= planMore
	}
	v.Word("counts", &counts)
	if c.Counts = Outcomes(counts &^ planMore); counts&planMore != 0 {
		if v.Word("counts", &bits); bits == 0 || bits > planBlock|planWarmUp {
			v.Refuse("counts")
		}
	}
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
