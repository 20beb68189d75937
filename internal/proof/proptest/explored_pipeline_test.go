package proptest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// The exploration of a pipeline: two calls at a time, over shared cells. The
// machine is composed here of the plan and the cells that are shipped, and every
// step is compared with the driver that is.

// The steps of the policy, which are the cells of a state.
const (
	limitStep = iota
	breakerStep
	bulkheadStep
	flowSteps
)

// exploredPolicy is in nanoseconds.
var exploredPolicy = pipeline.Policy{Steps: []pipeline.Step{
	{Name: "limit", Config: limiter.Config{Count: 1, Period: 2, Burst: 2}},
	{Name: "breaker", Config: breaker.Config{Window: breaker.Consecutive, Count: 1, Probes: 1,
		Open: backoff.Config{Kind: backoff.Constant, Base: 2}}},
	{Name: "places", Config: bulkhead.Config{Concurrent: 1, Queue: 1, Wait: 2}},
}}

// The machines of its cells, to read their states.
var (
	flowBucket  = must(limiter.New(pipeline.ConfigOf[limiter.Config](exploredPolicy.Steps[limitStep])))
	flowBreaker = must(breaker.New(pipeline.ConfigOf[breaker.Config](exploredPolicy.Steps[breakerStep])))
	flowPlaces  = must(bulkhead.New(pipeline.ConfigOf[bulkhead.Config](exploredPolicy.Steps[bulkheadStep])))
)

// flowState is two calls, and the cells that they share.
type flowState struct {
	calls [2]pipeline.Call
	live  [2]bool
	since [2]clock.Mark // it began to wait
	cells [flowSteps][]byte
	ran   []clock.Mark // the marks at which the limiter admitted the calls that started lately
	now   clock.Mark   // what was due before is done at its own mark
	path  *flowPath
}

// flowPath is the path to a state; it is not part of a key.
type flowPath struct {
	before *flowPath
	deed   flowDeed
	at     clock.Mark
}

type flowVerb uint8

const (
	begins flowVerb = iota
	finishes
	givesUp
	passes // nothing but time
)

var flowVerbs = [...]string{"begin", "done", "cancel", "pass"}

// flowDeed is an event of a call.
type flowDeed struct {
	verb    flowVerb
	call    uint8
	outcome reducer.Outcome
}

// said is a decision.
type said struct {
	at         clock.Mark
	call       int
	kind       decision.Kind
	step       string
	outcome    reducer.Outcome
	reason     reducer.Reason
	retryAfter time.Duration
	last       bool
}

// flowEffects are the decisions of a step, and which cells each call left, in
// which order.
type flowEffects struct {
	said []said
	left [][]int
	err  error
}

// twoCalls is the machine. A mutant has another policy than the one it is checked
// against, or a defect in its driver.
type twoCalls struct {
	plan *pipeline.Plan
	// leaves may change how a call leaves its cells.
	leaves func(c *pipeline.Call, steps []int) []int
	// acts may change the action on a cell; false for no action.
	acts func(c *pipeline.Call, step int, a reducer.Action) (reducer.Action, bool)
	// quiet are the decisions that it does not report.
	quiet decision.Kind
	// idle: it does not serve its queue.
	idle bool
}

// frame is a step of the machine in progress.
type frame struct {
	*twoCalls
	flowState
	open    [flowSteps]cell.Cell
	effects flowEffects
}

// Init implements reducer.Machine.
func (m *twoCalls) Init(now clock.Mark) flowState {
	s := flowState{now: now}
	for i := range s.cells {
		s.cells[i] = m.plan.Maker(i).New(now).AppendState(nil)
	}
	return s
}

// Reduce implements reducer.Machine.
func (m *twoCalls) Reduce(s flowState, d flowDeed, at clock.Mark) (flowState, flowEffects) {
	f := &frame{twoCalls: m, flowState: s}
	f.path = &flowPath{s.path, d, at}
	for i := range f.cells {
		f.open[i] = m.plan.Maker(i).New(at)
		if err := f.open[i].Restore(s.cells[i]); err != nil {
			return s, flowEffects{err: err}
		}
	}
	f.advance(at)
	c := &f.calls[d.call]
	switch {
	case d.verb == begins && !f.live[d.call]:
		*c, f.live[d.call] = pipeline.Call{}, true
		f.run(int(d.call), m.plan.Begin(c, 1, clock.Never, 0))
	case d.verb == finishes && c.Phase == pipeline.Running:
		f.run(int(d.call), m.plan.Advance(c, &pipeline.Event{Kind: pipeline.Finished, Outcome: d.outcome}, f.now))
	case d.verb == givesUp && f.live[d.call]:
		f.run(int(d.call), m.plan.Advance(c, &pipeline.Event{Kind: pipeline.Abandoned}, f.now))
	}
	f.advance(at)
	for i := range f.cells {
		f.cells[i] = f.open[i].AppendState(nil)
	}
	for len(f.ran) > 0 && at-f.ran[0] > 5 {
		f.ran = f.ran[1:]
	}
	return f.flowState, f.effects
}

// NextWake implements reducer.Machine.
func (m *twoCalls) NextWake(s flowState) (clock.Mark, bool) {
	at := clock.Never
	for i := range s.calls {
		if s.live[i] {
			at = min(at, m.plan.EndsAt(&s.calls[i]))
		}
	}
	br, _ := reducer.ValuesOf(flowBreaker).DecodeState(s.cells[breakerStep])
	if wake, ok := reducer.ValuesOf(flowBreaker).NextWake(br); ok {
		at = min(at, wake)
	}
	return at, at != clock.Never
}

// advance performs what is due: ends of waits, then of probes, then grants, as the
// shipped driver does.
func (f *frame) advance(to clock.Mark) {
	for f.effects.err == nil {
		at, call := to+1, -1
		for i := range f.calls {
			if c := &f.calls[i]; f.live[i] && c.Phase == pipeline.Waiting && c.Until < at {
				at, call = c.Until, i
			}
		}
		ends := f.open[breakerStep].Due().Ends
		serves := f.open[bulkheadStep].Due().Serves
		if f.idle {
			serves = clock.Never
		}
		switch {
		case call >= 0 && at <= ends && at <= serves:
			f.now = max(f.now, at)
			answer := f.step(bulkheadStep, reducer.Action{Kind: reducer.Expire, Permit: reducer.Permit{ID: f.calls[call].Slots[bulkheadStep].ID}})
			f.run(call, f.plan.Advance(&f.calls[call], &pipeline.Event{Kind: pipeline.Dropped, Step: bulkheadStep, Answer: answer}, f.now))
		case ends <= to && ends <= serves:
			f.now = max(f.now, ends)
			f.step(breakerStep, tick)
		case serves <= to:
			f.step(bulkheadStep, reducer.Action{Kind: reducer.Serve})
		default:
			f.now = to
			return
		}
	}
}

// step steps a cell, and delivers the effects to the calls.
func (f *frame) step(i int, a reducer.Action) reducer.Answer {
	var out reducer.Out
	answer := f.open[i].Step(a, f.now, &out)
	for _, e := range out {
		call := int(e.Caller >> 4)
		event := pipeline.Event{Kind: pipeline.Granted, Step: uint8(e.Caller & 15), Answer: reducer.Admitted(e.Permit)}
		switch e.Kind {
		case reducer.Drop:
			event.Kind, event.Answer = pipeline.Dropped, reducer.Answer{Reason: e.Reason}
		case reducer.Grant:
		default:
			continue
		}
		if !f.live[call] {
			f.effects.err = fmt.Errorf("%s, and the call is over", e)
			continue
		}
		f.run(call, f.plan.Advance(&f.calls[call], &event, f.now))
	}
	return answer
}

// run performs an effect and its consequences.
func (f *frame) run(call int, e pipeline.Effect) {
	c := &f.calls[call]
	for {
		f.leave(c, e)
		d := said{at: f.now, call: call}
		switch e.Do {
		case pipeline.Enter:
			e = f.enter(call, int(e.Step))
			continue
		case pipeline.Start:
			// A limiter counts a call when it passes, and a call that waits for a
			// place starts later.
			f.ran = append(slices.Clone(f.ran), c.Slots[limitStep].Mark)
			slices.Sort(f.ran)
			d.kind = decision.Admit
		case pipeline.Return:
			d.kind, d.outcome, d.reason, d.last = decision.End, e.Outcome, e.Reason, true
		case pipeline.Refuse:
			d.kind, d.step, d.reason, d.retryAfter, d.last = decision.Reject, f.plan.StepName(int(e.Step)), e.Reason, -1, true
			if e.At != clock.Never {
				d.retryAfter = max(0, e.At.Sub(f.now))
			}
		case pipeline.GiveUp:
			d.kind, d.step, d.reason, d.last = decision.Expire, f.plan.StepName(int(e.Step)), e.Reason, c.Phase == pipeline.Over
		default:
			return
		}
		if f.quiet == 0 || d.kind != f.quiet {
			f.effects.said = append(f.effects.said, d)
		}
		if c.Phase == pipeline.Over {
			f.live[call] = false
			f.since[call] = 0
			*c = pipeline.Call{}
		}
		return
	}
}

func (f *frame) leave(c *pipeline.Call, e pipeline.Effect) {
	var steps []int
	for i := int(e.LeaveFrom) - 1; i >= int(e.LeaveTo); i-- {
		steps = append(steps, i)
	}
	if f.leaves != nil {
		steps = f.leaves(c, steps)
	}
	var left []int
	for _, i := range steps {
		kind, permit := f.plan.Leaving(c, 0, i)
		a, ok := f.plan.Leave(c, 0, i, kind, permit), kind != 0
		if ok && f.acts != nil {
			a, ok = f.acts(c, i, a)
		}
		if ok {
			left = append(left, i)
			f.step(i, a)
		}
	}
	if len(left) > 0 {
		f.effects.left = append(f.effects.left, left)
	}
}

// enter takes a call through the steps from one on.
func (f *frame) enter(call, from int) pipeline.Effect {
	c := &f.calls[call]
	for i := from; i < f.plan.Len(); i++ {
		if !f.plan.Asks(i) {
			f.plan.Skip(&c.Attempt, i, f.now)
			continue
		}
		answer := f.step(i, reducer.Action{Kind: reducer.Acquire, Cost: c.Cost, Permit: reducer.Permit{ID: uint64(call)<<4 | uint64(i)}})
		next, _ := f.plan.Pass(c, &c.Attempt, i, &answer)
		if answer.Verdict == reducer.Wait {
			f.since[call] = f.now
			f.effects.said = append(f.effects.said, said{at: f.now, call: call, kind: decision.Wait, step: f.plan.StepName(i)})
		}
		if next != pipeline.Entered {
			return f.plan.Advance(c, &pipeline.Event{Kind: next, Step: uint8(i), Answer: answer}, f.now)
		}
	}
	return f.plan.Advance(c, &pipeline.Event{Kind: pipeline.Entered}, f.now)
}

// flowDeeds are the possible events. Two idle calls are interchangeable.
func flowDeeds(dst []flowDeed, s flowState, _ clock.Mark) []flowDeed {
	for i := range s.calls {
		call := uint8(i)
		switch {
		case !s.live[i] && (i == 0 || s.live[0]):
			dst = append(dst, flowDeed{verb: begins, call: call})
		case s.live[i] && s.calls[i].Phase == pipeline.Running:
			dst = append(dst, flowDeed{finishes, call, reducer.OK}, flowDeed{finishes, call, reducer.Fail}, flowDeed{finishes, call, reducer.Throttle})
		}
		if s.live[i] {
			dst = append(dst, flowDeed{verb: givesUp, call: call})
		}
	}
	return append(dst, flowDeed{verb: passes})
}

// cellStates reads the cells of a state.
func (s *flowState) cellStates() (tokens limiter.State, br breaker.State, places bulkhead.State, err error) {
	if tokens, err = reducer.ValuesOf(flowBucket).DecodeState(s.cells[limitStep]); err != nil {
		return
	}
	if br, err = reducer.ValuesOf(flowBreaker).DecodeState(s.cells[breakerStep]); err != nil {
		return
	}
	places, err = reducer.ValuesOf(flowPlaces).DecodeState(s.cells[bulkheadStep])
	return
}

// flowKey is a state with all marks counted from now, and without the words that
// no step reads.
func flowKey(dst []byte, s flowState, now clock.Mark) []byte {
	tokens, br, places, _ := s.cellStates()
	by := clock.Mark(0).Sub(now)
	tokens.Last, br.Last, places.Last = now, now, now
	if br.Mode == breaker.Closed {
		br.Origin = now
	}
	dst = reducer.ValuesOf(flowBucket).AppendState(dst, reducer.ValuesOf(flowBucket).Shift(tokens, by))
	dst = reducer.ValuesOf(flowBreaker).AppendState(dst, reducer.ValuesOf(flowBreaker).Shift(br, by))
	dst = reducer.ValuesOf(flowPlaces).AppendState(dst, reducer.ValuesOf(flowPlaces).Shift(places, by))
	put := func(v uint64) { dst = binary.LittleEndian.AppendUint64(dst, v) }
	for i := range s.calls {
		c := &s.calls[i]
		if !s.live[i] {
			dst = append(dst, 0)
			continue
		}
		dst = append(dst, 1, byte(c.Phase), byte(c.Held), c.Entered, byte(c.Retry.Attempt))
		limit := moveLimit(limiter.TokenBucket)(c.Slots[limitStep], by)
		put(limit.Generation)
		put(limit.ID)
		put(uint64(limit.Mark))
		put(c.Slots[breakerStep].Generation)
		put(c.Slots[breakerStep].ID)
		put(c.Slots[bulkheadStep].Generation)
		put(c.Slots[bulkheadStep].ID)
		put(uint64(c.Until.Add(by)))
		put(uint64(s.since[i].Add(by)))
	}
	for _, at := range s.ran {
		put(uint64(at.Add(by)))
	}
	return dst
}
