package budget

import (
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// Config is the configuration of a retry budget.
type Config struct {
	// Ratio of retries to first attempts. At most ten wholes.
	Ratio reducer.Share
	// MinimumCount retries for each MinimumPeriod are always allowed.
	MinimumCount  uint32
	MinimumPeriod time.Duration
	// Window over which both are counted, in ten buckets. At least 10 ns.
	Window time.Duration
}
