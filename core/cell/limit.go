package cell

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// ForLimit returns the maker of a limiter's cells.
func ForLimit(c limiter.Config) (Maker, error) {
	m, err := limiter.New(c)
	if err != nil {
		return nil, err
	}
	return &limits{m}, nil
}

type limits struct{ machine *limiter.Machine }

func (l *limits) New(now clock.Mark) Cell { return l.limit(l.machine.Init(now)) }

func (l *limits) Adopt(old Cell, now clock.Mark, out *reducer.Out) Cell {
	from, ok := old.(*limit)
	if !ok {
		return l.New(now)
	}
	return l.limit(l.machine.Adopt(from.state, from.machine, now, out))
}

func (l *limits) limit(s limiter.State) *limit {
	made := &limit{}
	made.machine, made.state = l.machine, s
	return made
}

type limit struct {
	box[limiter.State, *limiter.Machine]
}

// Limiter returns the machine and the state of a limiter's cell, nil for a cell
// of another mechanism. The state changes with the cell.
func Limiter(c Cell) (*limiter.Machine, *limiter.State) {
	if l, ok := c.(*limit); ok {
		return l.machine, &l.state
	}
	return nil, nil
}

// Step calls the machine directly, not through the box's type parameters.
func (l *limit) Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return l.machine.Step(&l.state, a, now, out)
}

// Enter implements Cell.
func (l *limit) Enter(cost uint32, _ uint64, now clock.Mark) (reducer.Permit, bool) {
	return l.machine.Enter(&l.state, cost, now)
}

// Held implements Cell.
func (l *limit) Held() bool { return l.state.Waiting() > 0 }

func (l *limit) Serves() (clock.Mark, uint64) { return l.machine.Serves(&l.state) }

// Revive is that of the box, without those who waited.
func (l *limit) Revive(src []byte, by time.Duration) error {
	if err := l.box.Revive(src, by); err != nil {
		return err
	}
	l.state.DropWaiters()
	return nil
}
