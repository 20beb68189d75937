package breaker

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/tally"
)

// The words of a window. Calls: a ring of two bits a call, failed and slow, the
// first call in the lowest bits. Time: a ring of two words a bucket, outcomes
// and failures in the first, slow outcomes in the second. There are no words
// before the first outcome.
const (
	callsPerWord = 32
	failedBits   = 0x5555_5555_5555_5555
)

// tally adds an outcome to the sums.
func (s *Core) tally(failed, slow bool) {
	s.Total = tally.Inc(s.Total)
	if failed {
		s.Failed = tally.Inc(s.Failed)
	}
	if slow {
		s.Slow = tally.Inc(s.Slow)
	}
}

// bucket returns the number of the bucket that now lies in, the cursor of a window
// without buckets.
func (m *Machine) bucket(s *State, now clock.Mark) uint64 {
	if m.config.Window != Time {
		return s.Cursor
	}
	return tally.Bucket(now, s.Origin, uint64(m.config.Count), m.config.Span)
}

// count adds an outcome at now to the window, and reports whether that changed it. present
// is the bucket of the outcome.
func (m *Machine) count(s *State, failed, slow bool, now clock.Mark, present uint64) bool {
	row := s.SlowRow
	if m.config.SlowConsecutive > 0 {
		s.SlowRow = 0
		if slow {
			s.SlowRow = min(row+1, MaxCalls)
		}
	}
	changed := s.SlowRow != row
	switch m.config.Window {
	case Calls:
		return m.countCall(s, failed, slow) || changed
	case Time:
		return m.countTime(s, failed, slow, present) || changed
	}
	switch {
	case failed:
		return m.countFailure(&s.Core, now) || changed
	case s.Failed == 0:
		return changed
	}
	s.Failed, s.Cursor = 0, 0
	return true
}

// countFailure counts a failure in a row, and keeps its mark where failures are forgotten.
func (m *Machine) countFailure(s *Core, now clock.Mark) bool {
	before, at := s.Failed, s.Cursor
	m.forget(s, now)
	s.Failed = tally.Inc(s.Failed)
	if m.config.Forget > 0 {
		s.Cursor = uint64(now) - uint64(s.Origin)
	}
	return s.Failed != before || s.Cursor != at
}

// forgetsAt returns the mark from which on the failures in a row are forgotten unless another
// one comes before it, clock.Never for none.
func (m *Machine) forgetsAt(s *Core) clock.Mark {
	if m.config.Forget == 0 || s.Failed == 0 || !s.counts() {
		return clock.Never
	}
	return clock.Mark(uint64(s.Origin) + s.Cursor).Add(m.config.Forget)
}

// forget sets the count of failures in a row that are forgotten at now to 0.
func (m *Machine) forget(s *Core, now clock.Mark) {
	if m.forgetsAt(s) <= now {
		s.Failed, s.Cursor = 0, 0
	}
}

func (m *Machine) countCall(s *State, failed, slow bool) bool {
	n := m.config.Count
	if s.Total == n && uniform(s.Failed, n, failed) && uniform(s.Slow, n, slow) {
		return false // one more of the outcomes that fill the window
	}
	if s.words == nil {
		s.words = make([]uint64, (n+callsPerWord-1)/callsPerWord)
	}
	word, shift := &s.words[s.Cursor/callsPerWord], s.Cursor%callsPerWord*2
	if s.Total == n {
		s.Total--
		s.Failed -= uint32(*word >> shift & 1)
		s.Slow -= uint32(*word >> shift >> 1 & 1)
	}
	*word &^= 3 << shift
	if failed {
		*word |= 1 << shift
	}
	if slow {
		*word |= 2 << shift
	}
	s.tally(failed, slow)
	if s.Cursor++; s.Cursor == uint64(n) {
		s.Cursor = 0
	}
	return true
}

// uniform reports whether all of n outcomes have a property, or none of them where
// such is false.
func uniform(count, n uint32, such bool) bool {
	if such {
		return count == n
	}
	return count == 0
}

func (m *Machine) countTime(s *State, failed, slow bool, present uint64) bool {
	moved := s.Cursor != present
	m.rotate(s, present)
	if s.Total == tally.Max {
		return moved // no bucket holds more than all of them
	}
	if s.words == nil {
		s.words = make([]uint64, 2*m.config.Count)
	}
	i := 2 * (s.Cursor % uint64(m.config.Count))
	s.words[i] += 1 << 32
	if failed {
		s.words[i]++
	}
	if slow {
		s.words[i+1]++
	}
	s.tally(failed, slow)
	return true
}

// rotate drops the buckets that have left the window when the present one has
// the number.
func (m *Machine) rotate(s *State, present uint64) {
	n := uint64(m.config.Count)
	if s.words != nil {
		for range min(n, present-s.Cursor) {
			s.Cursor++
			i := 2 * (s.Cursor % n)
			s.Total -= uint32(s.words[i] >> 32)
			s.Failed -= uint32(s.words[i])
			s.Slow -= uint32(s.words[i+1])
			s.words[i], s.words[i+1] = 0, 0
		}
	}
	s.Cursor = present
}
