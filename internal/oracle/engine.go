package oracle

import (
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/pipeline"
)

// Engine plays a log, one event after another.
type Engine struct {
	seed  uint64
	now   int64
	calls []*call // all that ever began, in the order of their numbers
	plan  *plan
	// groups are the steps' cells, those of vanished steps included.
	groups []*group
	lines  []string
}

// plan is a policy as a call sees it.
type plan struct {
	steps    []step
	retry    int // index of the retry step, -1 without
	fallback bool
}

// step is one step of a plan with the cells that it shares with others.
type step struct {
	pipeline.Step
	group *group
}

// New returns an engine at mark 0.
func New(policy pipeline.Policy, seed uint64) *Engine {
	e := &Engine{seed: seed}
	e.plan = e.compile(policy)
	return e
}

// state is what a call is doing.
type state int

const (
	passing  state = iota // on its way through the steps, never between events
	waiting               // in the queue of a step
	running               // an attempt runs
	sleeping              // between two attempts
	over
)

// call is one call of the log.
type call struct {
	number int
	id     string
	event  Event
	plan   *plan
	state  state

	attempt   int   // the number that is tried, runs, or ran last
	started   int   // how many attempts started
	firstAt   int64 // when the first attempt started
	attemptAt int64 // when the last attempt started
	retryAt   int64 // when the next attempt starts, while sleeping
	prevDelay int64 // what the backoff gave before, -1 at first

	// timers[0] is the call's own deadline, timers[i+1] that of step i.
	timers []timer
	holds  []hold    // by step
	waits  []*waiter // by step: the call itself, or its phantom in a shadow step
}

// timer is a timeout that the call is under.
type timer struct {
	at  int64
	set bool
}

// hold is what a call has got at a step.
type hold struct {
	permit *permit // of a limiter
	pass   *pass   // of a breaker
	place  *place  // of a bulkhead
}

// cell returns the cell of step i that the call uses.
func (c *call) cell(i int) *cell { return c.plan.steps[i].group.cell(c.event) }

// inside reports whether step i is passed anew by every attempt. Without a
// retry step everything is.
func (c *call) inside(i int) bool { return i > c.plan.retry }

// begin starts a call and lets it pass the steps.
func (e *Engine) begin(event Event) {
	n := len(e.plan.steps)
	c := &call{
		number: len(e.calls) + 1, id: event.ID, event: event, plan: e.plan,
		attempt: 1, prevDelay: -1,
		timers: make([]timer, n+1), holds: make([]hold, n), waits: make([]*waiter, n),
	}
	e.calls = append(e.calls, c)
	if event.Deadline != nil {
		c.timers[0] = timer{at: after(e.now, *event.Deadline), set: true}
	}
	e.pass(c, 0)
}

// advance lets everything happen that is due up to t, in order of time. An
// earlier t than the present counts as the present.
func (e *Engine) advance(t int64) {
	for {
		wake, ok := e.NextWake()
		if !ok || wake > t {
			break
		}
		if wake <= e.now {
			panic("oracle: something due was left undone")
		}
		e.now = wake
		e.settle()
	}
	e.now = max(e.now, t)
}

// settle does, again and again, the first thing that can happen now.
func (e *Engine) settle() {
	for e.endOne() || e.lapseOne() || e.changeOne() || e.serveOne() || e.retryOne() {
	}
}

// say prints a decision: pairs of a field's name and its value.
func (e *Engine) say(id, decision string, fields ...any) {
	var b strings.Builder
	b.WriteString(`{"at":"` + duration(e.now) + `"`)
	if id != "" {
		b.WriteString(`,"id":` + id)
	}
	b.WriteString(`,"decision":"` + decision + `"`)
	for i := 0; i+1 < len(fields); i += 2 {
		b.WriteString(`,"` + fields[i].(string) + `":`)
		switch v := fields[i+1].(type) {
		case int:
			b.WriteString(strconv.Itoa(v))
		case string:
			b.WriteString(`"` + v + `"`)
		case bool:
			b.WriteString(strconv.FormatBool(v))
		default:
			panic("oracle: a field of an unknown type")
		}
	}
	b.WriteString("}")
	e.lines = append(e.lines, b.String())
}

// marks returns the fields that stand at the end of a line: shadow, or the
// fallback of a terminal refusal or failure.
func (c *call) marks(shadow, terminal bool) []any {
	switch {
	case shadow:
		return []any{"shadow", true}
	case terminal && c.plan.fallback:
		return []any{"fallback", true}
	}
	return nil
}
