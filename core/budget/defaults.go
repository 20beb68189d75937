package budget

import (
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// Buckets is how many buckets a window is cut into, and the least window in
// nanoseconds.
const Buckets = 10

// Default returns the budget of a ratio: 10/s are always granted, and both are
// counted over 10 s.
func Default(ratio reducer.Share) Config {
	return Config{Ratio: ratio, MinimumCount: 10, MinimumPeriod: time.Second, Window: 10 * time.Second}
}
