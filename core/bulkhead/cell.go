package bulkhead

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// Cells returns the maker of a bulkhead's cells.
func Cells(c Config) (cell.Maker, error) {
	m, err := New(c)
	if err != nil {
		return nil, err
	}
	return cell.Makes(m, newCell), nil
}

type adapter = cell.Adapter[State, *Machine]

func newCell() (cell.Cell, *adapter) {
	c := &bulkheadCell{}
	return c, &c.adapter
}

// bulkheadCell calls the machine on the fast path without type parameters.
type bulkheadCell struct{ adapter }

// Gauge returns the numbers of cell.Gauge.
func (b *bulkheadCell) Gauge() cell.Gauge {
	s := b.State()
	return cell.Gauge{Places: b.Machine.config.Concurrent, InUse: s.Held, Waiting: s.Queue.Len(), Waits: true}
}

// Step implements cell.Cell.
func (b *bulkheadCell) Step(a reducer.Action, now clock.Mark, out *reducer.Out) (answer reducer.Answer) {
	b.Machine.step(&answer, b.State(), &a, now, out)
	return answer
}

// Enter implements cell.Cell.
func (b *bulkheadCell) Enter(cost uint32, caller uint64, deadline, now clock.Mark) (reducer.Permit, bool) {
	return b.Machine.Enter(b.State(), cost, caller, deadline, now)
}

// Exit implements cell.Cell.
func (b *bulkheadCell) Exit(p reducer.Permit, now clock.Mark) bool {
	return b.Machine.Exit(b.State(), p, now)
}

// Growth returns the memory of the places, while there are more than ever, and of the queue.
func (c *Config) Growth() cell.Growth {
	return cell.Growth{Later: c.Queue*cell.WaiterBytes + min(c.Concurrent, 1<<14)*cell.HolderBytes}
}

// Growth returns the growth under the configuration.
func (m *Machine) Growth() cell.Growth { return m.config.Growth() }
