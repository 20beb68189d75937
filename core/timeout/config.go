package timeout

import "time"

// Config is what a timeout is made of.
type Config struct {
	// After cuts whatever is below the step. More than 0.
	After time.Duration
	// Soft warns without cutting; less than After. 0 for no warning.
	Soft time.Duration
}
