package oracle

import (
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
)

// timeout lets the timeout of step i, or the call's own for -1, come: a shadow
// one says so, another cuts what the call does.
func (e *Engine) timeout(c *call, i int) {
	c.timers[i+1].set = false
	name, shadow := "deadline", false
	if i >= 0 {
		name, shadow = c.plan.steps[i].Name, c.plan.steps[i].Shadow
	}
	fields := []any{"attempt", c.attempt, "step", name}
	e.say(c.id, "timeout", append(fields, c.marks(shadow, false)...)...)
	switch {
	case shadow:
	case c.state != running:
		e.endUnvoted(c, "timeout")
	case c.plan.retry >= 0 && c.inside(i):
		e.endAttempt(c, "timeout", nil)
	default:
		e.leave(c, 0, "timeout")
		e.end(c, "timeout", "")
	}
}

// endAttempt ends the running attempt with the outcome; the next one or the end
// of the call follows.
func (e *Engine) endAttempt(c *call, outcome string, retryAfter *int64) {
	r := c.plan.retry
	e.leave(c, r+1, outcome)
	if r < 0 || outcome == "ok" || outcome == "ignore" {
		e.leave(c, 0, outcome)
		e.end(c, outcome, "")
		return
	}
	until, reason := e.decide(c, outcome, retryAfter)
	shadow := c.plan.steps[r].Shadow
	if reason == "" {
		fields := []any{"attempt", c.attempt, "reason", outcome, "until", duration(until)}
		e.say(c.id, "retry", append(fields, c.marks(shadow, false)...)...)
	}
	if reason == "" && !shadow {
		c.state = sleeping
		c.retryAt = until
		return
	}
	if shadow {
		reason = ""
	}
	e.leave(c, 0, outcome)
	e.end(c, outcome, reason)
}

// decide returns when the next attempt starts, or the reason why none does. The
// checks come in the order of policy/REFERENCE.md#retries.
func (e *Engine) decide(c *call, outcome string, retryAfter *int64) (int64, string) {
	r := c.plan.retry
	cfg := pipeline.ConfigOf[retry.Config](c.plan.steps[r].Step)
	if c.started >= int(cfg.Attempts) {
		return 0, "attempts"
	}
	floor := int64(0)
	if retryAfter != nil {
		floor = *retryAfter
	}
	if floor < 0 {
		return 0, "pushback"
	}
	seed := e.seed + uint64(c.number)<<32 + uint64(c.started)
	c.prevDelay = delay(cfg.Backoff, c.started, c.prevDelay, seed)
	until := after(e.now, max(c.prevDelay, floor))
	for i := -1; i < r; i++ {
		shadow := i >= 0 && c.plan.steps[i].Shadow
		if t := c.timers[i+1]; t.set && !shadow && until >= t.at {
			return 0, "deadline"
		}
	}
	for i := r + 1; i < len(c.plan.steps); i++ {
		if s := c.plan.steps[i]; s.Kind() == pipeline.Breaker && !s.Shadow && c.cell(i).breaker.openAt(until) {
			return 0, "open"
		}
	}
	if cfg.Budgeted && !c.cell(r).budget.grant(e.now) {
		return 0, "budget"
	}
	return until, ""
}

// endUnvoted ends the call, whatever it is doing, without any vote.
func (e *Engine) endUnvoted(c *call, outcome string) {
	e.leave(c, 0, "")
	e.end(c, outcome, "")
}

// end says that the call is over.
func (e *Engine) end(c *call, outcome, reason string) {
	fields := []any{"outcome", outcome, "attempt", c.started}
	if reason != "" {
		fields = append(fields, "reason", reason)
	}
	failed := outcome == "fail" || outcome == "throttle" || outcome == "timeout"
	e.say(c.id, "end", append(fields, c.marks(false, failed)...)...)
	c.state = over
}

// leave gives back what the call has at the steps from the given one on, in
// reverse order. With an outcome breakers get their votes; without one (refused,
// expired, cut while waiting, cancelled) they get none, and a limiter gets its
// permits back: inside the retry unless the attempt runs, above it unless any
// attempt of the call has started.
func (e *Engine) leave(c *call, from int, outcome string) {
	for i := len(c.plan.steps) - 1; i >= from; i-- {
		c.timers[i+1].set = false
		if c.waits[i] != nil {
			e.unqueue(c.waits[i])
		}
		h := c.holds[i]
		c.holds[i] = hold{}
		switch {
		case h.permit != nil:
			ran := c.started > 0
			if c.inside(i) {
				ran = c.state == running
			}
			if outcome == "" && !ran {
				c.cell(i).limit.refund(h.permit, e.now)
			}
		case h.pass != nil:
			since := c.firstAt
			if c.inside(i) {
				since = c.attemptAt
			}
			c.cell(i).breaker.leave(h.pass, outcome, e.now-since, e.now)
		case h.place != nil:
			if !h.place.lapsed {
				c.cell(i).bulkhead.free(h.place)
			}
		}
	}
	if from == 0 {
		c.timers[0].set = false
	}
}
