package bulkhead

import "github.com/sluice-go/sluice/core/mechanism"

// Kind returns mechanism.Bulkhead.
func (Config) Kind() mechanism.Kind { return mechanism.Bulkhead }
