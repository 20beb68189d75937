package oracle

// NextWake returns the earliest mark at which time alone changes something.
func (e *Engine) NextWake() (int64, bool) {
	wake := int64(never)
	soonest := func(at int64) { wake = min(wake, at) }
	for _, c := range e.calls {
		if c.over {
			continue
		}
		for _, p := range c.paths() {
			for _, t := range p.timers {
				if t.set {
					soonest(t.at)
				}
			}
			for _, w := range p.waits {
				if w != nil {
					soonest(w.ends)
				}
			}
			for _, h := range p.holds {
				if h.place != nil && !h.place.lapsed {
					soonest(h.place.leaseEnd)
				}
			}
			soonest(p.hedgeAt)
			if p.injection != nil {
				soonest(p.heldUntil)
			}
		}
		if c.sleeping {
			soonest(c.retryAt)
		}
	}
	for _, cell := range e.cells() {
		if cell.breaker != nil {
			soonest(cell.breaker.nextWake())
		}
		if cell.limit != nil && len(cell.limit.queue) > 0 {
			soonest(cell.limit.turn(cell.limit.head(), e.now))
		}
	}
	return wake, wake != never
}

// cells returns all cells there are.
func (e *Engine) cells() []*cell {
	var all []*cell
	for _, g := range e.groups {
		all = append(all, g.all()...)
	}
	return all
}

// endOne ends the first attempt or call that a timeout cuts or whose wait is
// over: calls in the order of their numbers, timeouts outermost first, then the
// waits. Reading: of several attempts under one step the lowest comes first, and
// the timeouts of all attempts come before their waits.
func (e *Engine) endOne() bool {
	for _, c := range e.calls {
		if c.over {
			continue
		}
		for i := -1; i < len(c.plan.steps); i++ {
			for _, p := range c.paths() {
				if t := p.timers[i+1]; t.set && t.at <= e.now {
					e.timeout(p, i)
					return true
				}
			}
		}
		for _, w := range c.queued() {
			if w.ends <= e.now && w.missed(e.now) {
				e.expire(w, "wait")
				return true
			}
		}
	}
	return false
}

// missed reports whether the waiter, whose wait is over, has no turn now: a
// limiter's turn at this mark is granted, a bulkhead's is not.
func (w *waiter) missed(now int64) bool {
	return w.cell.limit == nil || w.cell.limit.turn(w, now) > now
}

// lapseOne ends the first lease that is over: in the order of the calls, then of
// the steps, then of the attempts.
func (e *Engine) lapseOne() bool {
	for _, c := range e.calls {
		if c.over {
			continue
		}
		for i, s := range c.plan.steps {
			for _, p := range c.paths() {
				h := p.holds[i]
				if h.place == nil || h.place.lapsed || h.place.leaseEnd > e.now {
					continue
				}
				h.place.lapsed = true
				h.cell.lapse(h.place, e.now)
				fields := []any{"attempt", p.attemptOf(), "step", s.Name}
				e.say(c.id, "lapse", append(fields, inShadow(s.Shadow)...)...)
				return true
			}
		}
	}
	return false
}

// changeOne changes the state of the first breaker whose time has come.
func (e *Engine) changeOne() bool {
	for _, cell := range e.cells() {
		if b := cell.breaker; b != nil && b.nextWake() <= e.now {
			b.tick(e.now)
			return true
		}
	}
	return false
}

// serveOne grants the outermost queue's head whose turn has come, of several
// cells of a step the one whose head is the earliest call. The step's place is
// the one in the plan of the head's call.
func (e *Engine) serveOne() bool {
	var best *waiter
	for _, cell := range e.cells() {
		w := cell.ready(e.now)
		if w == nil {
			continue
		}
		if best == nil || w.step < best.step || w.step == best.step && w.before(best) {
			best = w
		}
	}
	if best == nil {
		return false
	}
	e.unqueue(best)
	best.path.take(best.step, best.cell, e.now)
	if !best.phantom {
		e.pass(best.path, best.step+1)
	}
	return true
}

// ready returns the head of the cell's queue if it can be granted now.
func (l *cell) ready(now int64) *waiter {
	switch {
	case l.limit != nil && len(l.limit.queue) > 0:
		if w := l.limit.head(); l.limit.meter.earliest(w.cost, now) <= now {
			return w
		}
	case l.bulkhead != nil:
		if w := l.bulkhead.next(); w != nil && l.bulkhead.vacant(w.cost) {
			return w
		}
	}
	return nil
}

// beginOne starts the next round or the next hedge of the first call that is due
// one.
func (e *Engine) beginOne() bool {
	for _, c := range e.calls {
		if c.over {
			continue
		}
		if c.sleeping && c.retryAt <= e.now {
			e.startRound(c, c.plan.retry+1)
			return true
		}
		for _, p := range c.attempts {
			if p.hedgeAt <= e.now {
				p.hedgeAt = never
				e.hedge(c)
				return true
			}
		}
	}
	return false
}
