package breaker

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/tally"
	"github.com/sluice-go/sluice/reducer"
)

// step is the transition of both machines. At one mark what ends comes before
// the changes that time brings: a probe that is over at the very mark at which
// its place would be taken back still counts.
func (r *rules) step(s *Core, words []uint64, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	if s.Generation > 0 {
		now = max(now, s.Last)
	}
	if a.Kind == reducer.Peek {
		return r.peek(s, words, a, now)
	}
	if s.Generation == 0 {
		if a.Kind == reducer.Tick {
			return reducer.Answer{Verdict: reducer.Done}
		}
		s.Generation, s.Origin = 1, now
	}
	s.Last = now
	until := now
	switch a.Kind {
	case reducer.Record, reducer.Cancel, reducer.Release:
		until = now.Add(-1)
	}
	if s.Mode == Open || s.Mode == HalfOpen {
		r.advance(s, words, until, out)
	}
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire:
		return r.acquire(s, words, now)
	case reducer.Record:
		return r.record(s, words, a, now, out)
	case reducer.Cancel, reducer.Release:
		return r.giveBack(s, words, a.Permit)
	case reducer.Commit, reducer.Tick:
		return reducer.Answer{Verdict: reducer.Done}
	case reducer.Transition:
		return r.transition(s, words, a, now, out)
	case reducer.Reset:
		r.enter(s, words, Closed, now, reducer.NoReason, out)
		s.Opens, s.Openings, s.OpenFor = 0, 0, 0
		return reducer.Answer{Verdict: reducer.Done}
	}
	return reducer.Answer{}
}

// advance makes the changes that time brings, each at its own mark.
func (r *rules) advance(s *Core, words []uint64, now clock.Mark, out *reducer.Out) {
	for cycles := 0; s.Until <= now && s.Until != clock.Never; {
		if s.Mode == Open {
			r.enter(s, words, HalfOpen, s.Until, reducer.NoReason, out)
			continue
		}
		if s.Mode != HalfOpen {
			return
		}
		r.idle(s, now, cycles)
		cycles++
		r.open(s, words, s.Until, out)
	}
	if s.Mode != HalfOpen || s.Out == 0 || s.Until != clock.Never {
		return
	}
	for i, word := range words {
		if word != 0 && s.lapses(word) <= now {
			words[i] = 0
			s.Out--
		}
	}
}

// stepped is how many times in a step a breaker opens one after another before
// the rest of an idle night is taken in one leap.
const stepped = 1_000

// idle leaps over the cycles of open and half-open that pass without a probe
// when the open time no longer changes: up to now, all but the last are counted
// and not told. One that changes with every opening, by jitter, counts as
// constant after so many of them.
func (r *rules) idle(s *Core, now clock.Mark, cycles int) {
	next := tally.Inc(s.Opens)
	open := r.delay.Nominal(next)
	constant := !r.delay.Random() && open == r.delay.Nominal(tally.Inc(next))
	if r.config.HalfOpenMax == 0 || s.Head > 0 || !constant && cycles < stepped {
		return
	}
	cycle := r.config.HalfOpenMax + open
	if cycle <= 0 {
		return // longer than the line of marks
	}
	n := uint64(now.Sub(s.Until) / cycle)
	s.Until = s.Until.Add(time.Duration(n) * cycle)
	s.Opens = uint32(min(uint64(s.Opens)+n, tally.Max))
	s.Openings = uint32(min(uint64(s.Openings)+n, tally.Max))
	s.Generation = max(1, s.Generation+uint32(2*n))
}

// peek answers as acquire would, on a copy that has seen time pass. One that
// brings an outcome is asked by who ends at this mark, before the changes that
// are due at it.
func (r *rules) peek(s *Core, words []uint64, a reducer.Action, now clock.Mark) reducer.Answer {
	until := now
	if a.Outcome != 0 {
		until = now.Add(-1)
	}
	c := *s
	if c.Mode == Open || c.Mode == HalfOpen {
		for _, word := range words {
			if c.Mode == HalfOpen && c.Until == clock.Never && word != 0 && c.lapses(word) <= until {
				c.Out--
			}
		}
		r.advance(&c, nil, until, nil)
	}
	return r.admits(&c, now)
}

func (r *rules) admits(s *Core, now clock.Mark) reducer.Answer {
	switch {
	case s.Mode == Open:
		return reducer.Rejected(reducer.ReasonOpen, s.Until)
	case s.Mode == ForcedOpen:
		return reducer.Rejected(reducer.ReasonOpen, clock.Never)
	case s.Mode == HalfOpen && uint32(s.Out)+s.Total >= r.config.Probes:
		return reducer.Rejected(reducer.ReasonProbes, now.Add(s.OpenFor))
	}
	return reducer.Admitted(reducer.Permit{Generation: uint64(s.Generation), Mark: now})
}

func (r *rules) acquire(s *Core, words []uint64, now clock.Mark) reducer.Answer {
	answer := r.admits(s, now)
	if answer.Verdict == reducer.Admit && s.Mode == HalfOpen {
		answer.ID = s.sendProbe(words, now)
	}
	return answer
}

// giveBack frees the place of a probe whose outcome does not vote.
func (r *rules) giveBack(s *Core, words []uint64, p reducer.Permit) reducer.Answer {
	if p.Generation != uint64(s.Generation) || s.Mode == HalfOpen && !s.endProbe(words, p.ID) {
		return reducer.Answer{}
	}
	return reducer.Answer{Verdict: reducer.Done}
}

func (r *rules) record(s *Core, words []uint64, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	failed := a.Outcome == reducer.Fail || a.Outcome == reducer.Timeout
	if !failed && a.Outcome != reducer.OK {
		return r.giveBack(s, words, a.Permit)
	}
	if a.Generation != uint64(s.Generation) {
		return reducer.Answer{}
	}
	switch s.Mode {
	case Closed, MetricsOnly:
		r.vote(s, words, failed, a.Mark, now, out)
	case HalfOpen:
		if !s.endProbe(words, a.ID) {
			return reducer.Answer{}
		}
		s.tally(failed, r.slow(a.Mark, now))
		r.judge(s, words, now, out)
	}
	return reducer.Answer{Verdict: reducer.Done}
}

func (r *rules) slow(began, now clock.Mark) bool {
	return r.config.SlowOver > 0 && now.Sub(began) > r.config.SlowOver
}

// vote counts an outcome of a breaker that is not half-open, and opens it when
// that is what the window says.
func (r *rules) vote(s *Core, words []uint64, failed bool, began, now clock.Mark, out *reducer.Out) {
	r.count(s, words, failed, r.slow(began, now), now)
	if s.Mode == Closed && r.trips(s) {
		r.open(s, words, now, out)
	}
}

// trips reports whether the window of a closed breaker opens it.
func (r *rules) trips(s *Core) bool {
	c := &r.config
	if c.Window == Consecutive {
		return s.Failed >= c.Count
	}
	return s.Total >= c.Minimum && r.bad(s)
}

// bad reports whether a rate is reached.
func (r *rules) bad(s *Core) bool {
	c := &r.config
	return c.FailureRate.Reached(s.Failed, s.Total) || c.SlowRate > 0 && c.SlowRate.Reached(s.Slow, s.Total)
}

// judge gives the verdict of the probes when it can.
func (r *rules) judge(s *Core, words []uint64, now clock.Mark, out *reducer.Out) {
	consecutive := r.config.Window == Consecutive
	switch {
	case consecutive && s.Failed > 0:
		r.open(s, words, now, out)
	case s.Total < r.config.Probes:
	case !consecutive && r.bad(s):
		r.open(s, words, now, out)
	default:
		r.enter(s, words, Closed, now, reducer.NoReason, out)
		s.Opens = 0
	}
}

// transition moves the breaker by hand to the mode in Cost. To Open, Mark is
// when it ends; a mark that is not in the future means the open time.
func (r *rules) transition(s *Core, words []uint64, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	mode := Mode(a.Cost)
	if a.Cost > uint32(MetricsOnly) {
		return reducer.Answer{}
	}
	switch mode {
	case Open:
		r.open(s, words, now, out)
		if a.Mark > now {
			s.Until = a.Mark
		}
	case HalfOpen:
		if s.OpenFor == 0 {
			s.OpenFor = r.openFor(s, 1)
		}
		r.enter(s, words, mode, now, reducer.NoReason, out)
	default:
		r.enter(s, words, mode, now, reducer.NoReason, out)
		s.Opens = 0
	}
	return reducer.Answer{Verdict: reducer.Done}
}

// open enters Open at the mark for the time that this opening asks for.
func (r *rules) open(s *Core, words []uint64, at clock.Mark, out *reducer.Out) {
	s.Opens = tally.Inc(s.Opens)
	s.Openings = tally.Inc(s.Openings)
	s.OpenFor = r.openFor(s, s.Opens)
	r.enter(s, words, Open, at, reducer.ReasonOpen, out)
}

// enter begins a new generation in the mode, without outcomes.
func (r *rules) enter(s *Core, words []uint64, mode Mode, at clock.Mark, why reducer.Reason, out *reducer.Out) {
	clear(words)
	s.Mode = mode
	s.Generation = max(1, s.Generation+1)
	s.Origin = at
	s.Head, s.Total, s.Failed, s.Slow, s.Out = 0, 0, 0, 0, 0
	s.Until = clock.Never
	switch {
	case mode == Open:
		s.Until = at.Add(s.OpenFor)
	case mode == HalfOpen && r.config.HalfOpenMax > 0:
		s.Until = at.Add(r.config.HalfOpenMax)
	}
	if out != nil {
		*out = append(*out, reducer.Effect{Kind: reducer.Change, Reason: why,
			Permit: reducer.Permit{Generation: uint64(s.Generation), ID: uint64(mode), Mark: at}})
	}
}

func (s *Core) wake(words []uint64) clock.Mark {
	at := clock.Never
	if s.Mode == Open || s.Mode == HalfOpen {
		at = s.Until
	}
	if s.Mode == HalfOpen && s.Until == clock.Never && s.Out > 0 {
		for _, word := range words {
			if word != 0 {
				at = min(at, s.lapses(word))
			}
		}
	}
	return at
}

// Adopt takes over the state s and the words old of a breaker with another
// configuration into s and words. Mode and deadline stay. A changed window
// starts without outcomes; the outcomes of probes stay.
func (r *rules) Adopt(s *Core, words, old []uint64, from Config, now clock.Mark, out *reducer.Out) {
	clear(words)
	if s.Generation == 0 {
		return
	}
	s.Last = max(s.Last, now)
	c := &r.config
	switch {
	case s.Mode == HalfOpen:
		s.Out = 0
		for _, word := range old {
			if word != 0 && int(s.Out) < len(words) {
				words[s.Out] = word
				s.Out++
			}
		}
		if s.Total > 0 {
			r.judge(s, words, s.Last, out)
		}
	case c.Window != from.Window || c.Count != from.Count || c.Span != from.Span:
		s.Head, s.Total, s.Failed, s.Slow = 0, 0, 0, 0
	default:
		copy(words, old)
	}
}

// Recall gives back the places of all probes that are out, whose process is
// gone.
func Recall(s *Core, words []uint64) {
	if s.Mode == HalfOpen {
		clear(words)
		s.Out = 0
	}
}

// Config returns the configuration.
func (r *rules) Config() Config { return r.config }

// Words returns how many words the state of the configuration has.
func (r *rules) Words() int { return r.config.words() }
