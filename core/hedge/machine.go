package hedge

import (
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable hedge. Its cell has what the calls of a step share: the
// durations of past attempts, for a percentile, and a budget of its own.
//
// Observe adds the duration of the first attempt of a round, Value nanoseconds: of one that
// ended ok, or, with the outcome Cancelled, of one that was cancelled because its hedge won. Peek
// is answered Admit with the delay of the next hedge where it is known,
// else Done. Record, Release and Acquire are those of the budget; without one every
// hedge is granted.
type Machine struct {
	cell.Passive[State]

	config Config
	budget *budget.Machine
	digest uint32
}

var _ reducer.Cell[State] = (*Machine)(nil)

// New validates the configuration.
func New(c Config) (*Machine, error) {
	c = c.WithDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	m := &Machine{config: c}
	digest := wire.NewDigest.Add(uint64(c.Samples))
	if c.Budgeted {
		var err error
		if m.budget, err = budget.New(c.Budget); err != nil {
			return nil, err
		}
		digest = budget.AddTo(digest, &c.Budget)
	}
	m.digest = uint32(digest)
	return m, nil
}

// Config returns the configuration, its defaults in place of zeros.
func (m *Machine) Config() Config { return m.config }

// Budget returns the budget, nil for none.
func (m *Machine) Budget() *budget.Machine { return m.budget }

// Cells returns the maker of the hedge's cells, nil where it keeps no state.
func (m *Machine) Cells() cell.Maker {
	if !m.config.Percentile.Positive() && m.budget == nil {
		return nil
	}
	return cell.Makes(m, cell.Plain[State])
}

// Begin implements reducer.Cell.
func (m *Machine) Begin(*State, clock.Mark) {}

// Step implements reducer.Cell. It has no effects on other callers.
func (m *Machine) Step(s *State, a reducer.Action, now clock.Mark, out *reducer.Out) (answer reducer.Answer) {
	switch a.Kind {
	case reducer.Observe:
		return m.observe(s, a.Value, a.Outcome == reducer.Cancelled)
	case reducer.Peek:
		if delay, ok := m.delay(s); ok {
			answer.After(delay)
			return answer
		}
		answer.Verdict = reducer.Done
		return answer
	case reducer.Reset:
		answer.Verdict, answer.Changed = reducer.Done, !s.unused()
		*s = State{}
		return answer
	}
	if m.budget != nil {
		m.budget.StepInto(&answer, &s.Budget, &a, now)
		return answer
	}
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire:
		answer.Verdict, answer.Permit.Mark = reducer.Admit, now
	case reducer.Record, reducer.Commit, reducer.Tick, reducer.Configure:
		answer.Verdict = reducer.Done
	}
	return answer
}

// observe adds a sample, in place of the oldest one where there are enough.
func (m *Machine) observe(s *State, value uint64, cut bool) reducer.Answer {
	if !m.config.Percentile.Positive() {
		return reducer.Answer{}
	}
	x := sampleOf(time.Duration(min(value, 1<<63-1)), cut)
	if len(s.recent) < int(m.config.Samples) {
		s.recent = append(s.recent, x)
	} else {
		s.drop(s.recent[s.oldest])
		s.recent[s.oldest] = x
		s.oldest = (s.oldest + 1) % len(s.recent)
	}
	s.insert(x)
	if assert.On {
		m.assert(s)
	}
	return reducer.Answer{Verdict: reducer.Done, Changed: true}
}

// delay returns the nearest rank of the percentile: the least duration that so
// many of them do not exceed. An attempt that was cancelled would have taken longer than it
// ran, by an unknown time, so the samples above it take over what it counts, in equal
// parts: the estimator of Kaplan and Meier, with a weight in millionths. Without that the
// delay would follow the times at which hedges win down, and start ever more of them.
func (m *Machine) delay(s *State) (time.Duration, bool) {
	n := len(s.sorted)
	if !m.config.Percentile.Positive() || n < int(m.config.Minimum) {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(n), uint64(m.config.Percentile.Millionths()))
	lo, carry := bits.Add64(lo, uint64(reducer.Whole)-1, 0)
	rank, _ := bits.Div64(hi+carry, lo, uint64(reducer.Whole))
	if !slices.ContainsFunc(s.sorted[:rank], sample.cut) {
		return s.sorted[rank-1].took(), true
	}
	want, sum, weight := uint64(n)*uint64(m.config.Percentile.Millionths()), uint64(0), uint64(reducer.Whole)
	for i, x := range s.sorted[:n-1] {
		if x.cut() {
			weight += weight / uint64(n-1-i)
		} else if sum += weight; sum >= want {
			return x.took(), true
		}
	}
	return s.sorted[n-1].took(), true
}

// Inherit implements reducer.Cell. The latest durations stay, as many as there may
// be; a budget keeps its counts where there was one.
func (m *Machine) Inherit(s *State, from reducer.Cell[State], now clock.Mark, out *reducer.Out) {
	old, ok := from.(*Machine)
	if !ok {
		*s = State{}
		return
	}
	if keep := s.ordered(); len(keep) != int(m.config.Samples) || !m.config.Percentile.Positive() {
		most := 0
		if m.config.Percentile.Positive() {
			most = int(m.config.Samples)
		}
		s.set(keep[max(0, len(keep)-most):])
	}
	switch {
	case m.budget == nil || old.budget == nil:
		s.Budget = budget.State{}
	default:
		m.budget.Inherit(&s.Budget, old.budget, now, out)
	}
}

// Clone implements reducer.Cell.
func (m *Machine) Clone(dst, src *State) {
	*dst = *src
	dst.recent, dst.sorted = slices.Clone(src.recent), slices.Clone(src.sorted)
}

// Move implements reducer.Cell. Durations have no mark.
func (m *Machine) Move(s *State, by time.Duration) {
	if m.budget != nil {
		m.budget.Move(&s.Budget, by)
	}
}

// unused reports whether nothing was observed or counted yet.
func (s *State) unused() bool {
	return len(s.recent) == 0 && s.Budget == (budget.State{})
}

// Class implements reducer.Cell: durations and a budget are not used up.
func (m *Machine) Class(s *State, _ clock.Mark) (reducer.Class, clock.Mark) {
	return reducer.Steady(s.unused())
}

// AppendText implements reducer.Cell, as in "durations 20 delay 150ms".
func (m *Machine) AppendText(dst []byte, s *State, now clock.Mark) []byte {
	if m.config.Percentile.Positive() {
		dst = strconv.AppendInt(append(dst, "durations "...), int64(len(s.recent)), 10)
		if delay, ok := m.delay(s); ok {
			dst = append(append(dst, " delay "...), delay.String()...)
		}
	}
	if m.budget != nil {
		if m.config.Percentile.Positive() {
			dst = append(dst, ' ')
		}
		dst = m.budget.AppendText(dst, &s.Budget, now)
	}
	return dst
}
