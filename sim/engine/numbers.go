package engine

import (
	"math"
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/sim/scenario"
)

// durationOf returns a number of nanoseconds as a duration, rounded.
func durationOf(nanoseconds float64) time.Duration {
	return time.Duration(scenario.Round(nanoseconds))
}

// multiple returns n periods of a rate: n/count of its period, rounded down, so that
// no error adds up.
func multiple(n int64, count uint32, period time.Duration) time.Duration {
	high, low := bits.Mul64(uint64(n), uint64(period))
	if high >= uint64(count) {
		return math.MaxInt64
	}
	whole, _ := bits.Div64(high, low, uint64(count))
	return time.Duration(min(whole, math.MaxInt64))
}
