package oracle

import (
	"slices"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
)

// timeout ends the time of step i of the path, or of the call's own deadline for
// -1: a shadow one says so, another cuts what is below it.
func (e *Engine) timeout(p *path, i int) {
	c := p.call
	p.timers[i+1].set = false
	name, shadow := "deadline", false
	if i >= 0 {
		name, shadow = c.plan.steps[i].Name, c.plan.steps[i].Shadow
	}
	number := p.attemptOf()
	e.say(c.id, "timeout", append([]any{"attempt", number, "step", name}, inShadow(shadow)...)...)
	switch {
	case shadow:
	case p != c.above && p.state == running:
		e.endAttempt(p, "timeout", nil, nil)
	case p != c.above && len(c.attempts) > 1:
		e.leave(p, 0, "")
		c.remove(p)
	case c.running() == nil:
		e.endUnvoted(c, "timeout")
	default:
		e.cutRound(c, i, number)
	}
}

// cutRound cuts all attempts of the round for the timeout of step i above the
// hedge. Those that run vote. Inside the retry it is the last failure of the
// round. Reading: its `retry` line names the attempt that the `timeout` named.
func (e *Engine) cutRound(c *call, i, number int) {
	for len(c.attempts) > 0 {
		p := c.attempts[0]
		outcome := ""
		if p.state == running {
			outcome = "timeout"
			e.count(p, outcome)
		}
		e.leave(p, 0, outcome)
		c.remove(p)
	}
	if c.plan.retry >= 0 && c.inRound(i) {
		e.endRound(c, number, "timeout")
		return
	}
	e.leaveAll(c, "timeout")
	e.end(c, "timeout", "", 0)
}

// endAttempt ends a running attempt with the outcome. The first ok or ignore
// wins, the last failure of the round ends the round.
func (e *Engine) endAttempt(p *path, outcome string, retryAfter, used *int64) {
	c := p.call
	if used != nil {
		for _, path := range []*path{c.above, p} {
			for i := range path.holds {
				path.holds[i].spent = true
				path.holds[i].used += *used
			}
		}
	}
	if retryAfter != nil {
		p.says = max(0, *retryAfter)
	}
	if outcome != "ignore" && outcome != "cancel" {
		e.count(p, outcome)
	}
	e.leave(p, 0, outcome)
	c.remove(p)
	if outcome == "ok" || outcome == "ignore" {
		e.win(p, outcome)
		return
	}
	if retryAfter != nil {
		c.retryAfter = max(c.retryAfter, *retryAfter)
		c.pushback = c.pushback || *retryAfter < 0
	}
	if c.above.says = c.retryAfter; c.pushback {
		c.above.says = 0
	}
	if len(c.attempts) > 0 {
		e.say(c.id, "failed", "attempt", p.number, "reason", outcome)
		return
	}
	e.endRound(c, p.number, outcome)
}

// count counts the outcome of an attempt that ran in the budgets of the plan. The first
// attempt of a round took what the retry did, a hedge what the hedge did.
func (e *Engine) count(p *path, outcome string) {
	c, r, h := p.call, p.call.plan.retry, p.call.plan.hedge
	if r >= 0 && pipeline.ConfigOf[retry.Config](c.plan.steps[r].Step).Budgeted {
		took := c.took
		if p.hedge {
			took = nil
			if !c.plan.hedged() || !c.hedgeConfig().Budgeted && !c.hedgeConfig().Unbudgeted {
				took = p.took
			}
		}
		if counts(pipeline.ConfigOf[retry.Config](c.plan.steps[r].Step).Budget) {
			if cell := c.use(r); cell != nil {
				cell.budget.ended(outcome, took, e.now)
			}
		}
	}
	if c.plan.hedged() && c.hedgeConfig().Budgeted && counts(c.hedgeConfig().Budget) {
		if cell := c.use(h); cell != nil && cell.hedge.budget != nil {
			cell.hedge.budget.ended(outcome, p.took, e.now)
		}
	}
}

// counts reports whether a budget counts how attempts end.
func counts(c budget.Config) bool { return c.Rule != budget.Windowed }

// win ends the call with the outcome of the attempt. The others of its round are
// cancelled without a vote.
func (e *Engine) win(p *path, outcome string) {
	c := p.call
	e.sample(p, outcome)
	for len(c.attempts) > 0 {
		other := c.attempts[0]
		e.leave(other, 0, "")
		e.say(c.id, "cancel", "attempt", other.number)
		c.remove(other)
	}
	e.leaveAll(c, outcome)
	e.end(c, outcome, "", p.number)
}

// sample adds the first attempt of the round to the samples of the hedge when an attempt wins:
// itself where it ended ok, or the first one, still running, that loses to its hedge.
func (e *Engine) sample(won *path, outcome string) {
	c := won.call
	if c.samples == nil {
		return
	}
	if !won.hedge {
		if outcome == "ok" {
			c.samples.hedge.sample(e.now-won.since, false)
		}
		return
	}
	for _, other := range c.attempts {
		if !other.hedge && other.state == running {
			c.samples.hedge.sample(e.now-other.since, true)
		}
	}
}

// endRound ends a round without a live attempt with the outcome of its last
// failure, as the attempt of that number had it. The next round or the end of the
// call follows.
func (e *Engine) endRound(c *call, number int, outcome string) {
	r := c.plan.retry
	e.leave(c.above, r+1, outcome)
	if r < 0 {
		e.end(c, outcome, "", 0)
		return
	}
	until, reason := e.decide(c, outcome)
	shadow := c.plan.steps[r].Shadow
	if reason == "" {
		fields := []any{"attempt", number, "reason", outcome, "until", duration(until)}
		e.say(c.id, "retry", append(fields, inShadow(shadow)...)...)
	}
	if reason == "" && !shadow {
		c.sleeping = true
		c.retryAt = until
		return
	}
	if shadow {
		reason = ""
	}
	e.leaveAll(c, outcome)
	e.end(c, outcome, reason, 0)
}

// decide returns when the next round starts, or the reason why none does. The
// checks come in the order of policy/REFERENCE.md#retries.
func (e *Engine) decide(c *call, outcome string) (int64, string) {
	r := c.plan.retry
	cfg := pipeline.ConfigOf[retry.Config](c.plan.steps[r].Step)
	if c.round >= int(cfg.Attempts) {
		return 0, "attempts"
	}
	if c.pushback {
		return 0, "pushback"
	}
	until, late := e.next(c, cfg)
	if late != "" {
		return 0, late
	}
	for i := r + 1; i < len(c.plan.steps); i++ {
		if s := c.plan.steps[i]; s.Kind() == mechanism.Breaker && !s.Shadow && !c.skips(i) {
			// Asking does not count as a use of the key: an evicted breaker is as a new one. To
			// a reader, so is the breaker of a key which would take the spare cell because
			// others are held.
			cell := s.group.find(c.event)
			if cell == nil || cell == s.group.spare && s.group.step.WhenFull == pipeline.FullEvict {
				cell = s.group.newCell()
			}
			if cell.breaker.openAt(until, e.now) {
				if end := cell.breaker.openUntil(e.now); cfg.Refusals == retry.WaitRefused && !c.plan.steps[r].Shadow && c.late(end, cfg) == "" {
					until = end
					continue
				}
				return 0, "open"
			}
		}
	}
	if cfg.Budgeted {
		if cfg.Budget.Rule == budget.Adaptive && e.full(c) {
			return 0, "budget"
		}
		if cell := c.use(r); cell != nil {
			took, granted := cell.budget.grant(c.asks(outcome), e.now)
			if c.took = took; !granted {
				return 0, "budget"
			}
		}
	}
	return until, ""
}

// asks returns what the call says of itself to a budget.
func (c *call) asks(outcome string) asked {
	a := asked{outcome: outcome, made: max(c.started, 1) - 1}
	if c.plan.hedged() {
		a.made = max(c.last, 1) - 1
	}
	if c.plan.retry >= 0 && c.roundRan {
		a.waited = c.roundAt - c.roundFrom
	}
	return a
}

// full reports whether a step below the retry has no free place. Reading: a key without a
// cell of its own has free ones, unless the step lets such keys share.
func (e *Engine) full(c *call) bool {
	for i := c.plan.retry + 1; i < len(c.plan.steps); i++ {
		s := c.plan.steps[i]
		if s.Shadow || c.skips(i) || s.Kind() != mechanism.Bulkhead && s.Kind() != mechanism.Adaptive {
			continue
		}
		cell := s.group.find(c.event)
		if cell == s.group.spare && s.group.step.WhenFull == pipeline.FullEvict {
			continue
		}
		if cell == nil {
			continue
		}
		seen := *cell
		if cell.bulkhead != nil {
			seen.bulkhead = cell.bulkhead.after(e.now)
		}
		if a := seen.ask(c.cost(i), e.now, never); a.verdict != admit && a.reason != "capacity" {
			return true
		}
	}
	return false
}

// next returns when the next round would start, or the reason why that is too late.
func (e *Engine) next(c *call, cfg retry.Config) (int64, string) {
	seed := c.seed + uint64(c.round)
	c.prevDelay = delay(cfg.Backoff, c.round, c.prevDelay, seed)
	until := after(e.now, max(c.prevDelay, c.retryAfter))
	if late := c.late(until, cfg); late != "" {
		return 0, late
	}
	return until, ""
}

// late returns the reason why a mark is too late for the next round.
func (c *call) late(at int64, cfg retry.Config) string {
	if at >= c.above.deadline(c.plan.retry) {
		return "deadline"
	}
	if cfg.MaxElapsed > 0 && at >= after(c.tryingFrom, int64(cfg.MaxElapsed)) {
		return "elapsed"
	}
	return ""
}

// endUnvoted ends the call, whatever it is doing, without any vote. Attempts that
// end with it have no line of their own.
func (e *Engine) endUnvoted(c *call, outcome string) {
	e.leaveAll(c, "")
	e.end(c, outcome, "", 0)
}

// end says that the call is over, with the number of the winner if one won.
// Reading: a hedge in shadow makes a policy one with a hedge, too.
func (e *Engine) end(c *call, outcome, reason string, won int) {
	fields := []any{"outcome", outcome, "attempt", c.started}
	if reason != "" {
		fields = append(fields, "reason", reason)
	}
	if won > 0 && c.plan.hedged() {
		fields = append(fields, "won", won)
	}
	if outcome == "fail" || outcome == "throttle" || outcome == "timeout" {
		fields = append(fields, c.terminal()...)
	}
	e.say(c.id, "end", fields...)
	c.over = true
}

// leaveAll releases all that the call holds: live attempts leave without an outcome, in
// the order of their numbers, the steps above the hedge with the given one.
func (e *Engine) leaveAll(c *call, outcome string) {
	for _, p := range c.attempts {
		e.leave(p, 0, "")
	}
	c.attempts = nil
	e.leave(c.above, 0, outcome)
	c.above.timers[0].set = false
}

// leave releases what the path holds at the steps from the given one on, in
// reverse order. With an outcome breakers count it; without one (refused, expired,
// cut while waiting, cancelled) they count nothing, and a limiter gets its permits
// back: below the hedge unless the attempt runs, between it and the retry unless an
// attempt of the round was admitted, above that unless any attempt of the call was.
func (e *Engine) leave(p *path, from int, outcome string) {
	c := p.call
	for i := len(c.plan.steps) - 1; i >= from; i-- {
		p.timers[i+1].set = false
		if p.waits[i] != nil {
			e.unqueue(p.waits[i])
		}
		h := p.holds[i]
		p.holds[i] = hold{}
		ran, since := c.started > 0, c.firstAt
		switch {
		case p != c.above:
			ran, since = p.state == running, p.since
		case c.inRound(i):
			ran, since = c.roundRan, c.roundAt
		}
		switch {
		case h.permit != nil:
			e.settleLimit(c, i, &h, outcome, ran)
		case h.pass != nil:
			// Reading: whether the answer of a call counts is said by the policy that it began
			// under, and for how long by the present one.
			says := p.says
			if pipeline.ConfigOf[breaker.Config](c.plan.steps[i].Step).ObeyRetryAfter == 0 {
				says = 0
			}
			h.cell.breaker.leave(h.pass, outcome, e.now-since, says, e.now)
		case h.leave != nil:
			h.leave(outcome, since, e.now)
		case h.place != nil:
			if !h.place.lapsed {
				h.cell.bulkhead.free(h.place)
			}
		}
	}
}

// settleLimit releases the permit of a limit: an attempt that did not run returns it, as one
// does whose outcome does not count; else it becomes what was used. Readings: what ended
// without an outcome of its own counts as cancel; with `end` nothing was taken before.
func (e *Engine) settleLimit(c *call, i int, h *hold, outcome string, ran bool) {
	cfg := pipeline.ConfigOf[limiter.Config](c.plan.steps[i].Step)
	if outcome == "" {
		outcome = "cancel"
	}
	cost := c.cost(i)
	taken, used := cost, cost
	if cfg.Charge == limiter.ChargeEnd {
		taken = 0
	}
	switch {
	case !ran || cfg.Counts != 0 && !slices.Contains(cfg.Counts.Names(), outcome):
		if taken > 0 {
			h.cell.limit.refund(h.permit, e.now)
		}
		return
	case h.spent && cfg.Charge != limiter.ChargeStart:
		used = h.used
	}
	most := int64(cfg.SettleMax)
	if most == 0 {
		most = capacity(cfg)
	}
	charged := min(used, cost+most)
	dropped := used - charged + h.cell.limit.settle(h.permit, taken, charged, e.now)
	if s := c.plan.steps[i]; dropped > 0 && h.permit.era == h.cell.limit.era && !h.cell.evicted {
		e.say(c.id, "clamped", append([]any{"step", s.Name, "dropped", int(dropped)}, inShadow(s.Shadow)...)...)
	}
}

// charged returns when a limit takes its permits.
func charged(config mechanism.Config) limiter.Charge {
	c, _ := config.(limiter.Config)
	return c.Charge
}
