package limiter

import "github.com/sluice-go/sluice/core/mechanism"

// Kind returns mechanism.Limit.
func (Config) Kind() mechanism.Kind { return mechanism.Limit }
