package runner

import (
	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/durations"
	"github.com/sluice-go/sluice/internal/keyedcells"
	"github.com/sluice-go/sluice/reducer"
)

// State returns the state of the steps that have one, in order.
func (p *Pipeline) State() []api.StepState {
	l := p.layout.Load()
	now := p.Now()
	var states []api.StepState
	for i, c := range l.steps {
		if c != nil {
			states = append(states, c.state(l.plan.Step(i), l.at[i].waits.Snapshot(), now))
		}
	}
	return states
}

func (c *StepCells) state(s pipeline.Step, waits durations.Snapshot, now clock.Mark) api.StepState {
	state := api.StepState{Step: s.Name, Kind: s.Kind(), Waits: waits.Count(), Waited: waits.Sum, WaitTimes: waits.Counts}
	b := c.one
	if b == nil {
		c.countKeys(&state, now)
		return state
	}
	state.Cell = b.State(now)
	state.Waiting, state.Text = state.Cell.Waiting, state.Cell.Text
	if mechanisms.Row(s.Kind()).Traits.Has(mechanism.Modes) {
		state.Mode = state.Cell.Mode.String()
	} else {
		state.Free, state.Counted = state.Cell.Free, true
	}
	return state
}

// countKeys counts the cells of a step with keys. It visits all of them.
func (c *StepCells) countKeys(state *api.StepState, now clock.Mark) {
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

// Limits appends, for every limit step in order, the state of the cell that a request belongs
// to. It takes nothing and creates no cell.
func (p *Pipeline) Limits(q *api.Request, dst []api.LimitState) []api.LimitState {
	return p.layout.Load().limits(q, p.Now(), dst)
}

func (l *binding) limits(q *api.Request, now clock.Mark, dst []api.LimitState) []api.LimitState {
	var omits uint16
	if l.plan.Conditional() {
		applies := l.plan.ConditionsBy(attributes(q))
		omits = applies.Omits()
	}
	for i := range l.plan.Len() {
		if omits&(1<<i) != 0 {
			continue
		}
		c, all := l.steps[i], l.quotas[i]
		if all == 0 || l.plan.Settings(i).Missing == pipeline.MissingSkip && c.missing(attributes(q)) {
			continue
		}
		state := api.LimitState{Step: i, Free: all}
		if next, full, ok := c.room(q, all, now); ok {
			state.Free = next.Free
			state.Next, _ = next.RetryAfter(now)
			state.Full, _ = full.RetryAfter(now)
		}
		dst = append(dst, state)
	}
	return dst
}

// room says when one permit, and when all of them, are free in the cell that a
// request belongs to; ok is false where it has none.
func (c *StepCells) room(q *api.Request, all uint32, now clock.Mark) (next, full reducer.Answer, ok bool) {
	one, whole := reducer.Action{Kind: reducer.Peek, Cost: 1}, reducer.Action{Kind: reducer.Peek, Cost: all}
	if c.one != nil {
		next, full = c.one.peek(one, whole, now)
		return next, full, true
	}
	key, _ := keyed.Join(c.per, attributes(q))
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
