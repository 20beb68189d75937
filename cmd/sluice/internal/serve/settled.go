package serve

import "time"

// lookEvery is how often a file is looked at. Looking works where notices do not: on
// network file systems, with files that are replaced, and through the links of a
// Kubernetes volume.
const lookEvery = 250 * time.Millisecond

// settled reports changes of what is looked at, each once, when two looks in a row
// see the same: a file that is being written is left alone.
type settled[T comparable] struct{ seen, present T }

// newSettled takes what a first look sees as unchanged.
func newSettled[T comparable](now T) *settled[T] { return &settled[T]{now, now} }

// changed takes a look.
func (s *settled[T]) changed(now T) bool {
	changed := now == s.seen && now != s.present
	if changed {
		s.present = now
	}
	s.seen = now
	return changed
}

// taken notes that what a look sees was read.
func (s *settled[T]) taken(now T) { s.present = now }
