package proptest

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of pipelines, on the embedded driver.

// told is a decision and the call that it belongs to.
type told struct {
	decision.Decision
	call int
}

// text is the part of a decision that a call observes. Positions in the policy and
// handles are not part of it.
func (t told) text() string {
	return fmt.Sprintf("%s call %d: %s %s attempt %d %s %s until %s after %s shadow %t last %t", t.At, t.call, t.Kind, t.Step,
		t.Attempt, t.Outcome, t.Reason, t.Until, t.RetryAfter, t.Shadow, t.Last)
}

// flow plays calls under a policy.
type flow struct {
	driver  *drive.Driver
	keys    drive.Keys
	calls   map[decision.Handle]int
	handles []decision.Handle
	began   []clock.Mark
	said    []told
	skip    map[int]bool // calls that are left out
	defect  func(f *flow, t told) []told
	// advance is a defect of how time passes, nil for none.
	advance func(f *flow, to clock.Mark)
	// value is what a call has for an attribute, nil for none.
	value func(n int, attribute string) string
	// next returns the driver of a call, nil for one driver.
	next func(n int) *drive.Driver
	// deadlines of calls, where they have one.
	deadlines map[int]time.Duration
}

func newFlow(p pipeline.Policy) *flow {
	return &flow{driver: drive.New(must(pipeline.Compile(p)), 0), calls: map[decision.Handle]int{}}
}

var flowing = machine{name: "pipeline", flows: newFlow}

// under is a pipeline that runs another policy than the configured one.
func under(name string, change func(p *pipeline.Policy)) machine {
	return machine{name: "pipeline that " + name, flows: func(p pipeline.Policy) *flow {
		p.Steps = append([]pipeline.Step(nil), p.Steps...)
		change(&p)
		return newFlow(p)
	}}
}

// driven is a pipeline whose driver has a defect: it replaces a decision.
func driven(name string, defect func(f *flow, t told) []told) machine {
	return machine{name: "pipeline that " + name, flows: func(p pipeline.Policy) *flow {
		f := newFlow(p)
		f.defect = defect
		return f
	}}
}

// play plays the words: calls, ends of attempts, and cancelled calls.
func (f *flow) play(steps history) {
	for _, w := range steps {
		f.pass(f.driver.Now() + pause(w))
		f.happen(w)
	}
}

// pause is the time before what a word says.
func pause(w uint64) clock.Mark {
	return pick(w>>3, 0, 0, 1, 2, 3, clock.Mark(w>>8%16), clock.Mark(w>>8%64), 0)
}

// pass lets time pass.
func (f *flow) pass(to clock.Mark) {
	if f.advance != nil {
		f.advance(f, to)
	} else {
		f.driver.Advance(to)
	}
	f.collect()
}

// happen performs the event of a word.
func (f *flow) happen(w uint64) {
	n := len(f.handles)
	switch {
	case w%8 < 4 || n == 0:
		f.begin(uint32(pick(w>>16, 1, 1, 1, 2, 0)))
	case w%8 < 7:
		outcome := pick(w>>16, reducer.Fail, reducer.OK, reducer.Fail, reducer.Throttle, reducer.Ignore)
		f.driver.Done(f.handles[recent(n, w>>24)], drive.Result{Outcome: outcome, Told: w>>32%8 == 1, RetryAfter: time.Duration(w >> 36 % 16)})
	default:
		f.driver.Cancel(f.handles[recent(n, w>>24)])
	}
	f.collect()
}

// recent picks one of the last eight.
func recent(n int, w uint64) int { return n - 1 - int(w%8)%n }

// begin begins a call, unless it is left out; then its id is unknown.
func (f *flow) begin(cost uint32) {
	n := len(f.handles)
	f.began = append(f.began, f.driver.Now())
	if f.skip[n] {
		f.handles = append(f.handles, decision.Handle{})
		return
	}
	request := drive.Request{Cost: cost, Deadline: -1}
	if d, ok := f.deadlines[n]; ok {
		request.Deadline = d
	}
	if f.value != nil {
		lookup := func(attribute string) string { return f.value(n, attribute) }
		request.Keys, request.Missing = f.keys.Of(f.driver.Plan(), lookup, f.driver.Uses)
		f.keys.Price(&request, f.driver.Plan(), lookup)
	}
	driver := f.driver
	if f.next != nil {
		driver = f.next(n)
	}
	handle := driver.Begin(&request)
	f.calls[handle] = n
	f.handles = append(f.handles, handle)
}

// collect takes over the decisions.
func (f *flow) collect() {
	decisions := f.driver.Decisions
	f.driver.Decisions = nil
	for _, d := range decisions {
		t := told{d, f.calls[d.Call]}
		if f.defect != nil {
			f.said = append(f.said, f.defect(f, t)...)
			continue
		}
		f.said = append(f.said, t)
	}
}

// end advances time until all calls have ended that end without an event.
func (f *flow) end() {
	f.pass(f.driver.Now() + 1_000_000)
}

func played(m machine, p pipeline.Policy, h history) *flow {
	f := m.flows(p)
	f.play(h.steps())
	return f
}

// drawPolicy draws some of timeout, retry, breaker, two limits, bulkhead and
// timeout, in the order in which they belong.
func drawPolicy(w uint64, waits bool) pipeline.Policy {
	all := []pipeline.Step{
		{Name: "whole", Config: timeout.Config{After: time.Duration(1 + w>>7%60)}},
		{Name: "again", Config: retry.Config{Attempts: 1 + uint32(w>>13%3), Backoff: backoff.Config{Kind: backoff.Constant, Base: time.Duration(1 + w>>15%8)}}},
		{Name: "breaker", Config: drawBreaker(w>>11, pick(w>>18, breaker.Calls, breaker.Consecutive), false)},
		{Name: "first", Config: drawLimit(w>>20, pick(w>>20, limiter.TokenBucket, limiter.FixedWindow, limiter.SlidingCounter), alone)},
		{Name: "second", Config: drawLimit(w>>27, limiter.TokenBucket, alone)},
		{Name: "places", Config: drawBulkhead(history{w >> 33}).bulkhead},
		{Name: "each", Config: timeout.Config{After: time.Duration(1 + w>>40%20)}},
	}
	if waits && w>>50%2 == 0 {
		all[4].Config = drawLimit(w>>27, limiter.TokenBucket, oldest)
	}
	if !waits {
		pipeline.Edit(&all[5], func(c *bulkhead.Config) { c.Queue, c.Wait, c.Order = 0, 0, 0 })
	}
	var p pipeline.Policy
	for i, step := range all {
		if w>>i&1 == 1 {
			p.Steps = append(p.Steps, step)
		}
	}
	if len(p.Steps) == 0 {
		p.Steps = all[3:4]
	}
	return p
}

// find returns the position of the step, -1 for none.
func find(p pipeline.Policy, name string) int {
	for i, s := range p.Steps {
		if s.Name == name {
			return i
		}
	}
	return -1
}

// G12: every call receives exactly one end, and nothing after it.
func G12(m machine, h history) error {
	f := played(m, drawPolicy(h.word(0), true), h)
	f.end()
	for _, handle := range f.handles {
		f.driver.Cancel(handle)
	}
	f.collect()
	over := map[int]bool{}
	for _, t := range f.said {
		if over[t.call] {
			return fmt.Errorf("G12: after the end: %s", t.text())
		}
		over[t.call] = t.Last
	}
	for n := range f.handles {
		m.meet()
		if !over[n] {
			return fmt.Errorf("G12: call %d has no end", n)
		}
	}
	return nil
}

// M1: nothing below a timeout lasts longer than what is left of it: a call ends no
// later than its outermost timeout, waits and retries included.
func M1(m machine, h history) error {
	p := drawPolicy(h.word(0), true)
	f := played(m, p, h)
	f.end()
	i := find(p, "whole")
	if i < 0 {
		return nil
	}
	for _, t := range f.said {
		if t.Kind == decision.Timeout && t.Step == "whole" {
			m.meet()
		}
		if lasted := t.At.Sub(f.began[t.call]); lasted > pipeline.ConfigOf[timeout.Config](p.Steps[i]).After {
			return fmt.Errorf("M1: after %s: %s", lasted, t.text())
		}
	}
	return nil
}

// M4: a refusal at a step returns the permits of the steps above it, in reverse order
// and once: limiters refund, breakers count no outcome, bulkheads free the place.
func M4(m machine, h history) error {
	p := drawPolicy(h.word(0)|0b111100, false)
	plan := must(pipeline.Compile(p))
	var c pipeline.Call
	plan.Begin(&c, 1, clock.Never, 0)
	at := int(h.word(1) % uint64(plan.Len()))
	var want []reducer.Permit
	for i := range at {
		if !plan.Asks(i) {
			plan.Skip(&c.Attempt, i, 5)
			continue
		}
		permit := reducer.Permit{Generation: uint64(i + 1), ID: uint64(100 + i), Mark: 5}
		c.Admit(i, permit)
		want = append([]reducer.Permit{permit}, want...)
	}
	if !plan.Asks(at) {
		return nil // it refuses no call
	}
	refusal := reducer.Rejected(reducer.ReasonRate, 9)
	plan.Pass(&c, &c.Attempt, at, &refusal)
	effect := plan.Advance(&c, &pipeline.Event{Kind: pipeline.Refused, Step: uint8(at), Answer: refusal}, 5)
	if effect.Do != pipeline.Refuse || int(effect.Step) != at || effect.At != 9 {
		return fmt.Errorf("M4: refused at %d: %+v", at, effect)
	}
	if len(want) > 1 {
		m.meet()
	}
	got := m.undo(plan, &c, effect)
	if len(got) != len(want) || len(m.undo(plan, &c, effect)) != 0 {
		return fmt.Errorf("M4: %d steps were passed, %d undone", len(want), len(got))
	}
	for i, a := range got {
		kind := map[pipeline.Kind]reducer.Kind{mechanism.Limit: reducer.Cancel, mechanism.Breaker: reducer.Record, mechanism.Bulkhead: reducer.Release}
		step := plan.Step(int(want[i].ID - 100))
		if a.ID != want[i].ID || a.Kind != kind[step.Kind()] || a.Kind == reducer.Record && a.Outcome != reducer.Cancelled {
			return fmt.Errorf("M4: %s undoes %s", a, step.Name)
		}
	}
	return nil
}

// undo leaves the cells that an effect names, as a driver does.
func (m machine) undo(plan *pipeline.Plan, c *pipeline.Call, e pipeline.Effect) (all []reducer.Action) {
	for i := int(e.LeaveFrom) - 1; i >= int(e.LeaveTo); i-- {
		if kind, permit := plan.Leaving(c, 0, i); kind != 0 {
			all = append(all, plan.Leave(c, 0, i, kind, permit))
		}
	}
	if m.undone != nil {
		m.undone(all)
	}
	return all
}
