package oracle

import (
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// Engine plays a log, one event after another.
type Engine struct {
	seed  uint64
	now   int64
	calls []*call // all that ever began, in the order of their numbers
	// tenants are the policies; a single one has no name.
	tenants []*tenant
	// groups are the steps' cells, cells of vanished steps included.
	groups []*group
	lines  []string
}

// tenant is one of the policies.
type tenant struct {
	name  string
	plan  *plan
	drawn int // calls that began under a plan that draws
}

// plan is a policy as a call sees it.
type plan struct {
	steps []step
	retry int // index of the retry step, -1 without
	// hedge is the index of the hedge step. Without one it is the number of
	// steps: an attempt then passes no step of its own.
	hedge    int
	fallback bool
	// allow and deny are the conditions of the policy on calls.
	allow, deny condition.Condition
}

// hedged reports whether the plan has a hedge step.
func (p *plan) hedged() bool { return p.hedge < len(p.steps) }

// step is one step of a plan with the cells that it shares with others.
type step struct {
	pipeline.Step
	group   *group
	omitted bool // of a call: the step does not apply to it
}

// New returns an engine at mark 0.
func New(policy pipeline.Policy, seed uint64) *Engine {
	return NewSet([]pipeline.Policy{policy}, seed)
}

// NewSet returns an engine of several policies at mark 0. The id of each call begins with
// the name of its policy and a slash.
func NewSet(policies []pipeline.Policy, seed uint64) *Engine {
	e := &Engine{seed: seed}
	for _, p := range policies {
		t := &tenant{name: p.Name}
		e.tenants = append(e.tenants, t)
		t.plan = e.compile(t, p)
	}
	return e
}

// of returns the policy of an event.
func (e *Engine) of(event Event) *tenant {
	if len(e.tenants) == 1 {
		return e.tenants[0]
	}
	for _, t := range e.tenants {
		if strings.HasPrefix(event.ID, `"`+t.name+`/`) || event.ID == `"`+t.name+`"` {
			return t
		}
	}
	panic("oracle: a call of no policy")
}

// draws reports whether a step of the plan draws: jitter, chaos, or a share of the calls.
func draws(p *plan) bool {
	for _, s := range p.steps {
		share := s.Enforce.Of.Millionths()
		if share > 0 && share < reducer.Whole {
			return true
		}
		switch c := s.Config.(type) {
		case chaos.Config:
			return true
		case retry.Config:
			if c.Backoff.Kind == backoff.Decorrelated || c.Backoff.Jitter != backoff.NoJitter {
				return true
			}
		}
	}
	return false
}

// begin starts a call, which then passes the steps.
func (e *Engine) begin(event Event) {
	t := e.of(event)
	if draws(t.plan) {
		t.drawn++
	}
	seed := e.seed + uint64(t.drawn)<<32
	c := newCall(len(e.calls)+1, event, planOf(t.plan, seed, event))
	c.seed = seed
	e.calls = append(e.calls, c)
	if matches(c.plan.deny, event) {
		e.say(c.id, "reject", "step", "deny", "reason", "denied")
		c.over = true
		return
	}
	if event.Deadline != nil {
		c.above.timers[0] = timer{at: after(e.now, *event.Deadline), set: true}
	}
	e.startRound(c, 0)
}

// advance does all that is due up to t, in order of time. An earlier t than the
// present counts as the present.
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
	for e.endOne() || e.lapseOne() || e.changeOne() || e.serveOne() || e.beginOne() || e.injectOne() {
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

// inShadow returns the field that a line of a step in shadow ends with.
func inShadow(shadow bool) []any {
	if shadow {
		return []any{"shadow", true}
	}
	return nil
}

// terminal returns the field that a refusal or a failure ends with when it ends
// the call.
func (c *call) terminal() []any {
	if c.plan.fallback {
		return []any{"fallback", true}
	}
	return nil
}
