package limiter

import "github.com/sluice-go/sluice/core/mechanism"

// InStore returns the limiter as several processes share it by a store.
func (c *Config) InStore() mechanism.InStore {
	kept := *c
	kept.Wait, kept.Queue, kept.Order = 0, 0, Oldest
	kept.Cost, kept.Charge, kept.SettleMax, kept.Counts = Cost{}, ChargeStart, 0, 0
	return mechanism.InStore{Config: kept, Queue: c.Queue, Wait: c.Wait, Newest: c.Order == Newest}
}
