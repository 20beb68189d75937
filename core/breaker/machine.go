package breaker

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/tally"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable circuit breaker whose state has no pointers.
type Machine struct{ rules }

// Large is a circuit breaker of any configuration; its state has one slice.
type Large struct{ rules }

var (
	_ reducer.Cell[State]      = (*Machine)(nil)
	_ reducer.Cell[LargeState] = (*Large)(nil)
)

// New validates the configuration. One that does not fit the small state, see
// Fits, is an error; NewLarge takes it.
func New(c Config) (*Machine, error) {
	m := &Machine{}
	if err := m.set(c); err != nil {
		return nil, err
	}
	if !Fits(c) {
		return nil, reducer.BadCount("window", uint64(c.Count), "at most 320 calls, 5 buckets and 11 probes; NewLarge takes more")
	}
	return m, nil
}

// NewLarge validates the configuration.
func NewLarge(c Config) (*Large, error) {
	m := &Large{}
	if err := m.set(c); err != nil {
		return nil, err
	}
	return m, nil
}

// Fits reports whether the configuration needs no more than a State.
func Fits(c Config) bool { return c.words() <= smallWords }

// Init implements reducer.Machine. The first step begins the first generation.
func (m *Machine) Init(clock.Mark) State { return State{} }

// Init implements reducer.Machine. The first step begins the first generation.
func (m *Large) Init(clock.Mark) LargeState {
	return LargeState{Words: make([]uint64, m.config.words())}
}

// Reduce implements reducer.Machine.
func (m *Machine) Reduce(s State, a reducer.Action, now clock.Mark) (State, reducer.Effects) {
	var out reducer.Out
	answer := m.step(&s.Core, s.Words[:], a, now, &out)
	return s, reducer.Effects{Answer: answer, Others: out}
}

// Reduce implements reducer.Machine.
func (m *Large) Reduce(s LargeState, a reducer.Action, now clock.Mark) (LargeState, reducer.Effects) {
	s = m.Clone(s)
	var out reducer.Out
	answer := m.step(&s.Core, s.Words, a, now, &out)
	return s, reducer.Effects{Answer: answer, Others: out}
}

// Step implements reducer.Cell.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return m.step(&s.Core, s.Words[:], a, now, out)
}

// Step implements reducer.Cell.
func (m *Large) Step(s *LargeState, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return m.step(&s.Core, s.Words, a, now, out)
}

// Exit is the Record of a success at a closed breaker, without its words; false,
// and nothing changed, when Step is to be asked: the success was slow, begins a
// bucket, or may be the one that makes the minimum.
func (m *Large) Exit(s *LargeState, p reducer.Permit, now clock.Mark) bool {
	return m.exit(&s.Core, s.Words, p, now)
}

// Enter is the Acquire of a step that admits to a closed breaker, without its
// words; false, and nothing changed, when Step is to be asked.
func (s *Core) Enter(now clock.Mark) (reducer.Permit, bool) {
	if s.Mode != Closed || s.Generation == 0 {
		return reducer.Permit{}, false
	}
	s.Last = max(s.Last, now)
	return reducer.Permit{Generation: uint64(s.Generation), Mark: s.Last}, true
}

// Shut is the Acquire of a step that an open breaker refuses, without its words:
// the mark at which it would let somebody try. False, and nothing changed, when
// Step is to be asked.
func (s *Core) Shut(now clock.Mark) (until clock.Mark, shut bool) {
	now = max(now, s.Last)
	if s.Mode != Open || s.Until <= now {
		return clock.Never, false
	}
	s.Last = now
	return s.Until, true
}

func (r *rules) exit(s *Core, words []uint64, p reducer.Permit, now clock.Mark) bool {
	if s.Mode != Closed || p.Generation != uint64(s.Generation) {
		return false
	}
	now = max(s.Last, now)
	if r.slow(p.Mark, now) || r.mayTrip(s, now) {
		return false
	}
	s.Last = now
	r.count(s, words, false, false, now)
	return true
}

// mayTrip reports whether one more success that is not slow may open a closed
// breaker. It lowers the shares of what failed and of what was slow, if only the
// window ends where it did.
func (r *rules) mayTrip(s *Core, now clock.Mark) bool {
	c := &r.config
	if c.Window == Time && s.Head != tally.Bucket(now, s.Origin, uint64(c.Count), c.Span) {
		return true
	}
	return c.Window != Consecutive && s.Total > 0 && s.Total+1 >= c.Minimum && r.bad(s)
}

// NextWake implements reducer.Machine.
func (m *Machine) NextWake(s State) (clock.Mark, bool) {
	at := s.Core.wake(s.Words[:])
	return at, at != clock.Never
}

// NextWake implements reducer.Machine.
func (m *Large) NextWake(s LargeState) (clock.Mark, bool) {
	at := m.Wake(&s)
	return at, at != clock.Never
}

// Wake is NextWake in place, clock.Never for none.
func (m *Large) Wake(s *LargeState) clock.Mark { return s.Core.wake(s.Words) }
