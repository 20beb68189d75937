package timeout

import "time"

// Config is the configuration of a timeout.
type Config struct {
	// After is the time after which the steps below are cut. More than 0.
	After time.Duration
	// Soft warns without cutting; less than After. 0 for no warning.
	Soft time.Duration
}
