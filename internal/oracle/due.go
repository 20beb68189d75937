package oracle

// NextWake returns the earliest mark at which something happens by itself.
func (e *Engine) NextWake() (int64, bool) {
	wake := int64(never)
	soonest := func(at int64) { wake = min(wake, at) }
	for _, c := range e.calls {
		if c.state == over {
			continue
		}
		for _, t := range c.timers {
			if t.set {
				soonest(t.at)
			}
		}
		for _, w := range c.waits {
			if w != nil {
				soonest(w.ends)
			}
		}
		for _, h := range c.holds {
			if h.place != nil && !h.place.lapsed {
				soonest(h.place.leaseEnd)
			}
		}
		if c.state == sleeping {
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
		all = append(all, g.cells...)
	}
	return all
}

// endOne ends the first call that a timeout cuts or whose wait is over: calls in
// the order of their numbers, timeouts outermost first, then the waits.
func (e *Engine) endOne() bool {
	for _, c := range e.calls {
		if c.state == over {
			continue
		}
		for i := range c.timers {
			if c.timers[i].set && c.timers[i].at <= e.now {
				e.timeout(c, i-1)
				return true
			}
		}
		for i, w := range c.waits {
			if w != nil && w.ends <= e.now && e.inVain(c, i) {
				e.expire(w, "wait")
				return true
			}
		}
	}
	return false
}

// inVain reports whether the wait at step i, whose time is over, has not been
// for its turn: a limiter's turn that comes now is had, a bulkhead's is not.
func (e *Engine) inVain(c *call, i int) bool {
	if l := c.cell(i).limit; l != nil {
		return l.turn(c.waits[i], e.now) > e.now
	}
	return true
}

// lapseOne ends the first lease that is over: in the order of the calls, then of
// the steps. While a call sleeps between attempts, the line tells the last one.
func (e *Engine) lapseOne() bool {
	for _, c := range e.calls {
		if c.state == over {
			continue
		}
		for i, h := range c.holds {
			if h.place == nil || h.place.lapsed || h.place.leaseEnd > e.now {
				continue
			}
			h.place.lapsed = true
			c.cell(i).bulkhead.free(h.place)
			s := c.plan.steps[i]
			fields := []any{"attempt", c.attempt, "step", s.Name}
			e.say(c.id, "lapse", append(fields, c.marks(s.Shadow, false)...)...)
			return true
		}
	}
	return false
}

// changeOne lets the first breaker change that has to.
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
		if best == nil || w.step < best.step ||
			w.step == best.step && w.call.number < best.call.number {
			best = w
		}
	}
	if best == nil {
		return false
	}
	c := best.call
	e.unqueue(best)
	c.take(best.step, e.now)
	if !best.phantom {
		e.pass(c, best.step+1)
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
	case l.bulkhead != nil && len(l.bulkhead.queue) > 0:
		if l.bulkhead.vacant() {
			return l.bulkhead.queue.inOrder(l.bulkhead.cfg.Order)[0]
		}
	}
	return nil
}

// retryOne starts the next attempt of the first call whose backoff is over.
func (e *Engine) retryOne() bool {
	for _, c := range e.calls {
		if c.state == sleeping && c.retryAt <= e.now {
			c.attempt++
			e.pass(c, c.plan.retry+1)
			return true
		}
	}
	return false
}
