package timeout

import "github.com/sluice-go/sluice/core/mechanism"

// Kind returns mechanism.Timeout.
func (Config) Kind() mechanism.Kind { return mechanism.Timeout }
