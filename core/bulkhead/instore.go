package bulkhead

import (
	"time"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
)

// DefaultLease is the lease of a shared bulkhead without one: so long after the end of a
// process its places are free again.
const DefaultLease = 30 * time.Second

// InStore returns the bulkhead as several processes share it by a store, see SharedMachine.
func (c *Config) InStore() mechanism.InStore {
	s := mechanism.InStore{Queue: c.Queue, Wait: c.Wait, Newest: c.Order == limiter.Newest, Lease: c.Shared(DefaultLease, 0).Lease}
	if s.Queue > 0 && s.Wait == 0 {
		s.Wait = mechanism.Forever
	}
	s.Config = Config{Concurrent: c.Concurrent, Lease: c.Lease}
	return s
}
