package budget

import "github.com/sluice-go/sluice/core/internal/assert"

// assert asserts what holds of each state that a machine leaves behind that found so much taken of
// the tokens.
func (m *Machine) assert(s *State, before uint32) {
	if m.inTokens() {
		assert.That(s.Taken <= max(before, m.tokens.capacity), "budget: no more tokens are taken than there are")
		assert.That(!s.Begun, "budget: tokens have no window")
		return
	}
	assert.That(s.Taken == 0, "budget: a window has no tokens")
	assert.That(s.Begun || *s == State{}, "budget: nothing is counted before the first count")
}
