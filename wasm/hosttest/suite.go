// Package hosttest compares a module of package host with the native core: the same
// tests for every runtime.
package hosttest

import (
	"testing"

	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/wasm/host"
)

// Suite is what a runtime is tested with.
type Suite struct {
	// Open makes an instance, which the suite closes.
	Open func() (*host.Module, error)
	// Cases is how many random policies are decided, Steps how many steps must
	// leave memory as it is; a quarter of both under the race detector.
	Cases, Steps int
}

// Run runs all tests.
func (s Suite) Run(t *testing.T) {
	if testenv.Race {
		s.Cases, s.Steps = s.Cases/4, s.Steps/4
	}
	s.Cases = testenv.Cases(s.Cases)
	t.Run("Decisions", s.decisions)
	t.Run("Joined", s.joined)
	t.Run("JoinedClose", s.joinedClose)
	t.Run("Cells", s.cells)
	t.Run("PlanCells", s.planCells)
	t.Run("States", s.states)
	t.Run("Errors", s.errors)
	t.Run("WrongEvents", s.wrongEvents)
	t.Run("Closed", s.closed)
	t.Run("Steps", s.steps)
	t.Run("SaveLoad", s.saveLoad)
	t.Run("Handover", s.handover)
	t.Run("Goroutines", s.goroutines)
	t.Run("FlatMemory", s.flatMemory)
}

// open makes an instance that ends with the test.
func (s Suite) open(t *testing.T) *host.Module {
	t.Helper()
	m, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// value returns what comes without an error.
func value[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// pipelineOf makes a pipeline of the body of a policy.
func pipelineOf(t *testing.T, m *host.Module, body string) *host.Pipeline {
	t.Helper()
	plan := value[*host.Plan](t)(m.Body([]byte(body)))
	p := value[*host.Pipeline](t)(m.Pipeline(plan, 0))
	if err := plan.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}
