package breaker

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// A breaker in a ramp is closed. Origin is the beginning of the ramp, RampUntil its end.
// Every call that asks adds the share of its mark to the sum of them, and passes where the
// sum reaches the next whole number: of n calls in a row floor(sum) pass, without a
// random number.

// rise returns by how much the share at now is above the one at the beginning, rounded
// down to a millionth.
func (m *Machine) rise(s *Core, now clock.Mark) uint32 {
	hi, lo := bits.Mul64(uint64(now.Sub(s.Origin)), m.rises())
	share, _ := bits.Div64(hi, lo, uint64(s.RampUntil.Sub(s.Origin)))
	return uint32(share)
}

// rises returns by how much the share rises in the whole ramp.
func (m *Machine) rises() uint64 { return reducer.Whole - uint64(m.config.RampFrom.Millionths()) }

// ramp counts a call in a ramp and reports whether it passes. The Mark of the answer to
// one that does not is the least at which the next call passes.
func (m *Machine) ramp(answer *reducer.Answer, s *Core, now clock.Mark) bool {
	from := m.config.RampFrom.Millionths()
	s.RampSum += from + m.rise(s, now)
	s.touch(now)
	if s.RampSum >= reducer.Whole {
		s.RampSum -= reducer.Whole
		return true
	}
	answer.Mark = now
	if missing := reducer.Whole - s.RampSum; missing > from+m.rise(s, now) {
		hi, lo := bits.Mul64(uint64(missing-from), uint64(s.RampUntil.Sub(s.Origin)))
		lo, carry := bits.Add64(lo, m.rises()-1, 0)
		after, _ := bits.Div64(hi+carry, lo, m.rises())
		answer.Mark = s.Origin.Add(time.Duration(after))
	}
	return false
}

// endRamp admits all calls.
func (s *Core) endRamp() {
	if s.ramps() {
		s.RampUntil, s.RampSum = clock.Never, 0
	}
}
