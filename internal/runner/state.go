package runner

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/durations"
	"github.com/sluice-go/sluice/internal/keyedcells"
	"github.com/sluice-go/sluice/reducer"
)

// StepState mirrors the StepState of the public package.
type StepState struct {
	Step      string
	Kind      pipeline.Kind
	Keys      int
	Used      int
	InUse     int
	Evictions uint64
	Shared    uint64
	Unblocked uint64
	Bytes     uint64
	Waiting   int
	Waits     uint64
	Waited    time.Duration
	WaitTimes [durations.Ranges]uint64
	Mode      string
	Free      uint32
	Counted   bool
	Text      string
	Cell      CellState
}

// State returns the state of the steps that have one, in order.
func (p *Pipeline) State() []StepState {
	l := p.layout.Load()
	now := p.Now()
	var states []StepState
	for i, c := range l.steps {
		if c != nil {
			states = append(states, c.state(l.plan.Step(i), l.at[i].waits.Snapshot(), now))
		}
	}
	return states
}

func (c *StepCells) state(s pipeline.Step, waits durations.Snapshot, now clock.Mark) StepState {
	state := StepState{Step: s.Name, Kind: s.Kind(), Waits: waits.Count(), Waited: waits.Sum, WaitTimes: waits.Counts}
	b := c.one
	if b == nil {
		c.countKeys(&state, now)
		return state
	}
	state.Cell = b.State(now)
	state.Waiting, state.Text = state.Cell.Waiting, state.Cell.Text
	if c.modes {
		state.Mode = state.Cell.Mode.String()
	} else {
		state.Free, state.Counted = state.Cell.Free, true
	}
	return state
}

// countKeys counts the cells of a step with keys. It visits all of them.
func (c *StepCells) countKeys(state *StepState, now clock.Mark) {
	counts := c.cells.Counts()
	state.Keys, state.InUse = int(counts.Keys), int(counts.Held)
	state.Evictions, state.Shared, state.Unblocked, state.Bytes = counts.Evictions, counts.Shared, counts.Unblocked, counts.Bytes
	c.cells.Each(func(r keyedcells.Ref) {
		if !r.Fresh(now) {
			state.Used++
		}
		if side := r.Side(); side != nil {
			state.Waiting += side.(*queue).waiting
		}
	})
}

// LimitState mirrors the LimitState of the public package.
type LimitState struct {
	Step int
	Free uint32
	Next time.Duration
	Full time.Duration
}

// Limits calls f with the state of every limit step of the cell that a request
// belongs to, in order. It takes nothing and creates no cell.
func (p *Pipeline) Limits(q *Request, f func(LimitState)) { p.layout.Load().limits(q, p.Now(), f) }

func (l *binding) limits(q *Request, now clock.Mark, f func(LimitState)) {
	var omits uint16
	if l.plan.Conditional() {
		applies := l.plan.ConditionsBy(q.lookup)
		omits = applies.Omits()
	}
	for i := range l.plan.Len() {
		if omits&(1<<i) != 0 {
			continue
		}
		c, all := l.steps[i], l.quotas[i]
		if all == 0 || l.plan.Settings(i).Missing == pipeline.MissingSkip && c.missing(q.lookup) {
			continue
		}
		state := LimitState{Step: i, Free: all}
		if next, full, ok := c.room(q, all, now); ok {
			state.Free = next.Free
			state.Next, _ = next.RetryAfter(now)
			state.Full, _ = full.RetryAfter(now)
		}
		f(state)
	}
}

// room says when one permit, and when all of them, are free in the cell that a
// request belongs to; ok is false where it has none.
func (c *StepCells) room(q *Request, all uint32, now clock.Mark) (next, full reducer.Answer, ok bool) {
	one, whole := reducer.Action{Kind: reducer.Peek, Cost: 1}, reducer.Action{Kind: reducer.Peek, Cost: all}
	if c.one != nil {
		next, full = c.one.peek(one, whole, now)
		return next, full, true
	}
	key, _ := keyed.Join(c.per, q.lookup)
	if answer, blocked := c.blocks.answer(key, now); blocked {
		return answer, answer, true
	}
	r, ok := c.cells.Find(key)
	if !ok {
		return next, full, false
	}
	x := cellRef{step: c, handle: r.Handle()}
	r.Unlock()
	return x.Step(one, now), x.Step(whole, now), true
}
