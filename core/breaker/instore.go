package breaker

import "github.com/sluice-go/sluice/core/mechanism"

var _ mechanism.Storable = Config{}

// InStore implements mechanism.Storable.
func (c Config) InStore() mechanism.InStore { return mechanism.InStore{Config: c} }
