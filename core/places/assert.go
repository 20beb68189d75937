package places

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/assert"
)

// Alone reports whether there is one holder.
func (s *Holders) Alone() bool { return len(s.holders)-len(s.vacant) == 1 }

// Assert asserts what holds of all holders: of few all, of many their numbers.
func (s *Holders) Assert() {
	assert.That(len(s.vacant) <= len(s.holders), "places: a free slot is one of the slots")
	assert.That(s.last == 0 || s.holders[s.last-1].until != clock.Never, "places: a lease ends")
	assert.That((s.first == 0) == (s.last == 0), "places: the list of leases has two ends or none")
	if len(s.holders) > assert.Few {
		return
	}
	assert.That(s.Linked(), "places: the places that are held are those of the holders, and the list leads through all leases")
	free := 0
	for i := range s.holders {
		if s.holders[i].grant == 0 {
			free++
		}
	}
	assert.That(free == len(s.vacant), "places: each free slot is known as free")
}
