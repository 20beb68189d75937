package bulkhead

import (
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/core/limiter"
)

// assert asserts what holds of each state that a machine leaves behind that found so many places
// held.
func (m *Machine) assert(s *State, before uint32) {
	assert.That(s.Held <= max(before, m.config.Concurrent), "bulkhead: no call is admitted above the places")
	assert.That(s.Queue.Len() <= limiter.MaxQueue, "bulkhead: at most MaxQueue callers wait")
	assert.That(!s.changed, "bulkhead: a step ends with what it changed")
	s.Holders.Assert()
	s.Queue.Assert()
}

func (m *SharedMachine) assert(s *SharedState, before uint32) {
	assert.That(s.Held <= max(before, m.config.Concurrent), "shared bulkhead: no call is admitted above the places")
	assert.That(!s.changed, "shared bulkhead: a step ends with what it changed")
	if len(s.Members) > assert.Few {
		return
	}
	held := uint32(0)
	for i := range s.Members {
		assert.That(s.Members[i].Held > 0, "shared bulkhead: each member holds a place")
		held += s.Members[i].Held
	}
	assert.That(held == s.Held, "shared bulkhead: the places that are held are those of the members")
}
