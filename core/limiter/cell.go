package limiter

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// Cells returns the maker of a limiter's cells.
func Cells(c Config) (cell.Maker, error) {
	m, err := New(c)
	if err != nil {
		return nil, err
	}
	return cell.Makes(m, newCell), nil
}

type adapter = cell.Adapter[State, *Machine]

func newCell() (cell.Cell, *adapter) {
	c := &limiterCell{}
	return c, &c.adapter
}

// limiterCell calls the machine on the fast path without type parameters.
type limiterCell struct{ adapter }

// Of returns the machine and the state of a limiter's cell, nil for a cell of
// another mechanism. The state changes with the cell.
func Of(c cell.Cell) (*Machine, *State) {
	if l, ok := c.(*limiterCell); ok {
		return l.Machine, l.State()
	}
	return nil, nil
}

// OneWord returns the machine of cells whose state is one word, a token bucket without a
// queue, nil for other cells.
func OneWord(m cell.Maker) *Machine {
	l, ok := m.(interface{ Machine() *Machine })
	if !ok {
		return nil
	}
	if machine := l.Machine(); machine.config.OneWord() && machine.config.Queue == 0 {
		return machine
	}
	return nil
}

// Gauge returns the numbers of cell.Gauge.
func (l *limiterCell) Gauge() cell.Gauge {
	return cell.Gauge{Waiting: l.State().Waiting(), Waits: true}
}

// Step implements cell.Cell.
func (l *limiterCell) Step(a reducer.Action, now clock.Mark, out *reducer.Out) (answer reducer.Answer) {
	l.Machine.step(&answer, l.State(), &a, now, out)
	return answer
}

// Enter implements cell.Cell.
func (l *limiterCell) Enter(cost uint32, _ uint64, _, now clock.Mark) (reducer.Permit, bool) {
	return l.Machine.Enter(l.State(), cost, 0, clock.Never, now)
}

// Held reports whether a caller waits.
func (m *Machine) Held(s *State) bool { return s.Waiting() > 0 }

// Recall drops all waiters.
func (m *Machine) Recall(s *State) { s.DropWaiters() }

// Growth returns the memory of the queue, of the row of refusals that a block counts, and of
// the admissions that a sliding log counts.
func (c *Config) Growth() cell.Growth {
	n := c.Queue * cell.WaiterBytes
	if c.Block.After > 0 {
		n += 4 * cell.AdmissionBytes
	}
	switch c.Algorithm {
	case SlidingLog:
		n += c.Count * cell.AdmissionBytes
	case TokenBucket, FixedWindow, SlidingCounter, LeakyBucket: // the state itself
	}
	return cell.Growth{Later: n}
}

// Growth returns the growth under the configuration.
func (m *Machine) Growth() cell.Growth { return m.config.Growth() }
