package main

import "testing"

// TestProgram bounds what one limiter links. A constructor that names the logger, JSON or the
// policies of a document, without a listener or a document, breaks it.
func TestProgram(t *testing.T) {
	size := func(name string) float64 { return linked(name)(t.Context())(options{}).value }
	limiter, core, peer := size("limiter"), size("core"), size("failsafe")
	if limiter > 1.65*peer {
		t.Errorf("one limiter links %.0f kB, one of failsafe-go %.0f kB; allowed: 1.65 times as much", limiter, peer)
	}
	if core > peer {
		t.Errorf("one cell of core/limiter links %.0f kB, one limiter of failsafe-go %.0f kB; allowed: as much", core, peer)
	}
}
