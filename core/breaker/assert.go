package breaker

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/reducer"
)

// assert asserts what holds of each state that a machine leaves behind. It found so many probes
// pending or ended, half-open.
func (m *Machine) assert(s *State, before uint32) {
	assert.That(s.Mode <= MetricsOnly, "breaker: it has one of the modes")
	assert.That(!s.changed, "breaker: a step ends with what it changed")
	if s.Generation == 0 {
		return
	}
	assert.That(s.Slow <= s.Total || m.config.Window == Consecutive && s.Mode != HalfOpen, "breaker: slow outcomes are outcomes")
	assert.That(s.Failed <= s.Total || m.config.Window == Consecutive && s.Mode != HalfOpen, "breaker: failed outcomes are outcomes")
	assert.That((s.OpenUntil == clock.Never || s.Mode == Open), "breaker: an open one alone has an end of its open time")
	assert.That((s.HalfOpenUntil == clock.Never || s.Mode == HalfOpen), "breaker: a half-open one alone has an end of its stay")
	assert.That((s.RampUntil == clock.Never || s.Mode == Closed), "breaker: a closed one alone is in a ramp")
	assert.That(s.RampSum < reducer.Whole, "breaker: the shares of a ramp are less than a call")
	if s.Mode == HalfOpen {
		assert.That(int(s.ProbesOut) == len(s.words), "breaker: each pending probe has its word")
		assert.That(uint32(s.ProbesOut)+s.Total <= max(before, m.config.Probes), "breaker: no more probes than configured")
		return
	}
	assert.That(s.ProbesOut == 0 && !s.Probed, "breaker: a half-open one alone has probes")
	if m.config.Window == Calls && s.counts() {
		assert.That(s.Total <= m.config.Count && s.Cursor < uint64(m.config.Count), "breaker: a window of calls has at most so many")
	}
}

// probes returns how many probes are pending or have ended, half-open.
func (s *Core) probes() uint32 {
	if s.Mode != HalfOpen {
		return 0
	}
	return uint32(s.ProbesOut) + s.Total
}
