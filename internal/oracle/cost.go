package oracle

import (
	"math"
	"regexp"
	"strconv"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
)

var wholeNumber = regexp.MustCompile(`^[0-9]{1,18}$`)

// cost returns what the call takes at step i.
func (c *call) cost(i int) int64 {
	own := pipeline.ConfigOf[limiter.Config](c.plan.steps[i].Step).Cost
	switch text := c.event.value(own.Attribute); {
	case own == (limiter.Cost{}):
		return int64(c.event.Cost)
	case own.Attribute == "" || !wholeNumber.MatchString(text):
		return int64(own.Permits)
	default:
		n, _ := strconv.ParseInt(text, 10, 64)
		return min(n, math.MaxUint32)
	}
}
