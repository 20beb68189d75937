package adaptive

import "github.com/sluice-go/sluice/core/internal/assert"

// assert asserts what holds of each state that a machine leaves behind that found so many places
// held.
func (m *Machine) assert(s *State, before uint32) {
	assert.That(s.Limit >= m.config.Minimum && s.Limit <= m.config.Maximum, "adaptive: the limit is within its bounds")
	assert.That(s.Round.Quick <= s.Round.Good && uint64(s.Round.Calls) <= s.Round.ended(), "adaptive: each call of a round counts a place or more")
	assert.That(s.Fall.Limit > 0 || s.Fall == Fall{}, "adaptive: what follows from a decrease follows from one")
	assert.That(s.Held <= max(before, s.Limit) || s.Alone() && s.Held <= m.config.Maximum, "adaptive: no call is admitted above the limit, but one where nothing is held")
	assert.That(len(s.over) == s.Slots(), "adaptive: each slot has the time of its attempt")
	assert.That(!s.changed, "adaptive: a step ends with what it changed")
	s.Holders.Assert()
}
