package oracle

import (
	"math/big"

	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
)

// call is one call of the log. A round is what runs between two backoffs. Above
// the hedge the round has one path, below it each attempt has its own. Without a
// hedge the path above has all the steps, and the one attempt of a round none.
type call struct {
	number int
	seed   uint64
	id     string
	event  Event
	plan   *plan
	over   bool

	above    *path
	attempts []*path // the live attempts of the present round, in the order of their numbers
	last     int     // the number of the attempt that set out last
	hedges   int     // how many hedges the present round started

	round    int   // the number of the present round, from 1
	roundRan bool  // an attempt of the present round was admitted
	roundAt  int64 // when the first attempt of the round was admitted
	started  int   // how many attempts were admitted
	firstAt  int64 // when the first attempt of the call was admitted

	retryAfter int64 // the greatest of the answers in the present round
	pushback   bool  // an answer of the present round said not to retry
	tryingFrom int64 // when the call reached the retry
	sleeping   bool  // between two rounds
	retryAt    int64 // when the next round starts, while sleeping
	prevDelay  int64 // what the backoff gave before, -1 at first

	roundFrom int64 // when the round reached the retry, or began

	samples *cell // of the hedge step at the latest admission, to which durations go

	took *big.Rat // what the retry's budget took for the present round, nil for nothing
}

// path is the way through some of the steps, with what was acquired on it.
type path struct {
	call   *call
	number int // of the attempt, 0 for the path above the hedge
	state  state
	since  int64 // when the attempt was admitted
	says   int64 // the retry-after of the answer, 0 for none
	// hedgeAt is when the next hedge starts if this attempt still runs.
	hedgeAt int64
	hedge   bool     // the attempt started beside another one
	took    *big.Rat // what a budget took for it then, nil for nothing
	// injection is what the attempt is held for up to a mark, nil for an attempt that
	// has reached the dependency.
	injection *injection
	heldUntil int64

	// timers[0] is the call's own deadline, timers[i+1] the one of step i.
	timers []timer
	holds  []hold    // by step
	waits  []*waiter // by step: the path itself, or its phantom in a shadow step
}

// state is what a path is doing.
type state int

const (
	passing state = iota // on its way through the steps
	waiting              // in the queue of a step
	running              // an attempt is admitted
)

// timer is a timeout that a path is under.
type timer struct {
	at  int64
	set bool
}

// hold is what a path has acquired at a step. One field is set beside the cell.
type hold struct {
	cell   *cell
	permit *permit                                // of a limiter
	spent  bool                                   // attempts have told what they used
	used   int64                                  // in all
	pass   *pass                                  // of a breaker
	place  *place                                 // of a bulkhead or a guard
	leave  func(outcome string, since, now int64) // of a guard, beside the place
}

func newCall(number int, event Event, plan *plan) *call {
	c := &call{number: number, id: event.ID, event: event, plan: plan, prevDelay: -1}
	c.above = c.newPath(0)
	return c
}

func (c *call) newPath(number int) *path {
	n := len(c.plan.steps)
	return &path{
		call: c, number: number, hedgeAt: never,
		timers: make([]timer, n+1), holds: make([]hold, n), waits: make([]*waiter, n),
	}
}

// paths returns the path above the hedge and the paths of the attempts.
func (c *call) paths() []*path { return append([]*path{c.above}, c.attempts...) }

// inRound reports whether every round passes step i again. Without a retry
// step every step is.
func (c *call) inRound(i int) bool { return i > c.plan.retry }

// running returns the lowest attempt that runs, or nil.
func (c *call) running() *path {
	for _, p := range c.attempts {
		if p.state == running {
			return p
		}
	}
	return nil
}

// current returns the number that a line about the whole call names: the number of
// the lowest attempt that runs, else of the lowest that lives, else of the last
// that set out. The text says so for a timeout that cuts what runs; the rest is
// a reading, and so is that the lapse of a place above the hedge names it.
func (c *call) current() int {
	if p := c.running(); p != nil {
		return p.number
	}
	if len(c.attempts) > 0 {
		return c.attempts[0].number
	}
	return c.last
}

// attemptOf returns the number that a line about the path names.
func (p *path) attemptOf() int {
	if p.number == 0 {
		return p.call.current()
	}
	return p.number
}

// queued returns the waiters of the call: by step, then by attempt.
func (c *call) queued() []*waiter {
	var all []*waiter
	for i := range c.plan.steps {
		for _, p := range c.paths() {
			if w := p.waits[i]; w != nil {
				all = append(all, w)
			}
		}
	}
	return all
}

// remove takes an attempt that is over out of the round.
func (c *call) remove(gone *path) {
	var rest []*path
	for _, p := range c.attempts {
		if p != gone {
			rest = append(rest, p)
		}
	}
	c.attempts = rest
}

// use returns the cell of step i for an acquire of the call, or nil if the step
// is passed without asking.
func (c *call) use(i int) *cell {
	if c.skips(i) {
		return nil
	}
	return c.plan.steps[i].group.use(c.event)
}

// bound returns the mark at which an attempt is cut that step i admits now: by a timeout
// above the step, or by one below it and above the next step that makes attempts.
func (p *path) bound(i int, now int64) int64 {
	at, c := p.deadline(i), p.call
	for j := i + 1; j < len(c.plan.steps); j++ {
		s := c.plan.steps[j]
		switch cfg := s.Config.(type) {
		case retry.Config, hedge.Config:
			return at
		case timeout.Config:
			if !s.Shadow && !s.omitted {
				at = min(at, after(now, int64(cfg.After)))
			}
		}
	}
	return at
}

// deadline returns the earliest deadline of the timeouts above step i of the
// path, the call's own included, or never. One in shadow does not count.
func (p *path) deadline(i int) int64 {
	earliest := int64(never)
	for _, q := range []*path{p.call.above, p} {
		for j := -1; j < i; j++ {
			shadow := j >= 0 && p.call.plan.steps[j].Shadow
			if t := q.timers[j+1]; t.set && !shadow {
				earliest = min(earliest, t.at)
			}
		}
	}
	return earliest
}
