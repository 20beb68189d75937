package hedge

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/internal/sorting"
	"github.com/sluice-go/sluice/core/internal/wire"
)

// State is what the calls of a step share: the durations of the last attempts that
// ended ok, and the budget of hedges.
type State struct {
	Budget budget.State

	recent []time.Duration // a ring, from oldest on
	sorted []time.Duration // the same, in ascending order
	oldest int
}

// insert adds a duration to the sorted ones.
func (s *State) insert(took time.Duration) {
	i, _ := slices.BinarySearch(s.sorted, took)
	s.sorted = sorting.Insert(s.sorted, i, took)
}

// drop removes a duration from the sorted ones.
func (s *State) drop(took time.Duration) {
	i, _ := slices.BinarySearch(s.sorted, took)
	s.sorted = sorting.Remove(s.sorted, i)
}

// ordered returns the durations, the oldest first.
//
//go:noinline
func (s *State) ordered() []time.Duration {
	return slices.Concat(s.recent[s.oldest:], s.recent[:s.oldest])
}

// set replaces the durations.
func (s *State) set(recent []time.Duration) {
	s.recent, s.oldest = slices.Clip(recent), 0
	s.sorted = ascending(recent)
}

// ascending returns durations from the least one on.
func ascending(durations []time.Duration) []time.Duration {
	items := make([]sorting.Item, len(durations))
	for i, d := range durations {
		items[i] = sorting.Item{Key: sorting.Signed(int64(d)), Index: uint32(i)}
	}
	sorting.Sort(items)
	sorted := make([]time.Duration, len(durations))
	for i := range items {
		sorted[i] = durations[items[i].Index]
	}
	return sorted
}

const tag = 'h'

var errState = wire.Invalid("hedge: durations do not agree")

// Check implements reducer.Cell.
func (m *Machine) Check(s State) error {
	if !slices.Equal(ascending(s.recent), s.sorted) || s.oldest != 0 && s.oldest >= len(s.recent) || !m.fits(&s) {
		return errState
	}
	if m.budget != nil {
		return m.budget.Check(s.Budget)
	}
	return nil
}

// MaxSize implements cell.Machine.
func (m *Machine) MaxSize() int {
	size := wire.HeaderSize + 4
	if m.config.Percentile.Positive() {
		size += int(m.config.Samples) * wire.UvarintSize(1<<63-1)
	}
	if m.budget != nil {
		size += 4 + m.budget.MaxSize()
	}
	return size
}

// AppendState implements reducer.Cell: the durations, the oldest first, as
// varints; the budget, where there is one.
func (m *Machine) AppendState(dst []byte, s State) []byte { return m.Encode(dst, &s) }

// Encode is AppendState in place.
func (m *Machine) Encode(dst []byte, s *State) []byte {
	c := wire.Writer(dst, tag, m.digest)
	recent := s.ordered()
	m.code(&c, &recent)
	if m.budget != nil {
		own := m.budget.Encode(nil, &s.Budget)
		c.Blob(&own)
	}
	return c.Bytes()
}

func (m *Machine) code(c *wire.Coder, recent *[]time.Duration) {
	n := c.Len(len(*recent), 1)
	if c.Reads() {
		*recent = make([]time.Duration, n)
	}
	for i := range *recent {
		took := uint64((*recent)[i])
		c.Uvarint(&took)
		(*recent)[i] = time.Duration(took)
	}
}

// DecodeState implements reducer.Cell. A state of another number of samples or
// another window of its budget is refused with reducer.ErrConfiguration.
func (m *Machine) DecodeState(src []byte) (State, error) { return wire.Decoded(src, m.Decode) }

// Decode is DecodeState in place, into a state that is zero. After an error the state
// is undefined.
func (m *Machine) Decode(src []byte, s *State) error {
	c := wire.Reader(src, tag, m.digest)
	var recent []time.Duration
	m.code(&c, &recent)
	var own []byte
	if m.budget != nil {
		c.Blob(&own)
	}
	if err := c.Close(); err != nil {
		return err
	}
	if m.budget != nil {
		if err := m.budget.Decode(own, &s.Budget); err != nil {
			return err
		}
	}
	if s.set(recent); !m.fits(s) {
		return wire.Broken(errState)
	}
	return nil
}

// fits reports whether there are at most so many durations as there may be, and none
// is negative.
func (m *Machine) fits(s *State) bool {
	return len(s.sorted) <= int(m.config.Samples) && (len(s.sorted) == 0 || s.sorted[0] >= 0)
}
