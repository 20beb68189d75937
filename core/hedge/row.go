package hedge

import "github.com/sluice-go/sluice/core/mechanism"

// Kind returns mechanism.Hedge.
func (Config) Kind() mechanism.Kind { return mechanism.Hedge }
