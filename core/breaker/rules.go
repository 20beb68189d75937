package breaker

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/internal/tally"
	"github.com/sluice-go/sluice/reducer"
)

// advance makes the changes that time brings to an open or half-open breaker, and to
// one in a ramp, up to now, each at its own mark.
func (m *Machine) advance(s *State, now clock.Mark, out *reducer.Out) {
	if s.ramps() && s.RampUntil <= now {
		s.touch(max(s.Last, s.RampUntil))
		s.endRamp()
	}
	if s.Mode == Closed {
		return
	}
	for end := s.until(); end <= now && end != clock.Never; end = s.until() {
		switch {
		case s.Mode == Open:
			m.enter(s, HalfOpen, end, reducer.NoReason, out)
		case s.Probed:
			m.open(s, s.Failed+s.Slow > 0, end, out)
		default:
			m.skipIdle(s, now)
			m.reopen(s, s.HalfOpenUntil, m.idleTime(s), out)
		}
	}
	if s.probesLapse() {
		s.lapse(now)
	}
}

// skipIdle counts the whole cycles up to now in which a breaker opens, is half-open
// without a probe, and opens again. It leaves the state at the end of the half-open
// stay of the last cycle, and reports none of these changes. No outcome causes them, so
// all cycles have one length.
func (m *Machine) skipIdle(s *State, now clock.Mark) {
	if m.config.HalfOpenMax == 0 {
		return
	}
	cycle := uint64(m.config.HalfOpenMax) + uint64(m.idleTime(s))
	cycles := uint64(now.Sub(s.HalfOpenUntil)) / cycle
	s.HalfOpenUntil = s.HalfOpenUntil.Add(time.Duration(cycles * cycle))
	s.Openings = uint32(min(uint64(s.Openings)+cycles, tally.Max))
	s.Generation = later(s.Generation, 2*cycles)
}

// idleTime returns the open time after a half-open stay without a probe: the nominal one
// of the opening before.
func (m *Machine) idleTime(s *State) time.Duration { return m.delay.Nominal(growth(s.Opens)) }

// growth returns the attempt that a backoff counts for an opening. One that no outcome
// caused counts as the one before it.
func growth(opens uint32) uint32 { return min(max(opens, 1), MaxGrowth) }

// later returns the number of the n-th generation after one. The numbers wrap around,
// without 0.
func later(generation uint32, n uint64) uint32 {
	return uint32((uint64(generation)-1+n%tally.Max)%tally.Max) + 1
}

// admits answers an acquire at now, which counts in a ramp.
func (m *Machine) admits(answer *reducer.Answer, s *Core, now clock.Mark) {
	answer.Verdict = reducer.Reject
	switch {
	case s.Mode == Open:
		answer.Reason, answer.Mark = reducer.ReasonOpen, s.OpenUntil
	case s.Mode == ForcedOpen:
		answer.Reason, answer.Mark = reducer.ReasonOpen, clock.Never
	case s.ramps() && !m.ramp(answer, s, now):
		answer.Reason = reducer.ReasonProbes
	case s.Mode == HalfOpen && (uint32(s.ProbesOut)+s.Total >= m.config.Probes || s.exhausted(now)):
		answer.Reason, answer.Mark = reducer.ReasonProbes, now.Add(s.OpenFor)
	default:
		answer.Verdict, answer.Generation, answer.Mark = reducer.Admit, uint64(s.Generation), now
	}
}

// giveBack frees the place of a probe whose outcome is not counted.
func (s *State) giveBack(p *reducer.Permit, now clock.Mark) reducer.Verdict {
	if s.current(p) && (s.Mode != HalfOpen || s.endProbe(p.ID, now)) {
		return reducer.Done
	}
	return reducer.Stale
}

// current reports whether a permit was granted in this generation.
func (s *State) current(p *reducer.Permit) bool {
	return s.Generation > 0 && p.Generation == uint64(s.Generation)
}

// record counts an outcome. Where an answer that failed or was throttled has a
// retry-after that the configuration obeys, it opens the breaker until then, and where the
// outcome opens it by itself, for the longer time of the two.
func (m *Machine) record(s *State, a *reducer.Action, now clock.Mark, out *reducer.Out) reducer.Verdict {
	failed := a.Outcome == reducer.Fail || a.Outcome == reducer.Timeout
	counted := failed || a.Outcome == reducer.OK
	told := m.obeys(a) && s.current(&a.Permit) && (s.Mode == Closed || s.Mode == HalfOpen)
	if !counted && !told {
		return s.giveBack(&a.Permit, now)
	}
	if !s.current(&a.Permit) {
		return reducer.Stale
	}
	before := s.Generation
	switch s.Mode {
	case Closed, MetricsOnly:
		if counted && m.count(s, failed, m.slow(a.Mark, now), now, m.bucket(s, now)) {
			s.touch(now)
		}
		if s.Mode == Closed && counted && m.shouldOpen(s) {
			m.open(s, true, now, out)
		}
	case HalfOpen:
		if !s.endProbe(a.ID, now) {
			return reducer.Stale
		}
		if counted {
			slow := m.slow(a.Mark, now)
			s.tally(failed, slow && (!failed || m.config.Successes == 0))
			m.decideHalfOpen(s, told, now, out)
		}
	}
	if told {
		until := now.Add(time.Duration(min(a.Value, uint64(m.config.ObeyRetryAfter))))
		if s.Generation != before {
			until = max(until, s.OpenUntil)
		} else {
			m.open(s, failed || s.Mode == HalfOpen && s.Failed+s.Slow > 0, now, out)
		}
		s.OpenUntil = until
	}
	return reducer.Done
}

// obeys reports whether the answer of an outcome opens the breaker.
func (m *Machine) obeys(a *reducer.Action) bool {
	return m.config.ObeyRetryAfter > 0 && a.Value > 0 && (a.Outcome == reducer.Fail || a.Outcome == reducer.Throttle)
}

func (m *Machine) slow(began, now clock.Mark) bool {
	return m.config.SlowOver > 0 && now.Sub(began) > m.config.SlowOver
}

// shouldOpen reports whether the window of a closed breaker opens it.
func (m *Machine) shouldOpen(s *State) bool {
	c := &m.config
	if m.slowRow(s) || c.Window == Consecutive {
		return m.slowRow(s) || m.failuresReached(s)
	}
	return s.Total >= c.Minimum && m.rateReached(s)
}

// rateReached reports whether the failures or the slow outcomes reach their rate.
func (m *Machine) rateReached(s *State) bool { return m.failuresReached(s) || m.slowReached(s) }

// failuresReached reports whether the failures reach their rate, or their number in a row.
func (m *Machine) failuresReached(s *State) bool {
	c := &m.config
	switch {
	case c.Window != Consecutive:
		return c.FailureRate.Reached(s.Failed, s.Total)
	case s.Mode == HalfOpen:
		return s.Failed > 0
	}
	return s.Failed >= c.Count
}

// slowReached is failuresReached for slow outcomes.
func (m *Machine) slowReached(s *State) bool {
	rate := m.config.SlowRate
	return m.slowRow(s) || rate.Positive() && rate.Reached(s.Slow, s.Total)
}

// slowRow reports whether the slow outcomes in a row open the breaker; half-open one does.
func (m *Machine) slowRow(s *State) bool {
	switch n := m.config.SlowConsecutive; {
	case n == 0:
		return false
	case s.Mode == HalfOpen:
		return s.Slow > 0
	default:
		return uint32(s.SlowRow) >= n
	}
}

// decideHalfOpen ends half-open when the outcomes of the probes suffice. stays says that
// they do not close it.
func (m *Machine) decideHalfOpen(s *State, stays bool, now clock.Mark, out *reducer.Out) {
	switch opens, closes := m.verdict(s); {
	case opens:
		m.open(s, true, now, out)
	case closes && !stays:
		m.enter(s, Closed, now, reducer.NoReason, out)
		if m.config.RampOver > 0 {
			s.RampUntil = now.Add(m.config.RampOver)
		}
	}
}

// verdict reports whether the outcomes of the probes open a half-open breaker or close
// it. Where the successes decide, no outcome is counted both as failed and as slow.
func (m *Machine) verdict(s *State) (opens, closes bool) {
	c := &m.config
	if c.Successes > 0 {
		bad := min(s.Total, s.Failed+s.Slow)
		closes = s.Total-bad >= c.Successes
		return !closes && bad > c.Probes-c.Successes, closes
	}
	in := s.Total >= c.Probes
	if opens = m.slowRow(s); c.Window == Consecutive {
		opens = opens || m.failuresReached(s)
	} else {
		opens = opens || in && m.rateReached(s)
	}
	return opens, in && !opens
}

// transition changes the breaker to the mode in Cost, for an operator. To Open, Mark
// is when it ends; a mark that is not in the future means the open time. A breaker
// that already is in the mode keeps its generation; an open one gets the new end.
func (m *Machine) transition(s *State, a *reducer.Action, now clock.Mark, out *reducer.Out) reducer.Verdict {
	if a.Cost > uint32(MetricsOnly) {
		return reducer.Stale
	}
	m.begin(s, now)
	switch mode := Mode(a.Cost); {
	case mode == Open:
		if s.Mode != Open {
			m.open(s, false, now, out)
		}
		until := now.Add(s.OpenFor)
		if a.Mark > now {
			until = a.Mark
		}
		if s.OpenUntil != until {
			s.OpenUntil = until
			s.touch(now)
		}
	case mode == s.Mode && s.ramps():
		s.endRamp()
		s.touch(now)
	case mode == s.Mode:
	default:
		m.begins(s, mode, now, out)
	}
	return reducer.Done
}

// begin begins the first generation, unless there is one.
func (m *Machine) begin(s *State, now clock.Mark) {
	if s.Generation == 0 {
		m.start(s, now, nil)
	}
}

// start enters the initial mode.
func (m *Machine) start(s *State, now clock.Mark, out *reducer.Out) {
	if m.config.Initial == Open {
		m.open(s, false, now, out)
		return
	}
	m.begins(s, m.config.Initial, now, out)
}

// begins enters a mode other than Open for a reason from outside.
func (m *Machine) begins(s *State, mode Mode, now clock.Mark, out *reducer.Out) {
	if mode == HalfOpen && s.OpenFor == 0 {
		s.OpenFor = m.openTime(s, 1, s.Openings)
	}
	m.enter(s, mode, now, reducer.NoReason, out)
}

// openTime returns how long an opening lasts, by how many of them outcomes caused since
// the last close. Its jitter is seeded with the openings of all time.
func (m *Machine) openTime(s *State, opens, openings uint32) time.Duration {
	before := s.OpenFor
	if opens <= 1 {
		before = 0
	}
	return m.delay.Delay(growth(opens), before, backoff.Word(uint64(openings)))
}

// open enters Open at the mark, for the time that the backoff draws. caused says that
// outcomes that failed or were slow open it; the backoff grows with no other opening, or a
// breaker without calls would be open longer and longer.
func (m *Machine) open(s *State, caused bool, at clock.Mark, out *reducer.Out) {
	if caused {
		s.Opens = tally.Inc(s.Opens)
	}
	m.reopen(s, at, m.openTime(s, s.Opens, tally.Inc(s.Openings)), out)
}

// reopen enters Open at the mark, for a time.
func (m *Machine) reopen(s *State, at clock.Mark, open time.Duration, out *reducer.Out) {
	s.Openings, s.OpenFor = tally.Inc(s.Openings), open
	m.enter(s, Open, at, reducer.ReasonOpen, out)
}

// enter begins a new generation in the mode, without outcomes.
func (m *Machine) enter(s *State, mode Mode, at clock.Mark, why reducer.Reason, out *reducer.Out) {
	generation, openings, opens, openFor := later(s.Generation, 1), s.Openings, s.Opens, s.OpenFor
	*s = State{}
	s.endless()
	s.Last, s.Generation, s.Openings, s.Mode, s.changed = at, generation, openings, mode, true
	switch mode {
	case Open:
		s.Opens, s.OpenFor = opens, openFor
		s.OpenUntil = at.Add(openFor)
	case HalfOpen:
		s.Opens, s.OpenFor = opens, openFor
		if m.config.HalfOpenMax > 0 {
			s.HalfOpenUntil = at.Add(m.config.HalfOpenMax)
		}
	}
	if s.counts() || s.probesLapse() {
		s.Origin = at
	}
	if out != nil {
		*out = append(*out, reducer.Effect{Kind: reducer.Change, Reason: why,
			Permit: reducer.Permit{Generation: uint64(s.Generation), ID: uint64(mode), Mark: at}})
	}
}

// Inherit implements reducer.Cell. Changes that are due until now happen under the old
// configuration. Mode, generation and deadline stay, pending probes stay pending, and
// the finished probes are evaluated again. A changed window starts without outcomes.
func (m *Machine) Inherit(s *State, from reducer.Cell[State], now clock.Mark, out *reducer.Out) {
	old, ok := from.(*Machine)
	if !ok || s.Generation == 0 {
		*s = State{}
		m.Begin(s, now)
		return
	}
	if s.waits() {
		old.advance(s, s.present(now), out)
	}
	switch {
	case s.Mode == HalfOpen && s.Total > 0:
		m.decideHalfOpen(s, false, s.present(now), out)
	case s.counts() && !m.config.sameWindow(&old.config):
		s.words = nil
		s.Total, s.Failed, s.Slow, s.SlowRow, s.Cursor = 0, 0, 0, 0, 0
		if m.config.Window == Time {
			s.Cursor = tally.Bucket(s.Last, s.Origin, uint64(m.config.Count), m.config.Span)
		}
	}
	if m.config.SlowConsecutive == 0 {
		s.SlowRow = 0
	}
	if m.config.RampOver == 0 {
		s.endRamp()
	}
	s.changed = false
}
