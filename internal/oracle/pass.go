package oracle

import (
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
)

// waiter is a path, or the phantom of one, in the queue of a cell.
type waiter struct {
	path    *path
	step    int
	cell    *cell
	cost    int64
	ends    int64 // when the wait is over without a turn, or never
	phantom bool
}

// queues reports whether the waiter is still in its queue.
func (w *waiter) queues() bool { return w.path.waits[w.step] == w }

// before reports whether the waiter's call began before the other's. Of one call
// the lower attempt comes first.
func (w *waiter) before(other *waiter) bool {
	a, b := w.path, other.path
	if a.call.number != b.call.number {
		return a.call.number < b.call.number
	}
	return a.number < b.number
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

// answer is what a cell says to a path that reaches it.
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

// startRound starts a round, whose first attempt passes the steps from the given
// one on.
func (e *Engine) startRound(c *call, from int) {
	c.sleeping = false
	c.round++
	c.last++
	c.hedges, c.roundRan, c.retryAfter, c.pushback, c.roundFrom = 0, false, 0, false, e.now
	e.pass(c.above, from)
}

// pass takes the path through the steps from the given one on, as far as it
// comes. At the hedge the path above it splits into attempts.
func (e *Engine) pass(p *path, from int) {
	c := p.call
	p.state = passing
	end := len(c.plan.steps)
	if p == c.above {
		end = c.plan.hedge
	}
	for i := from; i < end; i++ {
		if !e.passStep(p, i) {
			return
		}
	}
	if p == c.above {
		e.split(c)
	} else {
		e.admit(p)
	}
}

// admit starts the attempt.
func (e *Engine) admit(p *path) {
	c := p.call
	p.state, p.since = running, e.now
	c.started++
	if !c.roundRan {
		c.roundRan, c.roundAt = true, e.now
	}
	if c.started == 1 {
		c.firstAt = e.now
		e.countFirst(c)
	}
	fields := []any{"attempt", p.number}
	if matches(c.plan.allow, c.event) {
		fields = append(fields, "reason", "allowed")
	}
	e.say(c.id, "admit", fields...)
	e.startClock(p)
	e.injects(p)
}

// countFirst counts the call's first admission in the budgets of its plan. To the budgets of
// tokens it is only a use of the key.
// Reading: a hedge's own budget counts the first admission of a call as a
// retry's does, not the first of each round.
func (e *Engine) countFirst(c *call) {
	if r := c.plan.retry; r >= 0 && pipeline.ConfigOf[retry.Config](c.plan.steps[r].Step).Budgeted {
		if cell := c.use(r); cell != nil {
			cell.budget.first(e.now)
		}
	}
	if c.plan.hedged() && c.hedgeConfig().Budgeted {
		if cell := c.use(c.plan.hedge); cell != nil && cell.hedge.budget != nil {
			cell.hedge.budget.first(e.now)
		}
	}
}

// passStep reports whether the path continues below step i.
func (e *Engine) passStep(p *path, i int) bool {
	c, s := p.call, p.call.plan.steps[i]
	if s.Kind() == mechanism.Retry {
		c.tryingFrom, c.roundFrom = e.now, e.now
	}
	switch {
	case c.denies(i):
		return e.reject(p, i, answer{reason: "missing", retryAt: never})
	case c.skips(i):
		return true
	}
	switch cfg := s.Config.(type) {
	case timeout.Config:
		p.timers[i+1] = timer{at: after(e.now, int64(cfg.After)), set: true}
		return true
	case retry.Config, chaos.Config:
		return true
	}
	cell := c.use(i)
	if cell.limit != nil && c.cost(i) == 0 && !cell.limit.blocked(e.now) {
		p.holds[i] = hold{cell: cell, permit: &permit{era: cell.limit.era}}
		return true // its key has a cell from then on
	}
	e.endMissed(cell)
	a := cell.ask(c.cost(i), e.now, p.deadline(i))
	switch a.verdict {
	case admit:
		p.take(i, cell, e.now)
		return true
	case wait:
		e.enqueue(p, i, cell, a)
		return s.Shadow
	}
	return e.reject(p, i, a)
}

// endMissed ends the waits of a limit that are over and whose turn another call took at this
// mark, before a newcomer is asked for: it finds their places in the queue free.
func (e *Engine) endMissed(cell *cell) {
	for cell.limit != nil {
		var first *waiter
		for _, w := range cell.limit.queue {
			if w.ends <= e.now && w.missed(e.now) && (first == nil || w.before(first)) {
				first = w
			}
		}
		if first == nil {
			return
		}
		e.expire(first, "wait")
	}
}

// ask returns what the cell says to a call of the cost, whose earliest deadline
// is given. It changes nothing but the row of a limit with blocks.
func (l *cell) ask(cost, now, deadline int64) answer {
	switch {
	case l.limit != nil:
		return l.limit.ask(cost, now, deadline)
	case l.breaker != nil:
		return l.breaker.ask(now)
	case l.guard != nil:
		return l.guard.ask(cost)
	}
	return l.bulkhead.ask(cost, now)
}

// take takes the permit of step i, which the cell granted.
func (p *path) take(i int, cell *cell, now int64) {
	h := hold{cell: cell}
	switch {
	case cell.limit != nil:
		h.permit = cell.limit.take(p.call.cost(i), now)
		if charged(p.call.plan.steps[i].Config) == limiter.ChargeEnd {
			cell.limit.refund(h.permit, now) // the cost only had to be free
		}
	case cell.breaker != nil:
		h.pass = cell.breaker.take(now)
	case cell.guard != nil:
		h.place, h.leave = cell.guard.take(p.call.cost(i), p.bound(i, now), now)
	default:
		h.place = cell.bulkhead.take(p.call.cost(i), now)
	}
	p.holds[i] = h
}

// enqueue puts the path, or in a shadow step its phantom, into the queue. A
// waiter that it replaces leaves first.
func (e *Engine) enqueue(p *path, i int, cell *cell, a answer) {
	c, s := p.call, p.call.plan.steps[i]
	if a.putOut != nil {
		e.expire(a.putOut, "full")
	}
	w := &waiter{path: p, step: i, cell: cell, cost: c.cost(i), ends: a.ends, phantom: s.Shadow}
	p.waits[i] = w
	if cell.limit != nil {
		cell.limit.queue = append(cell.limit.queue, w)
	} else {
		cell.bulkhead.queue = append(cell.bulkhead.queue, w)
	}
	if !s.Shadow {
		p.state = waiting
	}
	fields := []any{"attempt", p.attemptOf(), "step", s.Name}
	if a.until != never {
		fields = append(fields, "until", duration(a.until))
	}
	e.say(c.id, "wait", append(fields, inShadow(s.Shadow)...)...)
}

// unqueue takes the waiter out of its queue.
func (e *Engine) unqueue(w *waiter) {
	if w.cell.limit != nil {
		w.cell.limit.queue = w.cell.limit.queue.without(w)
	} else {
		w.cell.bulkhead.queue = w.cell.bulkhead.queue.without(w)
	}
	w.path.waits[w.step] = nil
}

// reject writes that step i refuses the path, and reports whether the path still
// continues: in shadow.
func (e *Engine) reject(p *path, i int, a answer) bool {
	s := p.call.plan.steps[i]
	fields := []any{"step", s.Name, "reason", a.reason}
	if !s.Shadow && e.drop(p, fields) {
		return false
	}
	if a.retryAt != never {
		fields = append(fields, "retry_after", duration(a.retryAt-e.now))
	}
	if s.Shadow {
		e.say(p.call.id, "reject", append(fields, inShadow(true)...)...)
		return true
	}
	if e.waitsFor(p, i, a) {
		return false
	}
	e.refuse(p.call, "reject", fields)
	return false
}

// waitsFor lets the round begin anew at the retry-at of a refusal, and reports whether
// it does: a retry above waits for refusals, no attempt of the round was admitted, and
// attempts and time are left. The line names the attempt that was refused.
func (e *Engine) waitsFor(p *path, i int, a answer) bool {
	c, r := p.call, p.call.plan.retry
	if r < 0 || i < r || c.plan.steps[r].Shadow || a.retryAt == never || c.roundRan {
		return false
	}
	cfg := pipeline.ConfigOf[retry.Config](c.plan.steps[r].Step)
	if cfg.Refusals != retry.WaitRefused || c.round >= int(cfg.Attempts) {
		return false
	}
	before := c.prevDelay
	c.retryAfter = a.retryAt - e.now
	until, late := e.next(c, cfg)
	if late != "" {
		c.prevDelay = before
		return false
	}
	number := p.number
	if p == c.above {
		number = c.last
	}
	if number == c.last {
		c.last-- // the next attempt has the number
	}
	e.say(c.id, "retry", "attempt", number, "reason", a.reason, "until", duration(until))
	e.leave(p, r+1, "")
	e.leave(c.above, r+1, "")
	c.remove(p)
	c.sleeping, c.retryAt = true, until
	return true
}

// expire ends a wait without a turn.
func (e *Engine) expire(w *waiter, reason string) {
	c := w.path.call
	e.unqueue(w)
	fields := []any{"step", c.plan.steps[w.step].Name, "reason", reason}
	switch {
	case w.phantom:
		e.say(c.id, "expire", append(fields, inShadow(true)...)...)
	case !e.drop(w.path, fields):
		e.refuse(c, "expire", fields)
	}
}

// drop ends an attempt that a step refused if another attempt of its round lives,
// and reports whether it does.
func (e *Engine) drop(p *path, fields []any) bool {
	c := p.call
	if p == c.above || len(c.attempts) < 2 {
		return false
	}
	e.say(c.id, "drop", append([]any{"attempt", p.number}, fields...)...)
	e.leave(p, 0, "")
	c.remove(p)
	return true
}

// refuse ends the call with a refusal of the policy.
func (e *Engine) refuse(c *call, decision string, fields []any) {
	e.leaveAll(c, "")
	e.say(c.id, decision, append(fields, c.terminal()...)...)
	c.over = true
}
