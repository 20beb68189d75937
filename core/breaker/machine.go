package breaker

import (
	"github.com/sluice-go/sluice/clock"
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
	r, err := newRules(c)
	if err != nil {
		return nil, err
	}
	if !Fits(c) {
		return nil, reducer.BadCount("window", uint64(c.Count), "at most 320 calls, 5 buckets and 11 probes; NewLarge takes more")
	}
	return &Machine{r}, nil
}

// NewLarge validates the configuration.
func NewLarge(c Config) (*Large, error) {
	r, err := newRules(c)
	if err != nil {
		return nil, err
	}
	return &Large{r}, nil
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

// Enter is the Acquire of a step that admits to a closed breaker, without its
// words; false, and nothing changed, when Step is to be asked.
func (m *Machine) Enter(s *State, now clock.Mark) (reducer.Permit, bool) { return s.Core.enter(now) }

// Enter is that of Machine.
func (m *Large) Enter(s *LargeState, now clock.Mark) (reducer.Permit, bool) { return s.Core.enter(now) }

// Exit is the Record of a success at a closed breaker, without its words; false,
// and nothing changed, when Step is to be asked.
func (m *Machine) Exit(s *State, p reducer.Permit, now clock.Mark, out *reducer.Out) bool {
	return m.exit(&s.Core, s.Words[:], p, now, out)
}

// Exit is that of Machine.
func (m *Large) Exit(s *LargeState, p reducer.Permit, now clock.Mark, out *reducer.Out) bool {
	return m.exit(&s.Core, s.Words, p, now, out)
}

func (s *Core) enter(now clock.Mark) (reducer.Permit, bool) {
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

func (r *rules) exit(s *Core, words []uint64, p reducer.Permit, now clock.Mark, out *reducer.Out) bool {
	if s.Mode != Closed || p.Generation != uint64(s.Generation) {
		return false
	}
	s.Last = max(s.Last, now)
	r.vote(s, words, false, p.Mark, s.Last, out)
	return true
}

// NextWake implements reducer.Machine.
func (m *Machine) NextWake(s State) (clock.Mark, bool) { return m.nextWake(&s.Core, s.Words[:]) }

// NextWake implements reducer.Machine.
func (m *Large) NextWake(s LargeState) (clock.Mark, bool) { return m.nextWake(&s.Core, s.Words) }
