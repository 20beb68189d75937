package limiter

import "github.com/sluice-go/sluice/core/mechanism"

var _ mechanism.Storable = Config{}

// InStore implements mechanism.Storable.
func (c Config) InStore() mechanism.InStore {
	s := mechanism.InStore{Queue: c.Queue, Wait: c.Wait, Newest: c.Order == Newest}
	c.Wait, c.Queue, c.Order = 0, 0, Oldest
	c.Cost, c.Charge, c.SettleMax, c.Counts = Cost{}, ChargeStart, 0, 0
	s.Config = c
	return s
}
