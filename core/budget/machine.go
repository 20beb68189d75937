package budget

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/tally"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable retry budget. Record counts a first attempt, Acquire
// asks for a retry.
type Machine struct {
	config  Config
	minimum uint64 // retries a window that are always allowed
}

var _ reducer.Cell[State] = (*Machine)(nil)

// MaxRatio is ten retries for each first attempt.
const MaxRatio = 10 * reducer.Whole

// New validates the configuration.
func New(c Config) (*Machine, error) {
	switch {
	case c.Ratio > MaxRatio:
		return nil, reducer.BadShare("budget.ratio", c.Ratio, "at most 1000%")
	case c.Window < buckets:
		return nil, reducer.BadDuration("budget.window", c.Window, "at least 10ns")
	case c.MinimumCount > 0 && c.MinimumPeriod <= 0:
		return nil, reducer.BadDuration("budget.minimum", c.MinimumPeriod, "a rate")
	}
	m := &Machine{config: c}
	if c.MinimumCount > 0 {
		hi, lo := bits.Mul64(uint64(c.MinimumCount), uint64(c.Window))
		if hi >= uint64(c.MinimumPeriod) {
			return nil, reducer.BadCount("budget.minimum", uint64(c.MinimumCount), "fewer retries a window")
		}
		m.minimum, _ = bits.Div64(hi, lo, uint64(c.MinimumPeriod))
	}
	return m, nil
}

// Init implements reducer.Machine. The first attempt of all begins the window.
func (m *Machine) Init(clock.Mark) State { return State{} }

// Reduce implements reducer.Machine.
func (m *Machine) Reduce(s State, a reducer.Action, now clock.Mark) (State, reducer.Effects) {
	answer := m.Step(&s, a, now, nil)
	return s, reducer.Effects{Answer: answer}
}

// Step implements reducer.Cell. Nothing happens to others than the caller.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, _ *reducer.Out) reducer.Answer {
	switch a.Kind {
	case reducer.Record:
		m.rotate(s.begin(now), now)
		b := s.bucket()
		b.First = tally.Inc(b.First)
		return reducer.Answer{Verdict: reducer.Done}
	case reducer.Acquire, reducer.TryAcquire:
		now = m.rotate(s, now)
		answer := m.answer(s, now)
		if answer.Verdict == reducer.Admit {
			b := s.begin(now).bucket()
			b.Retries = tally.Inc(b.Retries)
		}
		return answer
	case reducer.Peek:
		seen := *s
		now = m.rotate(&seen, now)
		return m.answer(&seen, now)
	case reducer.Reset:
		*s = State{}
		return reducer.Answer{Verdict: reducer.Done}
	}
	return reducer.Answer{}
}

// answer is that to who asks for a retry.
func (m *Machine) answer(s *State, now clock.Mark) reducer.Answer {
	free := m.free(s)
	if free == 0 {
		return reducer.Rejected(reducer.ReasonBudget, clock.Never)
	}
	answer := reducer.Admitted(reducer.Permit{Mark: now})
	answer.Free = uint32(min(free, 1<<32-1))
	return answer
}

// free returns how many retries the window still allows.
func (m *Machine) free(s *State) uint64 {
	var first, retries uint64
	for i := range s.Buckets {
		b := &s.Buckets[i]
		first += uint64(b.First)
		retries += uint64(b.Retries)
	}
	allowed, carry := bits.Add64(m.minimum, first*uint64(m.config.Ratio)/uint64(reducer.Whole), 0)
	if carry != 0 {
		allowed = 1<<64 - 1
	}
	return allowed - min(retries, allowed)
}

// rotate drops the buckets that left the window and returns the present mark.
// The number of a bucket is floor((now - Origin) x 10 / Window), exactly.
func (m *Machine) rotate(s *State, now clock.Mark) clock.Mark {
	now = max(now, s.Last)
	s.Last = now
	if !s.Begun {
		return now
	}
	present := tally.Bucket(now, s.Origin, buckets, m.config.Window)
	for range min(buckets, present-s.Head) {
		s.Head++
		s.Buckets[s.Head%buckets] = Bucket{}
	}
	s.Head = present
	return now
}

// Adopt takes over the counts of a budget with another configuration. With
// another window it counts from nothing, in buckets cut from the same mark.
func (m *Machine) Adopt(s State, from *Machine) State {
	if m.config.Window != from.config.Window {
		return State{Begun: s.Begun, Origin: s.Origin, Last: s.Last}
	}
	return s
}

// NextWake implements reducer.Machine: buckets leave by themselves.
func (m *Machine) NextWake(State) (clock.Mark, bool) { return clock.Never, false }

// Wake is NextWake in place, clock.Never for none.
func (m *Machine) Wake(*State) clock.Mark { return clock.Never }

// Clone implements reducer.Cell.
func (m *Machine) Clone(s State) State { return s }

// Shift implements reducer.Cell.
func (m *Machine) Shift(s State, by time.Duration) State {
	m.Move(&s, by)
	return s
}

// Move is Shift in place.
func (m *Machine) Move(s *State, by time.Duration) {
	if s.Begun {
		s.Origin = s.Origin.Add(by)
	}
	s.Last = s.Last.Add(by)
}

// Fresh reports that no first attempt has begun a window.
func (m *Machine) Fresh(s State, _ clock.Mark) bool { return !s.Begun }

// AppendText implements reducer.Cell, as in "retries left 12".
func (m *Machine) AppendText(dst []byte, s State, now clock.Mark) []byte {
	m.rotate(&s, now)
	return strconv.AppendUint(append(dst, "retries left "...), m.free(&s), 10)
}
