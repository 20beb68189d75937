package generate

import (
	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/reducer"
)

func (m *maker) adaptive() adaptive.Config {
	c := adaptive.Config{
		Minimum: uint32(m.upTo(2)), Increase: of(m, uint32(1), 1, 2, 5), Over: m.units(8),
		Decrease: of(m, reducer.Share(100_000), 500_000, 333_333, 1_000_000, 1),
	}
	c.Initial = c.Minimum + uint32(m.IntN(3))
	c.Maximum = c.Initial + uint32(m.IntN(4))
	return c
}

func adaptiveObject(c adaptive.Config) object {
	return object{
		"initial": c.Initial, "minimum": c.Minimum, "maximum": c.Maximum,
		"increase": c.Increase, "decrease": share(c.Decrease), "over": span(c.Over),
	}
}
