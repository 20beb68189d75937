package proptest

import (
	"slices"
	"strings"
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
	for _, line := range table() {
		t.Run(line.name, func(t *testing.T) {
			t.Parallel()
			for _, m := range line.machines {
				t.Run(m.name, func(t *testing.T) {
					always(t, 100, 80, func(h history) error { return line.holds(m, h) })
				})
			}
			t.Run(line.mutant.name, func(t *testing.T) {
				fires(t, 600, 60, func(h history) error { return line.holds(line.mutant, h) })
			})
		})
	}
}

func table() []invariant {
	return slices.Concat(lawLines, limitLines, breakerLines, bulkheadLines, retryLines, pipelineLines)
}

// required are the invariants that the table must have.
const required = "G1 G2 G3 G4 G5 G6 G7 G8 G9 G10 G11 G12 G13 G14 G16 " +
	"L1 L2 L3 L4 L5 L6 L7 L8 L10 L11 L13 L14 L15 L16 " +
	"B1 B2 B3 B4 B5 B6 B7 B8 B9 B10 B11 R1 R2 R3 R4 R5 R6 R7 R8 " +
	"K1 K2 K3 K4 K5 K6 K7 K8 K9 K10 M1 M4 M5 M6 M7 Twin Sound"

// TestTable checks the table itself.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, line := range table() {
		if seen[line.name] || line.statement == "" || len(line.machines) == 0 || line.mutant.name == "" {
			t.Errorf("%s: the line is not complete, or there are two", line.name)
		}
		seen[line.name] = true
	}
	for _, name := range strings.Fields(required) {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
}
