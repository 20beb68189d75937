package breaker

import "github.com/sluice-go/sluice/core/mechanism"

// Kind returns mechanism.Breaker.
func (Config) Kind() mechanism.Kind { return mechanism.Breaker }
