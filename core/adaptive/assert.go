package adaptive

import "github.com/sluice-go/sluice/core/internal/assert"

// assert asserts what holds of each state that a machine leaves behind that found so many places
// held.
func (m *Machine) assert(s *State, before uint32) {
	assert.Sound(m.sound(s))
	assert.That(s.Held <= max(before, s.Limit) || s.Alone() && s.Held <= m.config.Maximum, "adaptive: no call is admitted above the limit, but one where nothing is held")
	assert.That(len(s.over) == s.Slots(), "adaptive: each slot has the time of its attempt")
	assert.That(!s.changed, "adaptive: a step ends with what it changed")
	s.Holders.Assert()
}
