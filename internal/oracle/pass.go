package oracle

import (
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
)

// waiter is a call, or the phantom of one, in the queue of a cell.
type waiter struct {
	call    *call
	step    int
	cost    int64
	ends    int64 // when the wait is over in vain, or never
	phantom bool
}

// queue holds waiters in the order in which they came.
type queue []*waiter

// inOrder returns the waiters in the order in which they are served.
func (q queue) inOrder(order limiter.Order) queue {
	served := append(queue(nil), q...)
	if order == limiter.Newest {
		for i, w := range q {
			served[len(q)-1-i] = w
		}
	}
	return served
}

// without returns the queue without the waiter.
func (q queue) without(gone *waiter) queue {
	var rest queue
	for _, w := range q {
		if w != gone {
			rest = append(rest, w)
		}
	}
	return rest
}

// answer is what a cell says to a call that reaches it.
type answer struct {
	verdict verdict
	reason  string
	retryAt int64 // of a refusal, or never
	until   int64 // of a wait, or never
	ends    int64 // of a wait, or never
	putOut  *waiter
}

type verdict int

const (
	admit verdict = iota
	reject
	wait
)

// pass lets the call pass the steps from the given one on, as far as it comes.
func (e *Engine) pass(c *call, from int) {
	c.state = passing
	for i := from; i < len(c.plan.steps); i++ {
		if !e.passStep(c, i) {
			return
		}
	}
	c.state = running
	c.started++
	c.attemptAt = e.now
	if c.started == 1 {
		c.firstAt = e.now
		if r := c.plan.retry; r >= 0 && pipeline.ConfigOf[retry.Config](c.plan.steps[r].Step).Budgeted {
			c.cell(r).budget.first(e.now)
		}
	}
	e.say(c.id, "admit", "attempt", c.attempt)
}

// passStep reports whether the call goes on below step i.
func (e *Engine) passStep(c *call, i int) bool {
	s := c.plan.steps[i]
	switch s.Kind() {
	case pipeline.Timeout:
		c.timers[i+1] = timer{at: after(e.now, int64(pipeline.ConfigOf[timeout.Config](s.Step).After)), set: true}
		return true
	case pipeline.Retry:
		return true
	case pipeline.Limit:
		c.cell(i) // a key that was seen has a cell from then on
		if c.event.Cost == 0 {
			return true
		}
	}
	a := c.cell(i).ask(int64(c.event.Cost), e.now)
	switch a.verdict {
	case admit:
		c.take(i, e.now)
		return true
	case wait:
		e.enqueue(c, i, a)
		return s.Shadow
	}
	fields := []any{"step", s.Name, "reason", a.reason}
	if a.retryAt != never {
		fields = append(fields, "retry_after", duration(a.retryAt-e.now))
	}
	e.say(c.id, "reject", append(fields, c.marks(s.Shadow, true)...)...)
	if !s.Shadow {
		e.leave(c, 0, "")
		c.state = over
	}
	return s.Shadow
}

// ask returns what the cell says to a call of the cost. It changes nothing.
func (l *cell) ask(cost, now int64) answer {
	switch {
	case l.limit != nil:
		return l.limit.ask(cost, now)
	case l.breaker != nil:
		return l.breaker.ask(now)
	}
	return l.bulkhead.ask(now)
}

// take takes the permit of step i, which was granted.
func (c *call) take(i int, now int64) {
	cell := c.cell(i)
	switch {
	case cell.limit != nil:
		c.holds[i].permit = cell.limit.take(int64(c.event.Cost), now)
	case cell.breaker != nil:
		c.holds[i].pass = cell.breaker.take(now)
	default:
		c.holds[i].place = cell.bulkhead.take(now)
	}
}

// enqueue lets the call, or in a shadow step its phantom, stand in the queue.
// Whoever has to go for it goes first.
func (e *Engine) enqueue(c *call, i int, a answer) {
	s := c.plan.steps[i]
	if a.putOut != nil {
		e.expire(a.putOut, "full")
	}
	w := &waiter{call: c, step: i, cost: int64(c.event.Cost), ends: a.ends, phantom: s.Shadow}
	c.waits[i] = w
	cell := c.cell(i)
	if cell.limit != nil {
		cell.limit.queue = append(cell.limit.queue, w)
	} else {
		cell.bulkhead.queue = append(cell.bulkhead.queue, w)
	}
	if !s.Shadow {
		c.state = waiting
	}
	fields := []any{"attempt", c.attempt, "step", s.Name}
	if a.until != never {
		fields = append(fields, "until", duration(a.until))
	}
	e.say(c.id, "wait", append(fields, c.marks(s.Shadow, false)...)...)
}

// unqueue takes the waiter out of its queue.
func (e *Engine) unqueue(w *waiter) {
	cell := w.call.cell(w.step)
	if cell.limit != nil {
		cell.limit.queue = cell.limit.queue.without(w)
	} else {
		cell.bulkhead.queue = cell.bulkhead.queue.without(w)
	}
	w.call.waits[w.step] = nil
}

// expire ends a wait in vain, and with it the call unless it was a phantom.
func (e *Engine) expire(w *waiter, reason string) {
	c := w.call
	e.unqueue(w)
	fields := []any{"step", c.plan.steps[w.step].Name, "reason", reason}
	e.say(c.id, "expire", append(fields, c.marks(w.phantom, true)...)...)
	if !w.phantom {
		e.leave(c, 0, "")
		c.state = over
	}
}
