package limiter

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/internal/tally"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Block blocks a limiter that exceeds its rate: it refuses all calls for a time. The
// zero value blocks nothing. Source: policy/REFERENCE.md#blocks.
type Block struct {
	// After how many refusals in a row a block begins, at least 1. An admission begins
	// a new row. Default 1.
	After uint32
	// For is the time of a block: that after attempt n of the backoff for the n-th
	// block in a row. Constant, Linear, Exponential, Fibonacci or Listed, without
	// jitter, and more than 0. None blocks nothing.
	For backoff.Config
}

// on reports whether there are blocks.
func (b *Block) on() bool { return b.For.Kind != backoff.None }

// check returns an error that names the field which is wrong.
func (b *Block) check(wait bool) error {
	c := &b.For
	switch {
	case !b.on() && b.After != 0:
		return reducer.BadCount("block.after", uint64(b.After), "0 without a time of blocks")
	case !b.on():
		return nil
	case wait:
		return reducer.BadCount("block", uint64(b.After), "no wait beside blocks: a caller that waits does not exceed the rate")
	case b.After == 0:
		return reducer.BadCount("block.after", 0, "1 or more")
	case c.Kind == backoff.Decorrelated || c.Jitter != backoff.NoJitter:
		return reducer.BadCount("block.for", uint64(c.Kind), "a backoff without randomness")
	case c.Kind == backoff.Listed && c.Delays.Shortest() == 0:
		return reducer.BadDuration("block.for", 0, "delays of more than 0")
	}
	return nil
}

// streak are the refusals and blocks in a row. The zero value has none.
type streak struct {
	// until is the mark at which the last block ends, or the mark of a later refusal.
	until   clock.Mark
	blocks  uint32
	refused uint32 // since the last block or admission
}

// blockedUntil returns the mark until which all calls are refused, and false where
// there is no block at now.
func (m *Machine) blockedUntil(s *State, now clock.Mark) (clock.Mark, bool) {
	if s.line == nil || s.line.streak.blocks == 0 {
		return now, false
	}
	until := s.line.streak.until
	return until, now < until
}

// BlockedUntil returns the mark until which all calls are refused because earlier ones
// exceeded the rate, and false where none is at now.
func (m *Machine) BlockedUntil(s *State, now clock.Mark) (clock.Mark, bool) {
	return m.blockedUntil(s, max(now, s.Last))
}

// forgets reports whether there is no row at now: a time as long as the last block, and
// at least the period of the rate, has passed without a refusal.
func (m *Machine) forgets(s *State, now clock.Mark) bool { return now >= m.forgetsAt(s) }

// forgetsAt returns the mark from which on there is no row.
func (m *Machine) forgetsAt(s *State) clock.Mark {
	if s.line == nil || s.line.streak == (streak{}) || m.block == nil {
		return clock.Always
	}
	k := &s.line.streak
	good := m.config.Period
	if k.blocks > 0 {
		good = max(good, m.block.Nominal(k.blocks))
	}
	return k.until.Add(good)
}

// tryBlocking is try of a limiter with blocks.
func (m *Machine) tryBlocking(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) {
	if m.barred(answer, s, a.Cost, now) {
		return
	}
	m.ask(answer, s, a, now)
	switch {
	case answer.Reason == reducer.ReasonRate:
		m.exceed(answer, s, a, now)
	case s.line == nil || answer.Verdict != reducer.Admit || a.Cost == 0:
	case m.forgets(s, now) || s.line.streak.blocks == 0:
		s.setStreak(streak{})
	default:
		k := s.line.streak
		k.refused = 0
		s.setStreak(k)
	}
}

// setStreak replaces the row of refusals and blocks.
func (s *State) setStreak(k streak) {
	s.count.changed = s.count.changed || s.line.streak != k
	s.line.streak = k
}

// barred answers a call during a block, and returns false without one. The mark is the
// least after the block at which the cost is admitted, behind callers that wait since
// another configuration.
func (m *Machine) barred(answer *reducer.Answer, s *State, cost uint32, now clock.Mark) bool {
	until, blocked := m.blockedUntil(s, now)
	if !blocked || cost > m.algorithm.capacity() {
		return false
	}
	turn := now
	switch {
	case cost == 0:
	case m.behind(s):
		turn = m.turnBehind(s, cost, now)
	case s.Waiting() > 0:
		turn = m.retryNewest(s, cost, now, 0)
	default:
		turn = m.algorithm.turn(&s.count, cost, now)
	}
	reject(answer, reducer.ReasonBlocked, max(until, turn))
	return true
}

// exceed counts a refusal, and begins a block after the last one of a row, or a later one
// where that may begin none.
func (m *Machine) exceed(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) {
	if s.line == nil {
		s.line = &line{}
	}
	k := s.line.streak
	if m.forgets(s, now) {
		k = streak{}
	}
	k.until = now
	if k.refused = tally.Inc(k.refused); k.refused >= m.config.Block.After && a.Blocks() {
		k.refused, k.blocks = 0, tally.Inc(k.blocks)
		k.until = now.Add(m.block.Nominal(k.blocks))
		answer.Mark = max(answer.Mark, k.until)
	}
	s.setStreak(k)
}

// unblock ends a block, and keeps its number. It returns false without one.
func (m *Machine) unblock(s *State, now clock.Mark) bool {
	_, blocked := m.blockedUntil(s, now)
	if blocked {
		k := s.line.streak
		k.until = now
		s.setStreak(k)
	}
	return blocked
}

// codeStreak codes the row of a limiter with blocks: the mark, the blocks, the refusals.
func (m *Machine) codeStreak(w *wire.Coder, s *State) {
	var k streak
	if s.line != nil {
		k = s.line.streak
	}
	w.Mark(&k.until)
	w.Uvarint32(&k.blocks)
	w.Uvarint32(&k.refused)
	if w.Reads() && k != (streak{}) {
		s.line = &line{streak: k}
	}
}
