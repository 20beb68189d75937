package mechanisms

import (
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
)

// InStore returns how several processes share a configuration by a store, and false for one
// whose cells each process has in its own memory. It is a function apart from Row, so that a
// program without a store does not link it.
func InStore(of mechanism.Config) (s mechanism.InStore, ok bool) {
	switch c := of.(type) {
	case limiter.Config:
		return c.InStore(), true
	case breaker.Config:
		return mechanism.InStore{Config: of}, true
	case bulkhead.Config:
		return c.InStore(), true
	}
	return s, false
}

// MemberCells returns the maker of the cells in a store of a configuration whose permits
// members hold under leases, so many members at one time, 0 for no bound. It returns nil for
// another configuration.
func MemberCells(c mechanism.Config, members uint32) cell.Maker {
	b, ok := c.(bulkhead.Config)
	if !ok {
		return nil
	}
	maker, err := bulkhead.SharedCells(b.Shared(bulkhead.DefaultLease, members))
	if err != nil {
		return nil
	}
	return maker
}
