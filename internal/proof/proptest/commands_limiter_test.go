package proptest

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// naiveLimiter is an oracle of a limiter with a queue.
type naiveLimiter struct {
	word    uint64
	config  limiter.Config
	counter counter
	now     int64
	callers uint64
	queue   []queuer // oldest first
	said    []string
	before  *naiveLimiter // the distance to the last admission at this mark
	patient bool          // no wait times out, see retry
}

type queuer struct {
	id   uint64
	cost int64
	ends int64
}

func beginLimiter(w uint64) oracle {
	c := limiterOf(w).draw(history{w >> 8}).limit
	l := &naiveLimiter{word: w, config: c}
	switch c.Algorithm {
	case limiter.TokenBucket:
		l.counter = &credit{have: interval(c) * int64(c.Burst), interval: interval(c), burst: int64(c.Burst)}
	case limiter.FixedWindow:
		l.counter = &window{count: int64(c.Count), period: int64(c.Period)}
	case limiter.SlidingLog:
		l.counter = &entries{count: int64(c.Count), period: int64(c.Period)}
	case limiter.LeakyBucket:
		l.counter = &spaced{interval: interval(c), count: int64(c.Count)}
	default:
		l.counter = &trailing{count: int64(c.Count), period: int64(c.Period)}
	}
	return l
}

func limiterOf(w uint64) machine {
	return pick(w, bucket, fixed, sliding, queuedBucket, queuedFixed, queuedSliding, newestBucket, logged, leaky, queuedLog, queuedLeaky)
}

func (l *naiveLimiter) w() uint64 { return l.word }

func (l *naiveLimiter) copy() *naiveLimiter {
	next := *l
	next.counter = l.counter.copy()
	next.queue, next.said = slices.Clone(l.queue), nil
	return &next
}

// served is the order in which the queue is served.
func (l *naiveLimiter) served() []queuer {
	all := slices.Clone(l.queue)
	if l.config.Order == limiter.Newest {
		slices.Reverse(all)
	}
	return all
}

func (l *naiveLimiter) remove(id uint64) {
	l.queue = slices.DeleteFunc(l.queue, func(q queuer) bool { return q.id == id })
}

// due reports whether a waiter would be served now, with those ahead of it.
func (l *naiveLimiter) due(id uint64) bool {
	c := l.counter.copy()
	for _, q := range l.served() {
		if !c.fits(q.cost) {
			return false
		}
		if q.id == id {
			return true
		}
		c.take(q.cost)
	}
	return false
}

// pass advances time by a nanosecond: waits end, then the queue is served.
func (l *naiveLimiter) pass() {
	l.now++
	l.before = nil
	l.counter.pass()
	for _, q := range slices.Clone(l.queue) {
		if q.ends <= l.now && !l.patient && !l.due(q.id) {
			l.remove(q.id)
			l.said = append(l.said, fmt.Sprintf("drop %d", q.id))
		}
	}
	l.serve()
}

func (l *naiveLimiter) serve() {
	for {
		all := l.served()
		if len(all) == 0 || !l.counter.fits(all[0].cost) {
			return
		}
		l.counter.take(all[0].cost)
		l.remove(all[0].id)
		l.said = append(l.said, fmt.Sprintf("grant %d", all[0].id))
	}
}

// turn is how long a newcomer would wait until all waiters ahead of it have been
// served at their turns.
func (l *naiveLimiter) turn(cost int64) int64 {
	c, ahead := l.counter.copy(), l.queue
	if l.config.Order == limiter.Newest {
		ahead = nil
	}
	for at := l.now; ; at++ {
		for len(ahead) > 0 && c.fits(ahead[0].cost) {
			c.take(ahead[0].cost)
			ahead = ahead[1:]
		}
		if len(ahead) == 0 && c.fits(cost) {
			return at
		}
		c.pass()
	}
}

// refuses reports whether and why an acquire is refused now. time is the longest wait
// of the caller; 0 is no limit.
func (l *naiveLimiter) refuses(cost int64, waits bool, time int64) string {
	c := l.config
	behind := len(l.queue) > 0 && c.Order == limiter.Oldest
	switch {
	case cost > l.counter.capacity():
		return "capacity"
	case l.counter.fits(cost) && !behind || cost == 0:
		return ""
	case !waits || c.Wait == 0:
		return "rate"
	case c.Order == limiter.Oldest && len(l.queue) >= int(c.Queue):
		return "full"
	case l.turn(cost) > l.now+int64(c.Wait):
		return "wait"
	case time > 0 && l.turn(cost) >= l.now+time:
		return "deadline"
	}
	return ""
}

// retry is the first mark at which the acquire is not refused, if nothing else
// happens; it tries every mark. With oldest-first a wait can time out only after a
// drain; then retry treats the waiter as served at its turn.
func (l *naiveLimiter) retry(cost int64, waits bool, time int64) int64 {
	next := l.copy()
	for next.patient = l.config.Order == limiter.Oldest; ; next.pass() {
		if next.refuses(cost, waits, time) == "" {
			return next.now
		}
	}
}

func (l *naiveLimiter) ask(cost int64, waits bool, time int64) string {
	l.callers++
	switch why := l.refuses(cost, waits, time); {
	case why == "capacity":
		return "reject capacity"
	case why != "":
		return fmt.Sprintf("reject %s retry %d", why, l.retry(cost, waits, time))
	}
	if cost == 0 || l.counter.fits(cost) && (len(l.queue) == 0 || l.config.Order == limiter.Newest) {
		before := l.copy()
		l.counter.take(cost)
		l.before = before
		return "admit"
	}
	l.before = nil
	turn := fmt.Sprint(l.turn(cost))
	if l.config.Order == limiter.Newest {
		turn = "unknown"
		if len(l.queue) >= int(l.config.Queue) {
			l.said = append(l.said, fmt.Sprintf("drop %d", l.queue[0].id))
			l.queue = l.queue[1:]
		}
	}
	l.queue = append(l.queue, queuer{l.callers, cost, l.now + int64(l.config.Wait)})
	return "wait " + turn
}

func (l *naiveLimiter) do(c command) (oracle, string) {
	l = l.copy()
	answer := "done"
	switch c.verb {
	case "acquire", "try":
		answer = l.ask(costOf(c), c.verb == "acquire", timeOf(c))
	case "undo":
		if l.before == nil {
			return l, "nothing"
		}
		callers := l.callers
		l = l.before.copy()
		l.callers, l.before = callers, nil
	case "leave":
		if len(l.queue) == 0 {
			return l, "nothing"
		}
		l.before = nil
		l.remove(l.queue[c.choice%len(l.queue)].id)
	case "drain":
		l.before = nil
		l.counter.drain()
	case "charge":
		l.before = nil
		n := 1 + int64(c.number%6)
		for n > 0 && !l.counter.bears(n) {
			n--
		}
		if n > 0 {
			l.counter.charge(n)
		}
	default:
		for range c.number % 24 {
			l.pass()
		}
	}
	l.serve()
	return l, fmt.Sprint(answer, l.said)
}

func costOf(c command) int64 { return int64(pick(c.number, 1, 1, 2, 1, 3, 0, 1, 5)) }

// timeOf is the time until the deadline of a caller, 0 for no deadline.
func timeOf(c command) int64 { return max(0, int64(c.number>>8%48)-16) }

// testedLimiter runs the commands on a machine.
type testedLimiter struct {
	*rig
	last *grant // of an admission at this mark without a later one
}

func testLimiter(of func(w uint64) machine) func(w uint64) tested {
	return func(w uint64) tested {
		m := of(w)
		s, _ := m.begin(history{w >> 8})
		return &testedLimiter{rig: newRig(s, m.kind)}
	}
}

func (l *testedLimiter) do(c command) string {
	before := len(l.log)
	answer := "done"
	switch c.verb {
	case "acquire", "try":
		l.callers++
		kind := reducer.TryAcquire
		if c.verb == "acquire" {
			kind = reducer.Acquire
		}
		cost := uint32(costOf(c))
		a := reducer.Action{Kind: kind, Cost: cost, Permit: reducer.Permit{ID: l.callers}}
		if time := timeOf(c); time > 0 && kind == reducer.Acquire {
			a = a.WithDeadline(l.now + clock.Mark(time))
		}
		answer = limiterAnswer(l.step(a))
		if answer == "admit" {
			l.last = &l.grants[len(l.grants)-1]
		} else if answer[:4] == "wait" {
			l.last = nil
		}
	case "undo":
		if l.last == nil {
			return "nothing"
		}
		l.step(reducer.Action{Kind: reducer.Cancel, Cost: l.last.cost, Permit: l.last.permit})
		l.last = nil
	case "leave":
		var all []limiter.Waiter = l.subject.Look().waiters
		if len(all) == 0 {
			return "nothing"
		}
		l.last = nil
		l.step(reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: all[c.choice%len(all)].Ticket}})
	case "drain":
		l.last = nil
		l.step(reducer.Action{Kind: reducer.Drain})
	case "charge":
		l.last = nil
		l.step(used(l.subject, l.now, 1+uint64(c.number%6)))
	default:
		if c.number%24 > 0 {
			l.last = nil
		}
		l.advance(l.now + clock.Mark(c.number%24))
	}
	l.serve()
	return fmt.Sprint(answer, l.effectsSince(before))
}

// effectsSince returns the effects on other callers since a step.
func (r *rig) effectsSince(since int) []string {
	var all []string
	for _, x := range r.log[since:] {
		for _, e := range x.out {
			all = append(all, fmt.Sprintf("%s %d", e.Kind, e.Caller))
		}
	}
	return all
}

func limiterAnswer(a reducer.Answer) string {
	switch a.Verdict {
	case reducer.Reject:
		if at, ok := a.RetryAt(); ok {
			return fmt.Sprintf("reject %s retry %d", a.Reason, int64(at))
		}
		return "reject " + a.Reason.String()
	case reducer.Wait:
		if at, ok := a.Until(); ok {
			return fmt.Sprintf("wait %d", int64(at))
		}
		return "wait unknown"
	}
	return a.Verdict.String()
}

func limiterLine() row {
	s := suite{
		verbs: []string{"acquire", "acquire", "acquire", "try", "undo", "leave", "drain", "charge", "time", "time", "time"},
		begin: beginLimiter,
	}
	return row{"L*", "a limiter answers, serves and refuses as a naive one that steps through every nanosecond", byDifference,
		[]trial{s.trial("every limiter", 400, 60, testLimiter(limiterOf))},
		s.mutant("limiter that serves its queue only at even marks", testLimiter(func(w uint64) machine {
			return limiterOf(w).with("lets every newcomer overtake", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
				if a.Kind == reducer.Serve && now%2 == 1 {
					return reducer.Answer{}, nil
				}
				return s.Step(a, now)
			}))
		}))}
}
