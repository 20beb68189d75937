package simtest

import "testing"

// On returns the runs with another test, which their requirements end.
func (r *Runs) On(t testing.TB) *Runs {
	other := *r
	other.t = t
	return &other
}

// Jumps is what Drive checks first.
func Jumps(t testing.TB, s *Scenario) { refuseJumps(t, s) }
