package adaptive

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// leastCalls is how many calls of a round say enough.
const leastCalls = 10

// class is what the outcome of an attempt says about the limit.
type class uint8

const (
	nothing class = iota
	quick         // it came in half of the time
	good          // it came in time
	late          // it came, too late
	cut           // it did not come: a timeout, a refusal of the dependency, a failure as long
)

// classOf returns what an outcome says. over is the longest duration of a timely one.
func classOf(outcome reducer.Outcome, took, over time.Duration) class {
	switch {
	case outcome == reducer.OK && took <= over/2:
		return quick
	case outcome == reducer.OK && took <= over:
		return good
	case outcome == reducer.OK:
		return late
	case outcome == reducer.Timeout, outcome == reducer.Throttle, outcome == reducer.Fail && took >= over:
		return cut
	}
	return nothing
}

// count counts an outcome of some places.
func (r *Round) count(c class, places uint32) {
	r.Calls++
	r.add(c, places)
}

// discount is the reverse of count.
func (r *Round) discount(c class, places uint32) {
	r.Calls--
	r.add(c, -places)
}

func (r *Round) add(c class, places uint32) {
	switch c {
	case quick:
		r.Good += places
		r.Quick += places
	case good:
		r.Good += places
	case late:
		r.Late += places
	case cut:
		r.Cut += places
	}
}

// enough reports whether a round has so many outcomes that it ends with the first one of a
// call that was admitted in it.
func (s *State) enough() bool {
	return s.Round.Calls >= leastCalls && s.Round.ended() >= uint64(s.Limit)
}

// record frees the places of an attempt that ended, counts how it ended, and ends the
// round. p.Mark is when it began.
func (m *Machine) record(s *State, p *reducer.Permit, outcome reducer.Outcome, now clock.Mark) bool {
	before, held := s.Last, s.Held
	if !s.release(p, now) {
		return false
	}
	took := time.Duration(0)
	if p.Mark != clock.Always {
		took = max(0, now.Sub(p.Mark))
	}
	said := classOf(outcome, took, s.over[p.ID-1])
	old := p.Generation <= s.Round.Grant
	if said == nothing || said >= late && old && s.Fall.Last {
		return true
	}
	s.Round.count(said, held-s.Held)
	if old || !s.enough() {
		return true
	}
	end := m.ended(s, said, held-s.Held, before)
	if said == cut && outcome == reducer.Fail {
		end.limit = min(end.limit, s.Limit) // had it come sooner, it would say nothing
	}
	s.Fall, s.Settled = end.fall, s.Settled || end.limit < s.Limit
	s.Limit = end.limit
	s.Round = Round{Since: now, Grant: s.Serial, Peak: s.Held}
	return true
}

// ended returns what follows from the round that an answer of some places ends. Had the
// answer come later, the limit would not be larger: the round counts until the step before
// the answer, and a success counts as what it would have been in less time where that
// leads to a lower limit.
func (m *Machine) ended(s *State, said class, places uint32, before clock.Mark) verdict {
	end := m.judge(s, &s.Round, before)
	if said == cut {
		return end
	}
	for sooner := said - 1; sooner > nothing; sooner-- {
		r := s.Round
		r.discount(said, places)
		r.count(sooner, places)
		if other := m.judge(s, &r, before); other.limit < end.limit {
			end = other
		}
	}
	return end
}

// verdict is what follows from a round.
type verdict struct {
	limit uint32
	fall  Fall
}

// judge returns what follows from a round that ends at a mark.
func (m *Machine) judge(s *State, r *Round, now clock.Mark) verdict {
	f, took := s.Fall, max(1, now.Sub(r.Since))
	f.Last = false
	used := 2*uint64(r.Peak) >= uint64(s.Limit)
	mostlyCut := 2*uint64(r.Cut) > r.ended()
	switch bad := r.bad(); {
	case bad*uint64(reducer.Whole) <= uint64(m.config.Tolerance.Millionths())*r.ended():
		f.Hold, f.Next = 0, 0
		return verdict{m.raised(s, r, used), f}
	case !mostlyCut && r.quick() && 10*uint64(r.Late) <= uint64(r.Good):
		// Calls hang, and all others are answered at once: that is not for want of room.
		return verdict{m.raised(s, r, used), f}
	case s.Fall.Last && used && 2*bad <= r.ended() && stillBad(r, &f) && costly(r, took, s.Limit, &f):
		f.Hold, f.Next = 1<<f.Next, min(f.Next+1, MaxHold)
		return verdict{m.within(f.Limit), f}
	case f.Hold > 0 && !mostlyCut:
		f.Hold--
		if used && noWorse(r, &f) {
			return verdict{m.risen(s.Limit), f}
		}
		return verdict{s.Limit, f}
	default:
		f.Limit, f.Good, f.Bad, f.Took, f.Last = s.Limit, r.Good, uint32(bad), took, true
		return verdict{m.lowered(s.Limit, r), f}
	}
}

// quick reports whether three quarters of the good answers took at most half of the time.
func (r *Round) quick() bool { return 4*uint64(r.Quick) >= 3*uint64(r.Good) }

// stillBad reports whether the share of bad outcomes is above 70 % of the share of the round
// before the decrease.
func stillBad(r *Round, f *Fall) bool {
	return 10*r.bad()*(uint64(f.Good)+uint64(f.Bad)) > 7*uint64(f.Bad)*r.ended()
}

// noWorse reports whether the share of bad outcomes is below 130 % of that.
func noWorse(r *Round, f *Fall) bool {
	return 10*r.bad()*(uint64(f.Good)+uint64(f.Bad)) < 13*uint64(f.Bad)*r.ended()
}

// costly reports whether goodput fell by more than 60 % of the part by which the limit
// fell: good/took < f.Good/f.Took x (1 - 0.6 (f.Limit - limit)/f.Limit). The products are
// at most 2^35 x 2^63.
func costly(r *Round, took time.Duration, limit uint32, f *Fall) bool {
	now, before := 10*uint64(r.Good)*uint64(f.Limit), uint64(f.Good)*(4*uint64(f.Limit)+6*uint64(limit))
	nowHigh, nowLow := bits.Mul64(now, uint64(f.Took))
	high, low := bits.Mul64(before, uint64(took))
	return nowHigh < high || nowHigh == high && nowLow < low
}

// lowered returns the limit less Decrease, or half of the share of bad outcomes where that
// is more, rounded down: half of the limit at least where most outcomes are bad.
func (m *Machine) lowered(limit uint32, r *Round) uint32 {
	bad, of := r.bad(), 2*r.ended()
	if of < 4*bad {
		bad, of = 1, 2
	}
	if decrease := uint64(m.config.Decrease.Millionths()); bad*uint64(reducer.Whole) <= decrease*of {
		bad, of = decrease, uint64(reducer.Whole)
	}
	return m.within(uint32(uint64(limit) * (of - bad) / of))
}

// raised returns the limit after a round that does not lower it. Until it is first lowered
// it grows by half with each round in which all of it was used and answers were quick.
func (m *Machine) raised(s *State, r *Round, used bool) uint32 {
	switch {
	case !used:
		return s.Limit
	case !s.Settled && r.Peak >= s.Limit && r.quick():
		return m.within(s.Limit + max(m.config.Increase, uint32(min(r.ended(), uint64(s.Limit)))/2))
	}
	return m.risen(s.Limit)
}

// risen returns the limit more Increase, or the number of its digits above one where that
// is more: its logarithm, rounded down.
func (m *Machine) risen(limit uint32) uint32 {
	more := uint32(0)
	for _, power := range [...]uint32{10, 100, 1_000, 10_000} {
		if limit >= power {
			more++
		}
	}
	return m.within(limit + max(m.config.Increase, more))
}

// within keeps a limit in its bounds.
func (m *Machine) within(limit uint32) uint32 {
	return min(max(limit, m.config.Minimum), m.config.Maximum)
}
