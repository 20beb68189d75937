package budget

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// Cells returns the maker of the machine's cells.
func (m *Machine) Cells() cell.Maker { return cell.Makes(m, newCell) }

type adapter = cell.Adapter[State, *Machine]

func newCell() (cell.Cell, *adapter) {
	c := &budgetCell{}
	return c, &c.adapter
}

// budgetCell calls the machine without type parameters.
type budgetCell struct{ adapter }

// Step implements cell.Cell.
func (b *budgetCell) Step(a reducer.Action, now clock.Mark, _ *reducer.Out) (answer reducer.Answer) {
	b.Machine.StepInto(&answer, b.State(), &a, now)
	return answer
}
