package oracle

import (
	"math/big"

	"github.com/sluice-go/sluice/core/limiter"
)

// limitCell is the cell of a limiter: a meter that counts and a queue before it.
type limitCell struct {
	cfg   limiter.Config
	meter meter
	era   int // number of the algorithm, of which there is a new one by configure
	queue queue
	row   row
	// mayBlock reports whether a refusal may begin a block.
	mayBlock func(now int64) bool
}

// meter is one of the algorithms.
type meter interface {
	// earliest returns the least mark, now or later, at which the cost, which
	// is at most the capacity, is admitted if nothing else happens.
	earliest(cost, now int64) int64
	// take takes the cost, which is admitted now.
	take(cost, now int64) permit
	refund(p permit, now int64)
	// chargeable returns how many permits may be charged now until the debt is the capacity.
	chargeable(now int64) int64
	// charge takes permits that were used without being free.
	charge(permits, now int64)
	// free returns how many whole permits could be taken now.
	free(now int64) int64
	configure(cfg limiter.Config, now int64)
	// unused reports whether a new one would decide the same.
	unused(now int64) bool
	clone() meter
}

// permit is what a limiter granted.
type permit struct {
	era   int
	cost  int64 // that comes back
	total int64 // that was taken
	at    int64
	// of a token bucket
	tat, refunded int64
	// of the windows: the number of the window
	window int
	// of a sliding log: the number of the admission
	admission int
	// of a leaky bucket: the number of the departure and the time it took
	departure int
	span      int64
}

func newLimit(cfg limiter.Config) *limitCell {
	return &limitCell{cfg: cfg, meter: newMeter(cfg)}
}

// newMeter returns a meter of which nothing is taken.
func newMeter(cfg limiter.Config) meter {
	switch cfg.Algorithm {
	case limiter.FixedWindow:
		return &fixedWindow{cfg: cfg}
	case limiter.SlidingCounter:
		return &slidingCounter{cfg: cfg}
	case limiter.SlidingLog:
		return &slidingLog{cfg: cfg}
	case limiter.LeakyBucket:
		return &leakyBucket{cfg: cfg}
	}
	if cfg.WarmUp.Over > 0 {
		return &warmBucket{tokenBucket: tokenBucket{cfg: cfg}}
	}
	return &tokenBucket{cfg: cfg}
}

// capacity returns the greatest cost that can ever be admitted.
func (l *limitCell) capacity() int64 { return capacity(l.cfg) }

func capacity(cfg limiter.Config) int64 {
	if cfg.Algorithm == limiter.TokenBucket && cfg.Burst > 0 {
		return int64(cfg.Burst)
	}
	if u := cfg.WarmUp; u.Over > 0 {
		return (int64(cfg.Count) + int64(u.Factor) - 1) / int64(u.Factor)
	}
	return int64(cfg.Count)
}

// head returns the waiter that is served next.
func (l *limitCell) head() *waiter { return l.queue.inOrder(l.cfg.Order)[0] }

// ask returns the answer to a newcomer, with the time of a retry if refused. The
// deadline is the earliest of the caller's, or never.
func (l *limitCell) ask(cost, now, deadline int64) answer {
	if cost <= l.capacity() && l.blocked(now) {
		return l.barred(cost, now)
	}
	a := l.judge(cost, now, deadline)
	if a.verdict == reject && a.reason != "capacity" {
		left := int64(never)
		if deadline != never {
			left = deadline - now
		}
		a.retryAt = l.retryAt(cost, now, left)
		if s := int64(l.cfg.Spread.Of(l.cfg.Period)); s > 0 && a.reason == "rate" {
			a.retryAt = after(a.retryAt, spread(a.retryAt-now, s))
		}
	}
	if l.blocks() {
		l.judged(&a, now)
	}
	return a
}

// judge returns the answer to a newcomer, without the time of a retry. Reading: a
// call that need not wait is admitted whatever its deadline is.
func (l *limitCell) judge(cost, now, deadline int64) answer {
	if cost > l.capacity() {
		return answer{verdict: reject, reason: "capacity", retryAt: never}
	}
	ahead := l.ahead()
	if len(ahead) == 0 && l.meter.earliest(cost, now) <= now {
		return answer{verdict: admit}
	}
	full := len(l.queue) >= int(l.cfg.Queue)
	turn := l.turnAfter(ahead, cost, now)
	ends := after(now, int64(l.cfg.Wait))
	switch {
	case l.cfg.Wait == 0:
		return answer{verdict: reject, reason: "rate", retryAt: never}
	case full && l.cfg.Order == limiter.Oldest:
		return answer{verdict: reject, reason: "full", retryAt: never}
	case turn > ends:
		return answer{verdict: reject, reason: "wait", retryAt: never}
	case turn >= deadline:
		return answer{verdict: reject, reason: "deadline", retryAt: never}
	}
	a := answer{verdict: wait, until: turn, ends: ends}
	if l.cfg.Order == limiter.Newest {
		a.until = never
		if full {
			a.putOut = l.queue[0]
		}
	}
	return a
}

// ahead returns the waiters that are served before a newcomer: with newest none.
func (l *limitCell) ahead() queue {
	if l.cfg.Order == limiter.Newest {
		return nil
	}
	return l.queue
}

// turn returns when the waiter has its turn, by the meter's arithmetic and with
// those ahead of it each taking at its own turn.
func (l *limitCell) turn(w *waiter, now int64) int64 {
	var ahead queue
	for _, other := range l.queue.inOrder(l.cfg.Order) {
		if other == w {
			break
		}
		ahead = append(ahead, other)
	}
	return l.turnAfter(ahead, w.cost, now)
}

// turnAfter returns when the cost is admitted after those ahead.
func (l *limitCell) turnAfter(ahead queue, cost, now int64) int64 {
	m := l.meter.clone()
	t := now
	for _, w := range ahead {
		t = m.earliest(w.cost, t)
		l.pass(m, w.cost, t)
	}
	return m.earliest(cost, t)
}

// pass takes what a waiting call takes at its turn: nothing where calls are charged at
// their ends.
func (l *limitCell) pass(m meter, cost, now int64) {
	if l.cfg.Charge != limiter.ChargeEnd {
		m.take(cost, now)
	}
}

// take takes the permits of the cost.
func (l *limitCell) take(cost, now int64) *permit {
	p := l.meter.take(cost, now)
	p.era, p.cost, p.total, p.at = l.era, cost, cost, now
	return &p
}

// refund returns permits. Permits of another algorithm have no effect.
func (l *limitCell) refund(p *permit, now int64) {
	if p.era == l.era {
		l.meter.refund(*p, now)
	}
}

// settle makes what was taken for a permit what was used. Readings: less comes back as by
// a later refund of the rest; more is taken at once, free or not, also of a log, in
// which it counts from now on. It returns how many permits are dropped because the debt would
// be greater than the capacity.
func (l *limitCell) settle(p *permit, taken, used, now int64) (dropped int64) {
	switch {
	case p.era != l.era:
	case used < taken:
		rest := *p
		rest.cost = taken - used
		l.meter.refund(rest, now)
	case used > taken:
		more := min(used-taken, l.meter.chargeable(now))
		if more > 0 {
			l.meter.charge(more, now)
		}
		return used - taken - more
	}
	return 0
}

// configure changes the settings. A changed algorithm carries over the free
// permits: of a window it is as if the rest had been taken now.
func (l *limitCell) configure(cfg limiter.Config, now int64) {
	changed := cfg.Algorithm != l.cfg.Algorithm
	l.cfg = cfg
	if !l.blocks() {
		l.row = row{}
	}
	l.warmOrNot(now)
	if !changed {
		l.meter.configure(cfg, now)
		return
	}
	carried := min(l.meter.free(now), capacity(cfg))
	l.era++
	l.meter = newMeter(cfg)
	if taken := capacity(cfg) - carried; taken > 0 {
		l.meter.take(taken, now)
	}
}

// retryAt returns the least mark at which a call of the cost, with as much time
// left to its deadline as this one has, would not be refused if nothing else
// happened: on a copy of the cell the queue is served and, with newest, waits run
// out. Between two such events nothing changes but the time. With oldest no wait
// can run out but after a configure, and then it is taken as served at its turn.
func (l *limitCell) retryAt(cost, now, left int64) int64 {
	sim := &limitCell{cfg: l.cfg, meter: l.meter.clone(), queue: append(queue(nil), l.queue...)}
	refused := func(at int64) bool { return sim.judge(cost, at, after(at, left)).verdict == reject }
	for t := now; ; {
		sim.proceed(t)
		next := sim.nextEvent(t)
		if at := sim.leastAccepted(cost, t, left); at < next || next == never {
			if at != never && refused(at) || at > t && !refused(at-1) {
				panic("oracle: a retry_after is not the least")
			}
			return at
		}
		t = next
	}
}

// leastAccepted returns the least mark from t on at which the cost is not
// refused as long as the queue stays as it is.
func (l *limitCell) leastAccepted(cost, t, left int64) int64 {
	if l.judge(cost, t, after(t, left)).verdict != reject {
		return t
	}
	ahead := l.ahead()
	turn := l.turnAfter(ahead, cost, t)
	switch {
	case l.cfg.Wait == 0 && len(ahead) > 0:
		return never
	case l.cfg.Wait == 0:
		return turn
	case l.cfg.Order == limiter.Oldest && len(l.queue) >= int(l.cfg.Queue):
		return never
	}
	at := max(t, turn-int64(l.cfg.Wait))
	if left != never {
		at = max(at, turn-left+1)
	}
	if len(ahead) == 0 {
		at = min(at, turn) // there it need not wait
	}
	return at
}

// nextEvent returns when the queue changes next, after t.
func (l *limitCell) nextEvent(t int64) int64 {
	if len(l.queue) == 0 {
		return never
	}
	next := l.turn(l.head(), t)
	for _, w := range l.queue {
		if l.cfg.Order == limiter.Newest {
			next = min(next, w.ends)
		}
	}
	return next
}

// proceed ends waits and serves the queue at t: the copy of what the engine does.
func (l *limitCell) proceed(t int64) {
	for {
		var gone *waiter
		for _, w := range l.queue {
			missed := l.cfg.Order == limiter.Newest && w.ends <= t && l.turn(w, t) > t
			if missed && (gone == nil || w.before(gone)) {
				gone = w
			}
		}
		if gone == nil && len(l.queue) > 0 && l.meter.earliest(l.head().cost, t) <= t {
			gone = l.head()
			l.pass(l.meter, gone.cost, t)
		}
		if gone == nil {
			return
		}
		l.queue = l.queue.without(gone)
	}
}

// spread returns how much later than its turn, which is the time w away, a call is told to come
// again: floor(f x (s + 1) / 2^64) with f = w x 11400714819323198485 mod 2^64.
func spread(w, s int64) int64 {
	factor, _ := new(big.Int).SetString("11400714819323198485", 10)
	f := factor.Mul(factor, big.NewInt(w))
	f.Mod(f, new(big.Int).Lsh(big.NewInt(1), 64))
	return f.Mul(f, big.NewInt(s+1)).Rsh(f, 64).Int64()
}
