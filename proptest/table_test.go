package proptest

import (
	"testing"
)

// invariant is a line of the table.
type invariant struct {
	name      string
	statement string
	holds     func(m machine, h history) error
	machines  []machine
	mutant    machine
}

// TestInvariants is the table: each invariant holds on its machines and fires
// on its mutant.
func TestInvariants(t *testing.T) {
	for _, line := range join2(lawLines, limitLines, breakerLines, bulkheadLines, retryLines, pipelineLines) {
		t.Run(line.name, func(t *testing.T) {
			t.Parallel()
			for _, m := range line.machines {
				t.Run(m.name, func(t *testing.T) {
					always(t, 60, 60, func(h history) error { return line.holds(m, h) })
				})
			}
			t.Run(line.mutant.name, func(t *testing.T) {
				fires(t, 300, 60, func(h history) error { return line.holds(line.mutant, h) })
			})
		})
	}
}

func join2(lists ...[]invariant) (all []invariant) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
