package limiter

import (
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/planwire"
)

// planMore in the byte of the counted outcomes says that another byte is behind it, with
// a bit for each map that the plan bytes have.
const (
	planMore   = mechanism.MoreBit
	planBlock  = 1 << 0
	planWarmUp = 1 << 1
	planZone   = 1 << 2
)

// Plan codes the settings for plan bytes, in the order of the row.
func Plan(c *Config, v *planwire.Coder) {
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
	v.Count("settle_max", &c.SettleMax)
	bits := uint8(0)
	if c.Block.on() {
		bits |= planBlock
	}
	if c.WarmUp.Over > 0 {
		bits |= planWarmUp
	}
	if c.Calendar.Unit != calendar.NoUnit {
		bits |= planZone
	}
	counts := uint8(c.Counts)
	if bits != 0 {
		counts |= planMore
	}
	v.Word("counts", &counts)
	if c.Counts = Outcomes(counts &^ planMore); counts&planMore != 0 {
		if v.Word("counts", &bits); bits == 0 || bits > planBlock|planWarmUp|planZone {
			v.Refuse("counts")
		}
	}
	if bits&planBlock != 0 {
		v.Count("block.after", &c.Block.After)
		if backoff.Plan(&c.Block.For, v, "block.for"); !c.Block.on() {
			v.Refuse("block.for")
		}
	}
	if bits&planWarmUp != 0 {
		if v.Duration("warm_up.over", &c.WarmUp.Over); c.WarmUp.Over == 0 {
			v.Refuse("warm_up.over")
		}
		v.Count("warm_up.factor", &c.WarmUp.Factor)
	}
	if bits&planZone != 0 {
		c.planCalendar(v)
	}
}

// planCalendar codes the unit, the zone, and the wall time of mark 0, which is the last
// value of a limit, so that a writer who knows no clock can leave it to one who does.
func (c *Config) planCalendar(v *planwire.Coder) {
	if v.Word("rate", (*uint8)(&c.Calendar.Unit)); c.Calendar.Unit == calendar.NoUnit {
		v.Refuse("rate")
	}
	zone := c.Calendar.Zone.Pack()
	for i := range zone {
		v.Count("zone", &zone[i])
	}
	c.Calendar.Zone = calendar.Unpack(zone)
	v.Duration("rate", &c.Calendar.Epoch)
}
