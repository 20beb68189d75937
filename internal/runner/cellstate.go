package runner

import (
	"iter"
	"strings"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/internal/keyedcells"
	"github.com/sluice-go/sluice/reducer"
)

// fromNow makes the words for marks those for times that are left.
var fromNow = strings.NewReplacer(" until ", " for another ", "next at ", "next in ")

// StateOf returns the state of a cell, whose lock the caller holds.
func StateOf(c cell.Cell, waiting int, now clock.Mark) api.CellState {
	s := api.CellState{Waiting: waiting, Text: fromNow.Replace(cell.TextFromNow(c, now))}
	if core, counts, ok := breaker.At(c, now); ok {
		s.Mode, s.Counts = core.Mode, counts
		if core.Mode == breaker.Open {
			s.Left = max(0, core.OpenUntil.Sub(now))
		}
		return s
	}
	s.Free = c.Step(reducer.Action{Kind: reducer.Peek, Cost: 1}, now, new(reducer.Out)).Free
	gauge := cell.GaugeOf(c)
	s.InUse, s.Places = gauge.InUse, gauge.Places
	return s
}

// State returns the state of the cell at a mark.
func (b *LockedCell) State(now clock.Mark) api.CellState {
	b.mu.Lock()
	b.CatchUp(now)
	if breaker.CoreOf(b.Cell) != nil {
		b.Cell.Step(reducer.Action{Kind: reducer.Tick}, now, &b.Out)
	}
	s := b.StateOf(now)
	if n := len(b.Out); n > 0 && b.Out[n-1].Kind == reducer.Change {
		b.since = b.Out[n-1].Permit.Mark
	}
	if b.since != clock.Always {
		s.Since = max(0, now.Sub(b.since))
	}
	if b.measured > 0 {
		s.MeanTime = b.took / time.Duration(b.measured)
	}
	b.Settle(now)
	return s
}

// StateOf returns the state of the cell, whose lock the caller holds.
func (b *LockedCell) StateOf(now clock.Mark) api.CellState {
	return StateOf(b.Cell, b.queue.waiting, now)
}

// Keys returns the keys of a step and the states of their cells, the keys of a shard together.
// There are none for a step without keys, or which the plan does not have.
func (p *Pipeline) Keys(step string) iter.Seq2[string, api.CellState] {
	return func(yield func(string, api.CellState) bool) {
		l := p.layout.Load()
		for i, c := range l.steps {
			if c != nil && c.cells != nil && l.plan.StepName(i) == step {
				c.states(p.Now(), yield)
				return
			}
		}
	}
}

// states calls yield with the state of every key, without any lock held.
func (c *StepCells) states(now clock.Mark, yield func(string, api.CellState) bool) {
	type keyState struct {
		key   string
		state api.CellState
	}
	var all []keyState
	c.cells.Each(func(r keyedcells.Ref) {
		if r.Shared() {
			return
		}
		waiting := 0
		if side := r.Side(); side != nil {
			waiting = side.(*queue).waiting
		}
		s := StateOf(r.Cell(), waiting, now)
		if s.Text == "" { // the view of a token bucket
			s.Text = r.Text(now)
		}
		all = append(all, keyState{r.Key(), s})
	})
	for _, x := range all {
		if !yield(x.key, x.state) {
			return
		}
	}
}
