package hedge

import "github.com/sluice-go/sluice/core/internal/assert"

// assert asserts what holds of each state that a machine leaves behind.
func (m *Machine) assert(s *State) {
	assert.That(len(s.recent) == len(s.sorted) && m.fits(s), "hedge: each of the durations that it keeps has its place in their order")
	assert.That(s.oldest == 0 || s.oldest < len(s.recent), "hedge: the oldest duration is one of them")
	if len(s.sorted) > assert.Few {
		return
	}
	for i := 1; i < len(s.sorted); i++ {
		assert.That(s.sorted[i-1] <= s.sorted[i], "hedge: the durations are in order")
	}
}
