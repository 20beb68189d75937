package bulkhead

import (
	"time"

	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
)

var _ mechanism.Storable = Config{}

// DefaultLease is the lease of a shared bulkhead without one: so long after the end of a
// process its places are free again.
const DefaultLease = 30 * time.Second

// InStore implements mechanism.Storable.
func (c Config) InStore() mechanism.InStore {
	s := mechanism.InStore{Queue: c.Queue, Wait: c.Wait, Newest: c.Order == limiter.Newest, Lease: c.Shared(DefaultLease, 0).Lease}
	if s.Queue > 0 && s.Wait == 0 {
		s.Wait = mechanism.Forever
	}
	c.Wait, c.Queue, c.Order, c.Cost = 0, 0, limiter.Oldest, limiter.Cost{}
	s.Config = c
	return s
}

// MemberCells returns the maker of the cells in a store, in which so many members hold
// places at one time, 0 for as many as there are places.
func (c Config) MemberCells(members uint32) (cell.Maker, error) {
	return SharedCells(c.Shared(DefaultLease, members))
}
