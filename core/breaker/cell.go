package breaker

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// Cells returns the maker of a breaker's cells.
func Cells(c Config) (cell.Maker, error) {
	m, err := New(c)
	if err != nil {
		return nil, err
	}
	return cell.Makes(m, newCell), nil
}

type adapter = cell.Adapter[State, *Machine]

func newCell() (cell.Cell, *adapter) {
	c := &breakerCell{}
	return c, &c.adapter
}

// breakerCell calls the machine on the fast path without type parameters.
type breakerCell struct{ adapter }

// CoreOf returns the core of a breaker's state, nil for a cell of another mechanism.
// It changes with the cell; the caller must not write to it.
func CoreOf(c cell.Cell) *Core {
	if b, ok := c.(*breakerCell); ok {
		return &b.State().Core
	}
	return nil
}

// Growth returns the memory of the probes and of the window.
func (c *Config) Growth() (g cell.Growth) {
	g.First[0] = c.Probes * 16
	switch c.Window {
	case Calls:
		g.First[1] = (c.Count + 31) / 32 * 8
	case Time:
		g.First[1] = c.Count * 16
	}
	return g
}

// Growth returns the growth under the configuration.
func (m *Machine) Growth() cell.Growth { return m.config.Growth() }

// Timeless says which calls of a closed breaker need no time: an acquire, and a success that
// ends it. The permits of one that judges slow calls have a mark, and outcomes are counted in
// the buckets of a window of time.
func (c *Config) Timeless() (acquire, success bool) {
	acquire = c.SlowOver == 0
	return acquire, acquire && c.Window != Time
}

// Timeless says which calls of the cells of a maker need no time: none where the cells are no
// breakers.
func Timeless(m cell.Maker) (acquire, success bool) {
	if b, ok := m.(interface{ Machine() *Machine }); ok {
		return b.Machine().config.Timeless()
	}
	return false, false
}

// Step implements cell.Cell.
func (b *breakerCell) Step(a reducer.Action, now clock.Mark, out *reducer.Out) (answer reducer.Answer) {
	b.Machine.step(&answer, b.State(), &a, now, out)
	return answer
}

// Enter implements cell.Cell.
func (b *breakerCell) Enter(_ uint32, _ uint64, _, now clock.Mark) (reducer.Permit, bool) {
	return b.Machine.Enter(b.State(), 0, 0, clock.Never, now)
}

// Exit implements cell.Cell.
func (b *breakerCell) Exit(p reducer.Permit, now clock.Mark) bool {
	return b.Machine.Exit(b.State(), p, now)
}
