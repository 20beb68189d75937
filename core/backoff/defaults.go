package backoff

import "time"

// Defaults of an exponential backoff.
const (
	DefaultFactor = 2 * FactorOne
	DefaultMax    = time.Minute
)
