package sluice

import (
	"maps"
	"sync"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// Metrics is a fold of events. Attach it with pipeline.Listen(metrics.Observe);
// its zero value is ready. It keeps no keys.
type Metrics struct {
	mu   sync.Mutex
	snap MetricsSnapshot
}

// MetricsKey names a counter.
type MetricsKey struct {
	Policy, Step string
	Kind         decision.Kind
	Reason       reducer.Reason
	Outcome      reducer.Outcome
	Shadow       bool
}

// MetricsSnapshot is what Metrics has seen.
type MetricsSnapshot struct {
	// Decisions of each kind, as in the decision log.
	Decisions map[MetricsKey]uint64
	// Changes of breakers by policy, step and new state.
	Changes map[[3]string]uint64
	// Calls that are over, and the time that they took in all.
	Calls   uint64
	Elapsed time.Duration
}

// Observe counts an event.
func (m *Metrics) Observe(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.snap.Decisions == nil {
		m.snap.Decisions, m.snap.Changes = map[MetricsKey]uint64{}, map[[3]string]uint64{}
	}
	if e.Change != "" {
		m.snap.Changes[[3]string{e.Policy, e.Step, e.Change}]++
		return
	}
	if e.Soft {
		return
	}
	m.snap.Decisions[MetricsKey{e.Policy, e.Step, e.Kind, e.Reason, e.Outcome, e.Shadow}]++
	if !e.Shadow && (e.Kind == decision.End || e.Kind == decision.Reject || e.Kind == decision.Expire) {
		m.snap.Calls++
		m.snap.Elapsed += e.Elapsed
	}
}

// Snapshot returns a copy of what has been counted.
func (m *Metrics) Snapshot() MetricsSnapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.snap
	s.Decisions, s.Changes = maps.Clone(s.Decisions), maps.Clone(s.Changes)
	return s
}

// StepState is what a step looks like at a moment, for people and gauges.
type StepState struct {
	Step string
	Kind pipeline.Kind
	// Keys is the number of cells; 0 for a step that has one for all.
	Keys int
	// Waiting callers in the queues of the step.
	Waiting int
	// Mode of a breaker that all calls share; empty elsewhere.
	Mode string
	// Free permits or places of a cell that all calls share, and whether the
	// step has them.
	Free    uint32
	Counted bool
	// Text is the state of a cell that all calls share in a line.
	Text string
}

// State returns the state of the steps that have one, in order.
func (p *Pipeline) State() []StepState {
	l := p.layout.Load()
	now := p.now()
	var states []StepState
	for i, c := range l.steps {
		if c != nil {
			states = append(states, c.state(l.plan.Step(i), now))
		}
	}
	return states
}

func (c *cells) state(s pipeline.Step, now clock.Mark) StepState {
	state := StepState{Step: s.Name, Kind: s.Kind()}
	c.mu.Lock()
	boxes := c.list
	state.Keys = len(boxes)
	for _, b := range boxes {
		b.mu.Lock()
		state.Waiting += len(b.waiters)
		b.mu.Unlock()
	}
	c.mu.Unlock()
	b := c.one
	if b == nil {
		return state
	}
	b.mu.Lock()
	b.catchUp(now)
	b.deliver()
	state.Waiting = len(b.waiters)
	if core := cell.Breaker(b.cell); core != nil {
		b.cell.Step(reducer.Action{Kind: reducer.Tick}, now, &b.out)
		state.Mode = core.Mode.String()
	} else {
		answer := b.cell.Step(reducer.Action{Kind: reducer.Peek, Cost: 1}, now, &b.out)
		state.Free, state.Counted = answer.Free, true
	}
	state.Text = cell.Text(b.cell, now)
	b.settle(now)
	return state
}

// LimitState is a limit step as one request finds it.
type LimitState struct {
	// Step is the index in the plan.
	Step int
	// Free permits now.
	Free uint32
	// Next is the time until a permit is free; 0 when one is.
	Next time.Duration
	// Full is the time until all permits are; 0 when they are.
	Full time.Duration
}

// Limits appends the state of every limit step of the cell that a request
// belongs to, in order. It takes nothing and makes no cell.
func (p *Pipeline) Limits(q Request, dst []LimitState) []LimitState {
	l := p.layout.Load()
	r := run{request: q}
	now := p.now()
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
		if b := c.peek(r.lookup); b != nil {
			next := b.step(reducer.Action{Kind: reducer.Peek, Cost: 1}, now)
			full := b.step(reducer.Action{Kind: reducer.Peek, Cost: all}, now)
			state.Free = next.Free
			state.Next, _ = next.RetryAfter(now)
			state.Full, _ = full.RetryAfter(now)
		}
		dst = append(dst, state)
	}
	return dst
}

// peek returns the cell of a key, nil when it has none.
func (c *cells) peek(lookup func(string) string) *box {
	if c.one != nil {
		return c.one
	}
	key := keyOf(c.per, lookup)
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.boxes[key]; b != nil || c.overflow == nil || len(c.list) < c.pipeline.maxKeys {
		return b
	}
	return c.overflow
}
