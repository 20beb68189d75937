package bulkhead

import (
	"time"

	"github.com/sluice-go/sluice/core/limiter"
)

// MaxConcurrent is the most places of a bulkhead.
const MaxConcurrent = 1_000_000

// Config is the configuration of a bulkhead.
type Config struct {
	// Concurrent calls, 1 to MaxConcurrent.
	Concurrent uint32
	// Queue is the most callers that may wait, 0 to limiter.MaxQueue.
	Queue uint32
	// Wait is the longest that a caller may wait; 0 for no limit but the caller's
	// own.
	Wait time.Duration
	// Order in which waiters are served.
	Order limiter.Order
	// Lease frees the places of a holder that neither released nor renewed them
	// for so long. 0 for none.
	Lease time.Duration
	// Cost of a call at a step of a pipeline, in places: 1 to Concurrent, and at least 1
	// where an attribute has it. Default: one place, whatever the call names. The
	// machine ignores it: its actions have their costs.
	Cost limiter.Cost
}
