package filewatch

import "time"

// Every is how often a file is looked at.
const Every = 250 * time.Millisecond

// Settled reports changes of what is looked at, each once, when two looks in a row
// see the same: a file that is being written is left alone.
type Settled[T comparable] struct{ seen, present T }

// NewSettled takes what a first look sees as unchanged.
func NewSettled[T comparable](now T) *Settled[T] { return &Settled[T]{now, now} }

// Changed takes a look.
func (s *Settled[T]) Changed(now T) bool {
	changed := now == s.seen && now != s.present
	if changed {
		s.present = now
	}
	s.seen = now
	return changed
}

// Taken notes that what a look sees was read.
func (s *Settled[T]) Taken(now T) { s.present = now }
