package proptest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

type (
	flowModel   = explore.Model[flowState, flowDeed, flowEffects]
	flowChecked = explore.Invariant[flowState, flowDeed, flowEffects]
	flowPassage = explore.Transition[flowState, flowDeed, flowEffects]
)

// flowRule is an invariant of the pipeline with its mutant.
type flowRule struct {
	name      string
	statement string
	state     func(m *twoCalls, s *flowState, now clock.Mark) error
	step      func(m *twoCalls, t *flowPassage) error
	mutant    string
	plant     func(m *twoCalls)
}

func exploreFlow(plant func(m *twoCalls), rules ...flowRule) (explore.Result, error) {
	m := &twoCalls{plan: must(pipeline.Compile(exploredPolicy))}
	if plant != nil {
		plant(m)
	}
	model := flowModel{
		Machine: m, Actions: flowDeeds, Key: flowKey, Marks: explore.Marks{After: []time.Duration{0, 1}, Wake: []time.Duration{0}},
		Script: explore.Script[flowState, flowDeed, flowEffects]{New: "limit breaker places", Action: appendFlowDeed, Effects: appendFlowEffects, State: appendFlowState},
	}
	for _, rule := range rules {
		c := flowChecked{Name: rule.name}
		if rule.state != nil {
			c.State = func(s flowState, now clock.Mark) error { return rule.state(m, &s, now) }
		}
		if rule.step != nil {
			c.Step = func(t flowPassage) error { return rule.step(m, &t) }
		}
		model.Invariants = append(model.Invariants, c)
	}
	return explore.Run(model, explore.Limits{Depth: flowDepth, States: mostStates})
}

var flowDepth = 8

const flowName = "pipeline of a limiter, a breaker and a bulkhead with a queue, 2 calls at a time"

func appendFlowDeed(dst []byte, d flowDeed) []byte {
	dst = append(dst, flowVerbs[d.verb]...)
	if d.verb != passes {
		dst = fmt.Appendf(dst, " call=%d", d.call)
	}
	if d.verb == finishes {
		dst = fmt.Appendf(dst, " %s", d.outcome)
	}
	return dst
}

func appendFlowEffects(dst []byte, _ flowDeed, e flowEffects) []byte {
	for i, d := range e.said {
		if i > 0 {
			dst = append(dst, "; "...)
		}
		dst = fmt.Appendf(dst, "%d: %s %s %s %s", d.call, d.kind, d.step, d.outcome, d.reason)
	}
	return dst
}

func appendFlowState(dst []byte, s flowState, now clock.Mark) []byte {
	tokens, br, places, _ := s.cellStates()
	dst = append(flowBucket.AppendText(dst, &tokens, now), ", "...)
	dst = append(flowBreaker.AppendText(dst, &br, now), ", "...)
	return flowPlaces.AppendText(dst, &places, now)
}

var flowPlan = must(pipeline.Compile(exploredPolicy))

// following makes the mutant follow another policy.
func following(change func(steps []pipeline.Step)) func(m *twoCalls) {
	return func(m *twoCalls) {
		steps := slices.Clone(exploredPolicy.Steps)
		change(steps)
		m.plan = must(pipeline.Compile(pipeline.Policy{Steps: steps}))
	}
}

// taken returns what the calls of a state hold of its cells, as a new call observes
// it.
type taken struct {
	tat           clock.Mark
	mode          breaker.Mode
	until         clock.Mark
	total, failed uint32
	out           uint16
	held, waiting uint32
}

func takenOf(s *flowState, now clock.Mark) (t taken, err error) {
	tokens, br, places, err := s.cellStates()
	if err != nil {
		return t, err
	}
	br = tried(reducer.Cell[breaker.State](flowBreaker), br, tick, now).state
	return taken{max(tokens.Bucket().TAT, now), br.Mode, br.OpenUntil, br.Total, br.Failed, br.ProbesOut, places.Held, places.Queue.Len()}, nil
}

var flowRules = []flowRule{
	{name: "M4", statement: "a call that is refused, dropped, cancelled or ended leaves all steps that it passed, in reverse order",
		step: func(_ *twoCalls, t *flowPassage) error {
			for _, left := range t.Effects.left {
				if !slices.IsSortedFunc(left, func(a, b int) int { return b - a }) {
					return fmt.Errorf("left in the order %v", left)
				}
			}
			if t.Effects.err != nil {
				return t.Effects.err
			}
			_, br, places, err := t.After.cellStates()
			if err != nil {
				return err
			}
			for i, live := range t.After.live {
				if !live && t.Before.live[i] && (places.Held > 0 && !t.After.live[1-i] || br.ProbesOut > 0 && br.Mode == breaker.HalfOpen && !t.After.live[1-i]) {
					return fmt.Errorf("no call is left, %d places are held and %d probes are pending", places.Held, br.ProbesOut)
				}
			}
			return nil
		},
		mutant: "leaves the steps in their order", plant: func(m *twoCalls) {
			m.leaves = func(_ *pipeline.Call, steps []int) []int { slices.Reverse(steps); return steps }
		}},
	{name: "L15", statement: "all or nothing: a call that is refused at once takes nothing from limiter, breaker or bulkhead",
		step: func(m *twoCalls, t *flowPassage) error {
			if t.Action.verb != begins || t.After.live[t.Action.call] || len(t.Effects.said) == 0 || t.Effects.said[len(t.Effects.said)-1].kind != decision.Reject {
				return nil
			}
			idle, _ := m.Reduce(t.Before, flowDeed{verb: passes}, t.At)
			was, err := takenOf(&idle, t.At)
			is, wrong := takenOf(&t.After, t.At)
			if err != nil || wrong != nil || is != was {
				return fmt.Errorf("refused, and %+v became %+v (%v, %v)", was, is, err, wrong)
			}
			return nil
		},
		mutant: "keeps the permit of a refused call", plant: func(m *twoCalls) {
			m.acts = func(_ *pipeline.Call, step int, a reducer.Action) (reducer.Action, bool) { return a, step != limitStep }
		}},
	{name: "L1", statement: "in any interval at most the burst and the permits that have refilled start",
		state: func(_ *twoCalls, s *flowState, _ clock.Mark) error {
			for i := range s.ran {
				if n, length := len(s.ran)-i, int(s.ran[len(s.ran)-1]-s.ran[i]); n > 2+length/2 {
					return fmt.Errorf("%d started within %dns", n, length)
				}
			}
			return nil
		},
		mutant: "refunds the permit of a call that ran", plant: func(m *twoCalls) {
			m.leaves = func(c *pipeline.Call, steps []int) []int {
				if len(steps) > 0 && c.Outcome == reducer.OK {
					c.Round = clock.Always
				}
				return steps
			}
		}},
	{name: "K1", statement: "calls in flight <= places", state: func(_ *twoCalls, s *flowState, _ clock.Mark) error {
		running := 0
		for i := range s.calls {
			if s.live[i] && s.calls[i].Phase == pipeline.Running {
				running++
			}
		}
		if running > 1 {
			return fmt.Errorf("%d run in 1 place", running)
		}
		return nil
	},
		mutant: "has one more place than configured", plant: following(func(steps []pipeline.Step) {
			pipeline.Edit(&steps[bulkheadStep], func(c *bulkhead.Config) { c.Concurrent++ })
		})},
	{name: "K3", statement: "exactly the running calls hold places, and exactly the waiting calls are in the queue", state: func(_ *twoCalls, s *flowState, _ clock.Mark) error {
		_, _, places, err := s.cellStates()
		if err != nil {
			return err
		}
		running, waiting := uint32(0), uint32(0)
		for i := range s.calls {
			switch {
			case s.live[i] && s.calls[i].Phase == pipeline.Running:
				running++
			case s.live[i] && s.calls[i].Phase == pipeline.Waiting:
				waiting++
			}
		}
		if places.Held != running || places.Queue.Len() != waiting {
			return fmt.Errorf("%d run and %d wait, by the bulkhead %d and %d", running, waiting, places.Held, places.Queue.Len())
		}
		return nil
	},
		mutant: "keeps the place of a failed call", plant: func(m *twoCalls) {
			m.acts = func(c *pipeline.Call, step int, a reducer.Action) (reducer.Action, bool) {
				return a, step != bulkheadStep || c.Outcome != reducer.Fail
			}
		}},
	{name: "K4", statement: "no caller waits while a place is free", state: func(_ *twoCalls, s *flowState, _ clock.Mark) error {
		_, _, places, err := s.cellStates()
		if err != nil || places.Queue.Len() > 0 && places.Held < 1 {
			return fmt.Errorf("%d wait and %d hold the place (%v)", places.Queue.Len(), places.Held, err)
		}
		return nil
	},
		mutant: "does not serve its queue", plant: func(m *twoCalls) { m.idle = true }},
	{name: "K7", statement: "no wait is longer than the maximum wait", state: func(_ *twoCalls, s *flowState, now clock.Mark) error {
		for i := range s.calls {
			if s.live[i] && s.calls[i].Phase == pipeline.Waiting && now-s.since[i] >= 2 {
				return fmt.Errorf("call %d waits since %s", i, s.since[i])
			}
		}
		return nil
	},
		mutant: "allows longer waits than configured", plant: following(func(steps []pipeline.Step) {
			pipeline.Edit(&steps[bulkheadStep], func(c *bulkhead.Config) { c.Wait++ })
		})},
	{name: "B2", statement: "no call starts while the breaker is open", step: func(_ *twoCalls, t *flowPassage) error {
		_, br, _, err := t.Before.cellStates()
		for _, d := range t.Effects.said {
			if t.Action.verb == begins && d.kind == decision.Admit && d.call == int(t.Action.call) && br.Mode == breaker.Open && d.at < br.OpenUntil {
				return fmt.Errorf("starts at %s, open until %s (%v)", d.at, br.OpenUntil, err)
			}
		}
		return err
	},
		mutant: "ignores its breaker", plant: following(func(steps []pipeline.Step) { steps[breakerStep].Shadow = true })},
	{name: "B3", statement: "half-open: at most as many probes are pending as configured, and each is a call that has not ended", state: func(_ *twoCalls, s *flowState, now clock.Mark) error {
		_, br, _, err := s.cellStates()
		if err != nil || br.Mode != breaker.HalfOpen {
			return err
		}
		out := uint16(0)
		for i := range s.calls {
			if p := s.calls[i].Slots[breakerStep]; s.live[i] && s.calls[i].Held&(1<<breakerStep) != 0 && p.Generation == uint64(br.Generation) && slices.Contains(probesOf(&br), p.ID) {
				out++
			}
		}
		if uint32(br.ProbesOut)+br.Total > 1 || out != br.ProbesOut {
			return fmt.Errorf("%d out, %d of them live calls, %d done, of 1", br.ProbesOut, out, br.Total)
		}
		return nil
	},
		mutant: "does not report a cancelled call to the breaker", plant: func(m *twoCalls) {
			m.acts = func(c *pipeline.Call, step int, a reducer.Action) (reducer.Action, bool) {
				return a, step != breakerStep || c.Outcome != reducer.Cancelled
			}
		}},
	{name: "B9", statement: "only an attempt that failed opens the breaker: no refusal, no expired wait, no cancelled call", step: func(_ *twoCalls, t *flowPassage) error {
		_, was, _, err := t.Before.cellStates()
		_, is, _, wrong := t.After.cellStates()
		if err != nil || wrong != nil {
			return fmt.Errorf("%v, %v", err, wrong)
		}
		if failed := t.Action.verb == finishes && t.Action.outcome == reducer.Fail; is.Openings > was.Openings && !failed {
			return fmt.Errorf("opened by %s", appendFlowDeed(nil, t.Action))
		}
		return nil
	},
		mutant: "counts a cancelled call as a failure", plant: func(m *twoCalls) {
			m.acts = func(_ *pipeline.Call, _ int, a reducer.Action) (reducer.Action, bool) {
				if a.Outcome == reducer.Cancelled {
					a.Outcome = reducer.Fail
				}
				return a, true
			}
		}},
	{name: "B4", statement: "no deadlock: after the calls are cancelled and time has passed, a call starts", state: func(m *twoCalls, s *flowState, now clock.Mark) error {
		after := *s
		for i := range after.calls {
			after, _ = m.Reduce(after, flowDeed{verb: givesUp, call: uint8(i)}, now)
		}
		after, effects := m.Reduce(after, flowDeed{verb: begins}, now+20)
		if n := len(effects.said); n == 0 || effects.said[n-1].kind != decision.Admit {
			return fmt.Errorf("20ns after all calls were cancelled: %s", appendFlowEffects(nil, flowDeed{}, effects))
		}
		return nil
	},
		mutant: "keeps the place of a cancelled call", plant: func(m *twoCalls) {
			m.acts = func(c *pipeline.Call, step int, a reducer.Action) (reducer.Action, bool) {
				return a, step != bulkheadStep || c.Outcome != reducer.Cancelled
			}
		}},
	{name: "G12", statement: "each call receives exactly one end, and nothing after it", step: func(_ *twoCalls, t *flowPassage) error {
		if t.Effects.err != nil {
			return t.Effects.err
		}
		live := t.Before.live
		if t.Action.verb == begins {
			live[t.Action.call] = true
		}
		for _, d := range t.Effects.said {
			if !live[d.call] {
				return fmt.Errorf("%s of call %d, which is over", d.kind, d.call)
			}
			live[d.call] = !d.last
		}
		if live != t.After.live {
			return fmt.Errorf("by the decisions %v are not over, by the state %v", live, t.After.live)
		}
		return nil
	},
		mutant: "does not end a call whose wait timed out", plant: func(m *twoCalls) { m.quiet = decision.Expire }},
	{name: "Drive", statement: "the shipped driver decides the same at every step", step: drivenAlike,
		mutant: "counts a throttled call as a failed one", plant: func(m *twoCalls) {
			m.acts = func(_ *pipeline.Call, _ int, a reducer.Action) (reducer.Action, bool) {
				if a.Outcome == reducer.Throttle {
					a.Outcome = reducer.Fail
				}
				return a, true
			}
		}},
}

var exploredFlows = func() []exploration {
	e := exploration{machine: flowName, depth: flowDepth, run: func() (explore.Result, error) { return exploreFlow(nil, flowRules...) }}
	for _, r := range flowRules {
		e.lines = append(e.lines, exploredLine{name: r.name, statement: r.statement, machine: flowName, mutant: r.mutant,
			run:   func() (explore.Result, error) { return exploreFlow(nil, r) },
			fires: func() (explore.Result, error) { return exploreFlow(r.plant, r) },
		})
	}
	return []exploration{e}
}()
