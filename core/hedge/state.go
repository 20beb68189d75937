package hedge

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/internal/sorting"
	"github.com/sluice-go/sluice/core/wire"
)

// State is what the calls of a step share: the durations of the last first attempts, and
// the budget of hedges.
type State struct {
	Budget budget.State

	recent []sample // a ring, from oldest on
	sorted []sample // the same, in ascending order
	oldest int
}

// sample is the duration of an attempt, doubled, and 1 more where the attempt was cancelled
// then: one that is known takes its place before a cancelled one of the same duration.
type sample uint64

func sampleOf(took time.Duration, cut bool) sample {
	s := sample(took) << 1
	if cut {
		s |= 1
	}
	return s
}

// took returns how long the attempt took, or ran until it was cancelled.
func (s sample) took() time.Duration { return time.Duration(s >> 1) }

// cut reports whether the attempt was cancelled.
func (s sample) cut() bool { return s&1 > 0 }

// insert adds a sample to the sorted ones.
func (s *State) insert(x sample) {
	i, _ := slices.BinarySearch(s.sorted, x)
	s.sorted = sorting.Insert(s.sorted, i, x)
}

// drop removes a sample from the sorted ones.
func (s *State) drop(x sample) {
	i, _ := slices.BinarySearch(s.sorted, x)
	s.sorted = sorting.Remove(s.sorted, i)
}

// ordered returns the samples, the oldest first.
//
//go:noinline
func (s *State) ordered() []sample {
	return slices.Concat(s.recent[s.oldest:], s.recent[:s.oldest])
}

// set replaces the samples.
func (s *State) set(recent []sample) {
	s.recent, s.oldest = slices.Clip(recent), 0
	s.sorted = ascending(recent)
}

// ascending returns samples from the least one on.
func ascending(samples []sample) []sample {
	items := make([]sorting.Item, len(samples))
	for i, x := range samples {
		items[i] = sorting.Item{Key: uint64(x), Index: uint32(i)}
	}
	sorting.Sort(items)
	sorted := make([]sample, len(samples))
	for i := range items {
		sorted[i] = samples[items[i].Index]
	}
	return sorted
}

const tag = 'h'

var errState = wire.Invalid("hedge: durations do not agree")

// Check implements reducer.Cell.
func (m *Machine) Check(s *State) error {
	if !slices.Equal(ascending(s.recent), s.sorted) || s.oldest != 0 && s.oldest >= len(s.recent) || !m.fits(s) {
		return errState
	}
	if m.budget != nil {
		return m.budget.Check(&s.Budget)
	}
	return nil
}

// MaxSize implements reducer.Cell.
func (m *Machine) MaxSize() int {
	size := wire.HeaderSize + 4
	if m.config.Percentile.Positive() {
		size += int(m.config.Samples) * wire.UvarintSize(1<<64-1)
	}
	if m.budget != nil {
		size += 4 + m.budget.MaxSize()
	}
	return size
}

// Encode implements reducer.Cell: the samples, the oldest first, as varints; the
// budget, where there is one.
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

func (m *Machine) code(c *wire.Coder, recent *[]sample) {
	n := c.Len(len(*recent), 1)
	if c.Reads() {
		*recent = make([]sample, n)
	}
	for i := range *recent {
		c.Uvarint((*uint64)(&(*recent)[i]))
	}
}

// Decode implements reducer.Cell. A state of another number of samples or
// another window of its budget is refused with reducer.ErrConfiguration.
func (m *Machine) Decode(src []byte, s *State) error {
	c := wire.Reader(src, tag, m.digest)
	var recent []sample
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

// fits reports whether there are at most so many samples as there may be.
func (m *Machine) fits(s *State) bool { return len(s.sorted) <= int(m.config.Samples) }
