package breaker

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// Counts are the outcomes in the window of a breaker, half-open those of its probes.
type Counts struct {
	// Calls is how many outcomes there are; 0 for a closed breaker whose window is
	// Consecutive.
	Calls uint32
	// Failed is how many of them failed; of Consecutive, how many in a row.
	Failed uint32
	// Slow is how many of them were slow.
	Slow uint32
	// FailureRate and SlowRate are the shares of Calls, rounded down to a millionth; 0
	// without calls.
	FailureRate, SlowRate reducer.Share
}

// counted returns the counts of the state as it is.
func (s *Core) counted() Counts {
	c := Counts{Calls: s.Total, Failed: s.Failed, Slow: s.Slow}
	if s.Total > 0 {
		c.FailureRate, c.SlowRate = shareOf(s.Failed, s.Total), shareOf(s.Slow, s.Total)
	}
	return c
}

func shareOf(n, all uint32) reducer.Share {
	return reducer.Millionths(uint32(uint64(n) * reducer.Whole / uint64(all)))
}

// At returns the core of a breaker's state and its counts as they are at now, and false
// for a cell of another mechanism. It changes nothing.
func At(c cell.Cell, now clock.Mark) (Core, Counts, bool) {
	b, ok := c.(*breakerCell)
	if !ok {
		return Core{}, Counts{}, false
	}
	var s State
	m := b.Machine
	m.Clone(&s, b.State())
	now = s.present(now)
	if s.Generation == 0 && m.config.Initial != Closed {
		m.begin(&s, now)
	}
	if s.waits() {
		m.advance(&s, now, nil)
	}
	if m.config.Window == Time && s.Core.counts() && s.Generation > 0 {
		m.rotate(&s, m.bucket(&s, now))
	}
	m.forget(&s.Core, now)
	return s.Core, s.counted(), true
}

// CountsAfter returns what the breaker of a cell counts with the outcome of a Record at
// now, before the outcome changes its mode, and whether the slow outcomes reach their rate
// or their number in a row and the failures do not. It returns false where the outcome is not counted, and changes
// nothing.
func CountsAfter(c cell.Cell, a reducer.Action, now clock.Mark) (counts Counts, slow, ok bool) {
	b, ok := c.(*breakerCell)
	if !ok {
		return Counts{}, false, false
	}
	var s State
	m := b.Machine
	m.Clone(&s, b.State())
	now = s.present(now)
	if s.waits() {
		m.advance(&s, endsFirst(&a, now), nil)
	}
	failed := a.Outcome == reducer.Fail || a.Outcome == reducer.Timeout
	if !failed && a.Outcome != reducer.OK || !s.current(&a.Permit) {
		return Counts{}, false, false
	}
	switch s.Mode {
	case Closed, MetricsOnly:
		m.count(&s, failed, m.slow(a.Mark, now), now, m.bucket(&s, now))
	case HalfOpen:
		s.tally(failed, m.slow(a.Mark, now))
	default:
		return Counts{}, false, false
	}
	counts = s.counted()
	return counts, m.slowReached(&s) && !m.failuresReached(&s), true
}
