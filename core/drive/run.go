package drive

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// caller names an attempt of a call at a step in the effects of cells: the slot of the call,
// the step and the attempt, from the upper bits to the lower ones.
type caller uint64

const (
	stepBits    = 4
	attemptBits = 4
	placeBits   = stepBits + attemptBits
	placeMask   = 1<<placeBits - 1
)

// A step or an attempt more than fits would be taken for another one.
const (
	_ uint = 1<<stepBits - pipeline.MaxSteps
	_ uint = 1<<attemptBits - 1 - pipeline.MaxTries // 0 is the call itself
)

func callerOf(slot uint32, k uint8, i int) caller {
	return caller(slot)<<placeBits | caller(i)<<attemptBits | caller(k)
}

func (c *call) caller(k uint8, i int) caller { return callerOf(c.handle.Slot(), k, i) }

func (c caller) slot() uint32   { return uint32(c >> placeBits) }
func (c caller) step() int      { return int(c >> attemptBits & (1<<stepBits - 1)) }
func (c caller) attempt() uint8 { return uint8(c & (1<<attemptBits - 1)) }

// happen advances a call by an event, and performs what follows.
func (d *Loop) happen(c *call, e *pipeline.Event) {
	c.layout.plan.Happen(c, &c.Call, e, d.now)
	d.settle(c)
}

// settle frees a call that is over, and sets the wake of one that is not.
func (d *Loop) settle(c *call) {
	if c.Phase == pipeline.Over {
		d.drop(c)
		return
	}
	d.rearm(c)
}

// rearm sets the wake of a call.
func (d *Loop) rearm(c *call) {
	plan := c.layout.plan
	at, resume, inject := plan.EndsAt(&c.Call), plan.ResumesAt(&c.Call), plan.InjectsAt(&c.Call)
	c.wake.class, c.wake.number = ends, c.number
	if resume < at {
		at, c.wake.class = resume, resumes
	}
	if inject < at {
		at, c.wake.class = inject, injects
	}
	d.heap.set(&c.wake, at)
}

// endCall performs one due end of a call: a timeout, then a wait.
func (d *Loop) endCall(c *call) {
	plan := c.layout.plan
	effect := plan.Advance(&c.Call, &pipeline.Event{Kind: pipeline.Woken}, d.now)
	if effect.Cut() != pipeline.NoCut {
		plan.Take(c, &c.Call, effect, d.now)
		d.settle(c)
		return
	}
	if w, over := plan.Waits(&c.Call, d.now); over {
		d.expire(c, w)
		return
	}
	d.rearm(c)
}

// resume starts the next attempt of a call, or a hedge.
func (d *Loop) resume(c *call) {
	if c.Phase != pipeline.Racing {
		d.happen(c, &pipeline.Event{Kind: pipeline.Resumed})
		return
	}
	c.layout.plan.Hedge(c, &c.Call, d.now)
	d.settle(c)
}

// inject ends the injected latency of an attempt.
func (d *Loop) inject(c *call) {
	c.layout.plan.Inject(c, &c.Call, d.now)
	d.settle(c)
}

// expire ends a wait. When its turn comes at the same mark, the queue is served
// first.
func (d *Loop) expire(c *call, w pipeline.Wait) {
	i := int(w.Step)
	n := *c.node(w.Attempt, i)
	ticket := c.layout.plan.Ticket(&c.Call, w)
	var answer reducer.Answer
	d.step(&answer, n, &reducer.Action{Kind: reducer.Expire, Permit: reducer.Permit{ID: ticket}})
	if answer.Verdict == reducer.Wait {
		c.layout.plan.WaitUntil(&c.Call, w, clock.Never)
		n.turns = append(n.turns, turn{c.handle, w})
		d.rearm(c)
		return
	}
	d.happen(c, &pipeline.Event{Kind: pipeline.Dropped, Attempt: w.Attempt, Step: w.Step, Answer: answer})
}

// step steps a cell and delivers its effects to other calls.
func (d *Loop) step(answer *reducer.Answer, n *node, a *reducer.Action) {
	d.touch(answer, n, a)
	d.deliver()
}

// touch steps a cell and leaves its effects in d.out.
func (d *Loop) touch(answer *reducer.Answer, n *node, a *reducer.Action) {
	before := len(d.out)
	unblocked := n.pool.blocks && n.index > 0 && a.Kind <= reducer.TryAcquire && !n.pool.table.MayBlock()
	if unblocked {
		*a = a.WithoutBlock()
	}
	*answer = n.cell.Step(*a, d.now, &d.out)
	if unblocked {
		n.pool.table.CountUnblocked(a, answer)
	}
	if d.Steps != nil {
		d.report(n, a, answer, before)
	}
	if d.Changes {
		d.change(n, before)
	}
	d.arm(n)
	if len(n.turns) > 0 && a.Kind != reducer.Expire {
		d.recall(n)
	}
}

// report calls Steps with a step whose effects begin at an index.
func (d *Loop) report(n *node, a *reducer.Action, answer *reducer.Answer, from int) {
	d.state = n.cell.AppendState(d.state[:0])
	name := n.pool.name
	if len(d.drivers) > 1 && !n.pool.shared {
		name = n.pool.policy + "/" + name
	}
	d.Steps(&reducer.Entry{
		At: d.now, Cell: name, Action: *a, Effects: reducer.Effects{Answer: *answer, Others: d.out[from:]},
		Digest: reducer.Digest(d.state),
	}, n.key)
}

// change decides the changes of a breaker among the effects from an index on. A driver
// whose active plan does not have the step, at which calls of an older one end, has none.
func (d *Loop) change(n *node, from int) {
	for i := from; i < len(d.out); i++ {
		e := &d.out[i]
		if e.Kind != reducer.Change {
			continue
		}
		for _, of := range d.drivers {
			if step := of.layout.stepOf(n.pool); step >= 0 {
				x := d.decide(decision.HandleOf(n.key, 0), decision.Change)
				x.Policy, x.Index, x.Step = of.index, step, of.layout.plan.StepName(step)
				x.Reason, x.Mode = e.Reason, uint8(e.Permit.ID)
			}
		}
	}
}

// push is step without the cell's answer.
func (d *Loop) push(n *node, a *reducer.Action) {
	var answer reducer.Answer
	d.step(&answer, n, a)
}

// recall expires again the waits that were over at the mark of their turn: the cell
// has changed, and another waiter may have been served.
func (d *Loop) recall(n *node) {
	for _, t := range n.turns {
		if c := d.find(t.call); c != nil {
			c.layout.plan.WaitUntil(&c.Call, t.wait, d.now)
			d.rearm(c)
		}
	}
	n.turns = n.turns[:0]
}

// deliver delivers the effects of cells to their calls.
func (d *Loop) deliver() {
	if len(d.out) == 0 {
		return
	}
	out := d.out
	d.out = nil // what follows steps cells, too
	for i := range out {
		e := &out[i]
		if e.Kind == reducer.Change {
			continue
		}
		who := caller(e.Caller)
		c := d.calls[who.slot()]
		if c.layout == nil {
			continue // an effect before this one ended the call
		}
		event := pipeline.Event{Attempt: who.attempt(), Step: uint8(who.step())}
		switch e.Kind {
		case reducer.Grant:
			event.Kind, event.Answer.Verdict, event.Answer.Permit = pipeline.Granted, reducer.Admit, e.Permit
		case reducer.Drop:
			event.Kind, event.Answer.Reason = pipeline.Dropped, e.Reason
		default:
			x := c.Decision(decision.Lapse, who.step())
			x.Attempt, x.Shadow = c.NumberOf(who.attempt()), c.InShadow(who.step())
			continue
		}
		d.happen(c, &event)
	}
	d.out = out[:0]
}

// Admit implements pipeline.Host.
func (c *call) Admit(k uint8, i int) (p reducer.Permit, ok bool) {
	if of := c.layout.pools[i]; len(of.barred) > 0 {
		if _, blocked := of.blocked(c.keys[i]); blocked {
			return p, false
		}
	}
	n := c.resolve(k, i)
	d, plan := c.driver, c.layout.plan
	if len(n.turns) > 0 || d.Steps != nil {
		return p, false
	}
	p, ok = n.cell.Enter(plan.CostOf(&c.Call, i), uint64(c.caller(k, i)), plan.BoundOf(&c.Call, k, i, d.now), d.now)
	if ok {
		n.hold()
	}
	return p, ok
}

// Ask implements pipeline.Host.
func (c *call) Ask(k uint8, i int, a reducer.Action) (answer reducer.Answer) {
	var n *node
	if of := c.layout.pools[i]; of != nil && len(of.barred) > 0 && (a.Kind == reducer.Acquire || a.Kind == reducer.Peek) {
		if refused, blocked := of.blocked(c.keys[i]); blocked {
			return refused
		}
	}
	switch {
	case a.Kind == reducer.Acquire:
		a.ID = uint64(c.caller(k, i))
		n = c.resolve(k, i)
	case a.Kind == reducer.Peek && i != c.layout.plan.HedgeIndex():
		p := c.layout.pools[i]
		n = *c.node(c.Tries(), i)
		if c.keepsOf(n) {
			return answer // another attempt takes the place that this one gives back
		}
		if n != nil && n.index == 0 && (p.table == nil || p.keys.WhenFull == keyed.FullShare) {
			break // the only cell of the step, or its overflow cell
		}
		if n = p.at(c.keys[i]); n == nil {
			// The key has no cell: a new cell answers, and is not kept.
			return p.maker.New(c.driver.now).Step(a, c.driver.now, nil)
		}
	case a.Kind == reducer.Observe:
		if n = *c.node(k, i); n == nil || n.gone {
			return answer
		}
	default:
		n = c.resolve(k, i)
	}
	c.driver.step(&answer, n, &a)
	return answer
}

// Exit implements pipeline.Host.
func (c *call) Exit(k uint8, i int, p reducer.Permit) bool {
	n := *c.node(k, i)
	if n.gone {
		return true // an evicted cell gets no action
	}
	if c.keepsAt(k, i) && c.layout.plan.Places(i) {
		return false
	}
	if len(n.turns) > 0 || c.driver.Steps != nil || !n.cell.Exit(p, c.driver.now) {
		return false
	}
	n.hold()
	return true
}

// Leave implements pipeline.Host. A cell that was evicted meanwhile gets no action.
func (c *call) Leave(k uint8, i int, a reducer.Action) (dropped uint64, settled bool) {
	n := *c.node(k, i)
	switch {
	case n.gone:
	case a.Kind == reducer.Settle:
		var answer reducer.Answer
		c.driver.step(&answer, n, &a)
		return pipeline.Left(a.Kind, &answer)
	case a.Kind == reducer.Release && c.keepsAt(k, i):
		c.kept = append(c.kept, place{n, a})
	default:
		c.driver.push(n, &a)
	}
	return 0, false
}

// keepsAt reports whether the attempt k keeps its place at step i: the one whose answer is
// still read does, and the call itself at the steps that it passes.
func (c *call) keepsAt(k uint8, i int) bool {
	return c.keeps && (k == c.keeper || i <= c.layout.plan.HedgeIndex())
}

// keepsOf reports whether the call keeps a place of a cell.
func (c *call) keepsOf(n *node) bool {
	for i := range c.kept {
		if c.kept[i].node == n {
			return true
		}
	}
	return false
}

// Missing implements pipeline.Host.
func (c *call) Missing(i int) bool { return c.missing&(1<<i) != 0 }

// Start implements pipeline.Host: the reader of the decision runs the attempt.
func (c *call) Start(uint8) {}

// Stop implements pipeline.Host.
func (c *call) Stop(uint8) {}

// Decision implements pipeline.Host.
func (c *call) Decision(kind decision.Kind, i int) *decision.Decision {
	d := c.driver
	x := d.decide(c.handle, kind)
	if i == pipeline.NoStep {
		return x
	}
	x.Step, x.Index = c.layout.plan.StepName(i), i
	if d.Describe != nil && kind != decision.Timeout && kind != decision.Expire && i >= 0 {
		if n := *c.node(c.Tries(), i); n != nil {
			x.State = d.Describe(n.cell, d.now)
		}
	}
	return x
}

// Tell implements pipeline.Host.
func (c *call) Tell(*decision.Decision) {}

// decide adds a decision, whose other fields are the caller's to fill in.
func (d *Loop) decide(h decision.Handle, kind decision.Kind) *decision.Decision {
	n := len(d.Decisions)
	if n == cap(d.Decisions) {
		d.Decisions = append(d.Decisions, decision.Decision{})
	}
	d.Decisions = d.Decisions[:n+1]
	x := &d.Decisions[n]
	*x = decision.Decision{}
	x.At, x.Call, x.Kind, x.Index = d.now, h, kind, -1
	return x
}
