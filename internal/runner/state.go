package runner

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// StepState mirrors the StepState of the public package.
type StepState struct {
	Step    string
	Kind    pipeline.Kind
	Keys    int
	Used    int
	InUse   int
	Waiting int
	Mode    string
	Free    uint32
	Counted bool
	Text    string
}

// State returns the state of the steps that have one, in order.
func (p *Pipeline) State() []StepState {
	l := p.layout.Load()
	now := p.Now()
	var states []StepState
	for i, c := range l.steps {
		if c != nil {
			states = append(states, c.state(l.plan.Step(i), now))
		}
	}
	return states
}

func (c *StepCells) state(s pipeline.Step, now clock.Mark) StepState {
	state := StepState{Step: s.Name, Kind: s.Kind()}
	c.mu.Lock()
	state.Keys = len(c.list)
	for _, b := range c.all() {
		b.mu.Lock()
		state.Waiting += b.waiting
		b.mu.Unlock()
		if !b.fresh(now, c.kind) {
			state.Used++
		}
		if b.refs.Load() > 0 {
			state.InUse++
		}
	}
	c.mu.Unlock()
	b := c.one
	if b == nil {
		return state
	}
	b.mu.Lock()
	b.CatchUp(now)
	b.deliver()
	state.Waiting = b.waiting
	if core := breaker.CoreOf(b.Cell); core != nil {
		b.Cell.Step(reducer.Action{Kind: reducer.Tick}, now, &b.Out)
		state.Mode = core.Mode.String()
	} else {
		answer := b.Cell.Step(reducer.Action{Kind: reducer.Peek, Cost: 1}, now, &b.Out)
		state.Free, state.Counted = answer.Free, true
	}
	state.Text = cell.Text(b.Cell, now)
	b.Settle(now)
	return state
}

// LimitState mirrors the LimitState of the public package.
type LimitState struct {
	Step int
	Free uint32
	Next time.Duration
	Full time.Duration
}

// Limits calls f with the state of every limit step of the cell that a request
// belongs to, in order. It takes nothing and makes no cell.
func (p *Pipeline) Limits(q *Request, f func(LimitState)) {
	l := p.layout.Load()
	now := p.Now()
	for i, c := range l.steps {
		if c == nil || c.kind != pipeline.Limit {
			continue
		}
		config := pipeline.ConfigOf[limiter.Config](l.plan.Step(i))
		all := config.Count
		if config.Algorithm == limiter.TokenBucket && config.Burst > 0 {
			all = config.Burst
		}
		state := LimitState{Step: i, Free: all}
		if b := c.Peek(q.lookup); b != nil {
			next := b.Step(reducer.Action{Kind: reducer.Peek, Cost: 1}, now)
			full := b.Step(reducer.Action{Kind: reducer.Peek, Cost: all}, now)
			state.Free = next.Free
			state.Next, _ = next.RetryAfter(now)
			state.Full, _ = full.RetryAfter(now)
		}
		f(state)
	}
}

// Peek returns the cell that a request belongs to, nil when it has none.
func (c *StepCells) Peek(lookup func(string) string) *LockedCell {
	if c.one != nil {
		return c.one
	}
	key, _ := keyed.Join(c.per, lookup)
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.byKey[key]; b != nil || c.overflow == nil || len(c.list) < c.pipeline.MaxKeys {
		return b
	}
	return c.overflow
}
