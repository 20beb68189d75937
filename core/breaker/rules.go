package breaker

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/internal/tally"
	"github.com/sluice-go/sluice/reducer"
)

// advance makes the changes that time brings to an open or half-open breaker up
// to now, each at its own mark.
func (m *Machine) advance(s *State, now clock.Mark, out *reducer.Out) {
	for s.Until <= now && s.Until != clock.Never {
		if s.Mode == Open {
			m.enter(s, HalfOpen, s.Until, reducer.NoReason, out)
			continue
		}
		if s.Probed {
			m.open(s, s.Until, out)
			continue
		}
		m.skipIdle(s, now)
		m.reopen(s, s.Until, m.delay.Nominal(growth(tally.Inc(s.Opens))), out)
	}
	if s.Mode == HalfOpen && s.Until == clock.Never {
		s.lapse(now)
	}
}

// skipIdle counts the whole cycles up to now in which a breaker opens, is half-open
// without a probe, and opens again. It leaves the state at the end of the half-open
// stay of the last cycle, and reports none of these changes. The open time after such
// a stay is nominal, so cycles of equal length are counted at once; there are at most
// MaxGrowth of other lengths.
func (m *Machine) skipIdle(s *State, now clock.Mark) {
	if m.config.HalfOpenMax == 0 {
		return
	}
	for {
		n := growth(tally.Inc(s.Opens))
		steady, open := m.delay.Steady(n, MaxGrowth), m.delay.Nominal(n)
		cycle := uint64(m.config.HalfOpenMax) + uint64(open)
		cycles := uint64(now.Sub(s.Until)) / cycle
		if !steady {
			cycles = min(cycles, 1)
		}
		if cycles == 0 {
			return
		}
		s.Until = s.Until.Add(time.Duration(cycles * cycle))
		s.Opens = uint32(min(uint64(s.Opens)+cycles, tally.Max))
		s.Openings = uint32(min(uint64(s.Openings)+cycles, tally.Max))
		s.Generation = later(s.Generation, 2*cycles)
	}
}

// growth returns the attempt that a backoff counts for an opening.
func growth(opening uint32) uint32 { return min(opening, MaxGrowth) }

// later returns the number of the n-th generation after one. The numbers wrap around,
// without 0.
func later(generation uint32, n uint64) uint32 {
	return uint32((uint64(generation)-1+n%tally.Max)%tally.Max) + 1
}

// admits answers an acquire at now.
func (m *Machine) admits(answer *reducer.Answer, s *Core, now clock.Mark) {
	answer.Verdict = reducer.Reject
	switch {
	case s.Mode == Open:
		answer.Reason, answer.Mark = reducer.ReasonOpen, s.Until
	case s.Mode == ForcedOpen:
		answer.Reason, answer.Mark = reducer.ReasonOpen, clock.Never
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

func (m *Machine) record(s *State, a *reducer.Action, now clock.Mark, out *reducer.Out) reducer.Verdict {
	failed := a.Outcome == reducer.Fail || a.Outcome == reducer.Timeout
	if !failed && a.Outcome != reducer.OK {
		return s.giveBack(&a.Permit, now)
	}
	if !s.current(&a.Permit) {
		return reducer.Stale
	}
	switch s.Mode {
	case Closed, MetricsOnly:
		if m.count(s, failed, m.slow(a.Mark, now), m.bucket(s, now)) {
			s.touch(now)
		}
		if s.Mode == Closed && m.shouldOpen(s) {
			m.open(s, now, out)
		}
	case HalfOpen:
		if !s.endProbe(a.ID, now) {
			return reducer.Stale
		}
		slow := m.slow(a.Mark, now)
		s.tally(failed, slow && (!failed || m.config.Successes == 0))
		m.decideHalfOpen(s, now, out)
	}
	return reducer.Done
}

func (m *Machine) slow(began, now clock.Mark) bool {
	return m.config.SlowOver > 0 && now.Sub(began) > m.config.SlowOver
}

// shouldOpen reports whether the window of a closed breaker opens it.
func (m *Machine) shouldOpen(s *State) bool {
	c := &m.config
	if c.Window == Consecutive {
		return s.Failed >= c.Count
	}
	return s.Total >= c.Minimum && m.rateReached(s)
}

// rateReached reports whether the failures or the slow outcomes reach their rate.
func (m *Machine) rateReached(s *State) bool {
	c := &m.config
	return c.FailureRate.Reached(s.Failed, s.Total) || c.SlowRate.Positive() && c.SlowRate.Reached(s.Slow, s.Total)
}

// decideHalfOpen ends half-open when the outcomes of the probes suffice.
func (m *Machine) decideHalfOpen(s *State, now clock.Mark, out *reducer.Out) {
	switch opens, closes := m.verdict(s); {
	case opens:
		m.open(s, now, out)
	case closes:
		m.enter(s, Closed, now, reducer.NoReason, out)
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
	if c.Window == Consecutive {
		opens = s.Failed > 0
	} else {
		opens = in && m.rateReached(s)
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
	s.begin(now)
	switch mode := Mode(a.Cost); {
	case mode == Open:
		if s.Mode != Open {
			m.open(s, now, out)
		}
		until := now.Add(s.OpenFor)
		if a.Mark > now {
			until = a.Mark
		}
		if s.Until != until {
			s.Until = until
			s.touch(now)
		}
	case mode == s.Mode:
	case mode == HalfOpen:
		if s.OpenFor == 0 {
			s.OpenFor = m.openTime(s, 1, s.Openings)
		}
		m.enter(s, mode, now, reducer.NoReason, out)
	default:
		m.enter(s, mode, now, reducer.NoReason, out)
	}
	return reducer.Done
}

// openTime returns how long the n-th opening since the last close lasts. Its
// jitter is seeded with the openings of all time.
func (m *Machine) openTime(s *State, n, openings uint32) time.Duration {
	before := s.OpenFor
	if n == 1 {
		before = 0
	}
	return m.delay.Delay(growth(n), before, backoff.Word(uint64(openings)))
}

// open enters Open at the mark, for the time that the backoff draws.
func (m *Machine) open(s *State, at clock.Mark, out *reducer.Out) {
	m.reopen(s, at, m.openTime(s, tally.Inc(s.Opens), tally.Inc(s.Openings)), out)
}

// reopen enters Open at the mark, for a time.
func (m *Machine) reopen(s *State, at clock.Mark, open time.Duration, out *reducer.Out) {
	s.Opens, s.Openings, s.OpenFor = tally.Inc(s.Opens), tally.Inc(s.Openings), open
	m.enter(s, Open, at, reducer.ReasonOpen, out)
}

// enter begins a new generation in the mode, without outcomes.
func (m *Machine) enter(s *State, mode Mode, at clock.Mark, why reducer.Reason, out *reducer.Out) {
	generation, openings, opens, openFor := later(s.Generation, 1), s.Openings, s.Opens, s.OpenFor
	*s = State{}
	s.Last, s.Until, s.Generation, s.Openings, s.Mode, s.changed = at, clock.Never, generation, openings, mode, true
	switch mode {
	case Open:
		s.Opens, s.OpenFor = opens, openFor
		s.Until = at.Add(openFor)
	case HalfOpen:
		s.Opens, s.OpenFor = opens, openFor
		if m.config.HalfOpenMax > 0 {
			s.Until = at.Add(m.config.HalfOpenMax)
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

// Adopt implements reducer.Cell. Changes that are due until now happen under the old
// configuration. Mode, generation and deadline stay, pending probes stay pending, and
// the finished probes are evaluated again. A changed window starts without outcomes.
func (m *Machine) Adopt(s State, from reducer.Cell[State], now clock.Mark, out *reducer.Out) State {
	old, ok := from.(*Machine)
	if !ok {
		return m.Init(now)
	}
	m.Inherit(&s, old, now, out)
	return s
}

// Inherit is Adopt in place.
func (m *Machine) Inherit(s *State, old *Machine, now clock.Mark, out *reducer.Out) {
	if s.Generation == 0 {
		return
	}
	if s.Mode == Open || s.Mode == HalfOpen {
		old.advance(s, s.present(now), out)
	}
	switch {
	case s.Mode == HalfOpen && s.Total > 0:
		m.decideHalfOpen(s, s.present(now), out)
	case s.counts() && !m.config.sameWindow(&old.config):
		s.words = nil
		s.Total, s.Failed, s.Slow, s.Cursor = 0, 0, 0, 0
		if m.config.Window == Time {
			s.Cursor = tally.Bucket(s.Last, s.Origin, uint64(m.config.Count), m.config.Span)
		}
	}
	s.changed = false
}
