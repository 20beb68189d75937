package oracle

import (
	"math"
	"regexp"
	"strconv"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
)

var wholeNumber = regexp.MustCompile(`^[0-9]{1,18}$`)

// cost returns what the call takes at step i: of a bulkhead or an adaptive limit at least
// one place, and where it has no cost of its own just one.
func (c *call) cost(i int) int64 {
	switch cfg := c.plan.steps[i].Config.(type) {
	case limiter.Config:
		return c.costBy(cfg.Cost, int64(c.event.Cost))
	case bulkhead.Config:
		return max(1, c.costBy(cfg.Cost, 1))
	case adaptive.Config:
		return max(1, c.costBy(cfg.Cost, 1))
	}
	return 1
}

// costBy returns what the call takes by the cost of a step, and what a step without takes.
func (c *call) costBy(own limiter.Cost, without int64) int64 {
	switch text := c.event.value(own.Attribute); {
	case own == (limiter.Cost{}):
		return without
	case own.Attribute == "" || !wholeNumber.MatchString(text):
		return int64(own.Permits)
	default:
		n, _ := strconv.ParseInt(text, 10, 64)
		return min(n, math.MaxUint32)
	}
}
