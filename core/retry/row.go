package retry

import "github.com/sluice-go/sluice/core/mechanism"

// Kind returns mechanism.Retry.
func (Config) Kind() mechanism.Kind { return mechanism.Retry }
