package adaptive

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// Cells returns the maker of the cells of an adaptive limit.
func Cells(c Config) (cell.Maker, error) {
	m, err := New(c)
	if err != nil {
		return nil, err
	}
	return cell.Makes(m, newCell), nil
}

type adapter = cell.Adapter[State, *Machine]

func newCell() (cell.Cell, *adapter) {
	c := &adaptiveCell{}
	return c, &c.adapter
}

// adaptiveCell calls the machine on the fast path without type parameters.
type adaptiveCell struct{ adapter }

// Gauge returns the numbers of cell.Gauge.
func (a *adaptiveCell) Gauge() cell.Gauge {
	s := a.State()
	return cell.Gauge{Places: s.Limit, InUse: s.InUse()}
}

// Enter implements cell.Cell.
func (a *adaptiveCell) Enter(cost uint32, caller uint64, deadline, now clock.Mark) (reducer.Permit, bool) {
	return a.Machine.Enter(a.State(), cost, caller, deadline, now)
}

// Exit implements cell.Cell.
func (a *adaptiveCell) Exit(p reducer.Permit, now clock.Mark) bool {
	return a.Machine.Exit(a.State(), p, now)
}

// Growth returns the memory of the places and of the times that a round collects.
func (m *Machine) Growth() cell.Growth {
	return cell.Growth{Later: min(m.config.Maximum, 1<<14) * (cell.HolderBytes + 8)}
}
