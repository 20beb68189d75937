package proptest

import (
	"slices"
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
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// nest is a policy in two parts: an attempt of the outer part is a call of the inner
// part, whose deadline is the rest of the outer call's time. A refusal of the inner
// part is not a failure: the outer call is cancelled.
type nest struct {
	outer, inner *flow
	running      map[int]int // calls of the outer part by calls of the inner
	inside       map[int]int // and the other way around
	said         []told
	after        time.Duration // the outer timeout, 0 for none
	refused      func(n *nest, call int)
	tied         bool
}

func newNest(p pipeline.Policy, split int) *nest {
	n := &nest{outer: newFlow(pipeline.Policy{Steps: p.Steps[:split]}), inner: newFlow(pipeline.Policy{Steps: p.Steps[split:]}),
		running: map[int]int{}, inside: map[int]int{}, refused: (*nest).giveUp}
	if i := find(p, "whole"); i == 0 {
		n.after = pipeline.ConfigOf[timeout.Config](p.Steps[0]).After
	}
	return n
}

func (n *nest) giveUp(call int) {
	n.outer.driver.Cancel(n.outer.handles[call])
	n.outer.collect()
	n.outer.said = slices.DeleteFunc(n.outer.said, func(t told) bool { return t.call == call })
}

// pass steps through every nanosecond. Where an attempt of the outer part starts at
// the mark of an event of the inner part, the order of the two is not fixed.
func (n *nest) pass(to clock.Mark) {
	for at := n.outer.driver.Now() + 1; at <= to && !n.tied; at++ {
		n.outer.pass(at)
		n.inner.pass(at)
		starts := slices.ContainsFunc(n.outer.said, func(t told) bool { return t.Kind == decision.Admit })
		if n.tied = starts && len(n.inner.said) > 0; n.tied {
			return
		}
		n.settle()
	}
}

// settle passes the decisions of each part to the other one, until neither decides
// anything.
func (n *nest) settle() {
	for len(n.outer.said)+len(n.inner.said) > 0 {
		said := n.outer.said
		n.outer.said = nil
		for _, t := range said {
			n.hearOuter(t)
		}
		said = n.inner.said
		n.inner.said = nil
		for _, t := range said {
			n.hearInner(t)
		}
	}
}

func (n *nest) hearOuter(t told) {
	if t.Kind != decision.Admit {
		n.said = append(n.said, t)
		return
	}
	i := len(n.inner.handles)
	n.running[i], n.inside[t.call] = t.call, i
	if n.after > 0 {
		n.inner.deadlines = map[int]time.Duration{i: n.outer.began[t.call].Add(n.after).Sub(t.At)}
	}
	n.inner.begin(1)
	n.inner.collect()
}

func (n *nest) hearInner(t told) {
	i := t.call
	t.call = n.running[i]
	live := n.outer.driver.Live(n.outer.handles[t.call]) && n.inside[t.call] == i
	switch {
	case !live || t.Kind == decision.Timeout && t.Step == pipeline.Deadline:
		// The outer part has cut it at the same mark.
	case t.Kind == decision.End:
		n.outer.driver.Done(n.outer.handles[t.call], drive.Result{Outcome: t.Outcome})
		n.outer.collect()
	case t.Last:
		n.said = append(n.said, t)
		n.refused(n, t.call)
	default:
		n.said = append(n.said, t)
	}
}

// happen performs the event of a word, as flow does.
func (n *nest) happen(w uint64) {
	calls := len(n.outer.handles)
	switch {
	case w%8 < 4 || calls == 0:
		n.outer.begin(1)
	case w%8 < 7:
		if i, ok := n.inside[recent(calls, w>>24)]; ok {
			n.inner.driver.Done(n.inner.handles[i], drive.Result{Outcome: pick(w>>16, reducer.Fail, reducer.OK, reducer.Fail, reducer.Throttle, reducer.Ignore)})
		}
	default:
		call := recent(calls, w>>24)
		n.outer.driver.Cancel(n.outer.handles[call])
		n.outer.collect()
		if i, ok := n.inside[call]; ok {
			n.inner.driver.Cancel(n.inner.handles[i])
		}
	}
	n.outer.collect()
	n.inner.collect()
	n.settle()
}

// nesting draws a policy and where it is split. The outer part holds no permits that
// a running attempt would keep, and a retry consults no breaker of the other part.
func nesting(h history) (p pipeline.Policy, split int) {
	p = drawPolicy(h.word(0)|0b1000001, true)
	if i := find(p, "breaker"); i >= 0 {
		pipeline.Edit(&p.Steps[i], func(c *breaker.Config) { c.SlowOver, c.SlowRate = 0, reducer.Share{} })
		if j := find(p, "again"); j >= 0 && h.word(1)>>4%2 == 0 {
			p.Steps[i], p.Steps[j] = p.Steps[j], p.Steps[i]
		}
	}
	split = 1
	for split < len(p.Steps)-1 && (p.Steps[split].Kind() == mechanism.Breaker || p.Steps[split].Kind() == mechanism.Retry) {
		split++
	}
	split -= int(h.word(1) % uint64(split))
	again, guard := find(p, "again"), find(p, "breaker")
	if again >= 0 && again < split && guard >= split {
		split = again
	}
	if guard >= 0 && guard < split {
		// An end of the inner part at the deadline of an outer probe comes too late
		// for the probe.
		pipeline.Edit(&p.Steps[guard], func(c *breaker.Config) {
			c.Open, c.HalfOpenMax = backoff.Config{Kind: backoff.Constant, Base: time.Hour}, 0
		})
		// And the outer part counts a call that waits inside as running, so that
		// cutting it is a failure.
		for i := range p.Steps {
			pipeline.Edit(&p.Steps[i], func(c *limiter.Config) { c.Wait, c.Queue, c.Order = 0, 0, 0 })
			pipeline.Edit(&p.Steps[i], func(c *bulkhead.Config) { c.Wait, c.Queue, c.Order = 0, 0, 0 })
		}
	}
	return p, split
}

// M6Nested: a policy decides the same in one piece and in two, one inside the other:
// the decisions about each call are equal, except for the numbers of attempts, which
// each part counts itself.
func M6Nested(m machine, h history) error {
	p, split := nesting(h)
	whole, n := newFlow(p), m.nests(p, split)
	for _, w := range h.steps() {
		w &^= 7 << 32 // no part returns a retry-after
		to := whole.driver.Now() + pause(w)
		if n.pass(to); n.tied {
			break
		}
		whole.pass(to)
		if w%8 < 4 || len(whole.handles) == 0 {
			whole.begin(1)
			whole.collect()
		} else {
			whole.happen(w)
		}
		n.happen(w)
	}
	until := min(n.outer.driver.Now(), whole.driver.Now())
	calls := len(whole.handles)
	for call := range calls {
		of := func(all []told) (list []told) {
			for _, t := range all {
				if t.call == call && t.Kind != decision.Admit && !(n.tied && t.At >= until) {
					t.Attempt, t.Reason = 0, reason(t)
					list = append(list, t)
					m.meet()
				}
			}
			return list
		}
		if err := agree("M6", of(n.said), of(whole.said), func(told) bool { return true }); err != nil {
			return err
		}
	}
	return nil
}

// reason leaves out why a retry gave up: a part that is not the retry's does not
// know.
func reason(t told) reducer.Reason {
	if t.Kind == decision.End {
		return reducer.NoReason
	}
	return t.Reason
}
