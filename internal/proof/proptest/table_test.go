package proptest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer/explore"
)

// how a row of the table is checked.
type how string

const (
	// byProperty: on histories that are drawn, and shrunk where it fails.
	byProperty how = "property"
	// byDifference: on drawn histories, against a second, naive implementation.
	byDifference how = "differential"
	// byScript: on one written history.
	byScript how = "script"
	// byExploration: on all histories of a small configuration up to a depth.
	byExploration how = "exploration"
)

// row is a row of the table: the statement, the machines, the kind of check, and the
// machine with a small defect on which the check fails. An invariant that is checked
// in two ways has two rows.
type row struct {
	name      string
	statement string
	how       how
	machines  []trial
	mutant    trial
}

// trial runs the check of a row on a machine; the error is the violation that it
// finds.
type trial struct {
	name string
	run  func() error
}

// table is the table of all invariants.
func table() []row {
	return slices.Concat(
		properties(byProperty, lawLines, flowLawLines, limitLines, blockLines, calendarLines, configureLines, breakerLines, bulkheadLines, retryLines, chaosLines, pipelineLines, severalLines, conditionLines),
		properties(byDifference, recountLines, prefixLines),
		adaptiveLines(), hedgeLines(), sharedLines(), keyedLines(), refundLines(), shortLines(), scriptLines(), commandLines(), explorationLines())
}

// exploredCells are the explorations of cells.
var exploredCells = []exploration{
	breakerScene("breaker with a window of 4 calls and 2 probes, 2 callers", exploredBreaker, 2, 50).exploration(),
	forgetScene().exploration(),
	bulkheadScene("bulkhead of 2 with leases and a queue of 2, 4 callers", exploredPlaces, 4, 20, asking(1)...).exploration(),
	bulkheadScene("weighted bulkhead of 3 with a queue of 2, 4 callers that take 1 or 2 places", exploredCosts, 4, 20, append(asking(1), asking(2)...)...).exploration(),
	sharedScene("shared bulkhead of 2, 3 members", 3, 1).exploration(),
	sharedScene("two-caller shared bulkhead of 2, 2 members", 4, 2).exploration(),
	bucketScene().exploration(),
	fixedScene().exploration(),
	slidingScene().exploration(),
	logScene().exploration(),
	leakyScene().exploration(),
	queueScene().exploration(),
	budgetScene().exploration(),
	adaptiveScene("adaptive limit of 1 to 3 places, 3 callers", 8, asking(1)...).exploration(),
	adaptiveScene("weighted adaptive limit of 1 to 3 places, 3 callers that take 1 or 2 places", 7, append(asking(1), asking(2)...)...).exploration(),
}

// explorationLines are the rows of all explorations. The driver that decides as
// the plan does is one of the two that decide as the reference pages say.
func explorationLines() (all []row) {
	for _, e := range exploredLines {
		try := func(run func() (explore.Result, error)) func() error {
			return func() error {
				_, err := run()
				return err
			}
		}
		name, _, _ := strings.Cut(e.name, " (")
		if name == "Drive" {
			name = "M*"
		}
		all = append(all, row{name, e.statement, byExploration,
			[]trial{{e.machine, try(e.run)}}, trial{e.machine + " that " + e.mutant, try(e.fires)}})
	}
	return all
}

// TestInvariants checks every row on its machines and on its mutant. TestExplored and
// TestExploredMutants check the rows of explorations; TestExplored checks all rows of a machine
// in one walk.
func TestInvariants(t *testing.T) {
	t.Logf("SLUICE_SEED=%d SLUICE_TIMES=%d", testenv.Seed(), testenv.Times())
	for _, l := range table() {
		if l.how == byExploration {
			continue
		}
		t.Run(fmt.Sprintf("%s %s", l.name, l.how), func(t *testing.T) {
			t.Parallel()
			for _, m := range l.machines {
				t.Run(m.name, func(t *testing.T) {
					if err := m.run(); err != nil {
						t.Error(err)
					}
				})
			}
			t.Run(l.mutant.name, func(t *testing.T) {
				switch err := l.mutant.run(); {
				case err == nil:
					t.Errorf("SLUICE_SEED=%d: the check does not find the mutant", testenv.Seed())
				case errors.Is(err, errPanic), errors.Is(err, errRare):
					t.Error(err)
				}
			})
		})
	}
}

// required are the invariants that the table must have.
const required = "G1 G2 G3 G4 G5 G6 G7 G8 G9 G10 G11 G12 G13 G14 G15 G16 G17 G18 G23 Twin Sound Short " +
	"L1 L2 L3 L4 L5 L6 L7 L8 L9 L10 L11 L12 L13 L14 L15 L16 L17 L18 L19 L20 L21 L* " +
	"B1 B2 B3 B4 B5 B6 B7 B8 B9 B10 B11 B12 B13 B14 B15 B16 B17 B* R1 R2 R3 R4 R5 R6 R7 R8 R9 R10 R11 R12 R13 R* H6 " +
	"K1 K2 K3 K4 K5 K6 K7 K8 K9 K10 K* A1 A2 A3 A9 A10 A11 A12 A13 EV1 M1 M2 M3 M4 M5 M6 M7 M* W1 W2 W3 W4 W5 W6 W7 W8 W9 W10"

// TestTable checks the table itself, and counts its rows.
func TestTable(t *testing.T) {
	names, twins, kinds := map[string]bool{}, map[string]bool{}, map[how]int{}
	for _, l := range table() {
		if l.name == "" || l.statement == "" || len(l.machines) == 0 || l.mutant.name == "" {
			t.Errorf("%s: the row is not complete: %q", l.name, l.statement)
		}
		if key := l.name + l.statement + l.machines[0].name; twins[key] {
			t.Errorf("%s: two rows say %q", l.name, l.statement)
		} else {
			twins[key] = true
		}
		if slices.ContainsFunc(l.machines, func(m trial) bool { return m.name == l.mutant.name }) {
			t.Errorf("%s: the mutant has the name of a machine", l.name)
		}
		names[l.name] = true
		kinds[l.how]++
	}
	for _, name := range strings.Fields(required) {
		if !names[name] {
			t.Errorf("%s is missing", name)
		}
	}
	if len(names) < 60 {
		t.Errorf("only %d invariants", len(names))
	}
	t.Logf("%d invariants, %d rows: %v", len(names), len(table()), kinds)
}
