package proptest

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
)

// The laws of every reducer, for a whole policy with active calls.

// alike compares all decisions of two flows.
func (m machine) alike(name string, a, b *flow) error {
	for range a.said {
		m.meet()
	}
	return agree(name, a.said, b.said, func(told) bool { return true })
}

// jitteredPolicy draws a policy with random delays.
func jitteredPolicy(h history) pipeline.Policy {
	p := drawPolicy(h.word(0)|2, true)
	pipeline.Edit(&p.Steps[find(p, "again")], func(c *retry.Config) { c.Backoff.Jitter = backoff.Full })
	return p
}

// G1Flow: equal policies, seeds and events give equal decisions.
func G1Flow(m machine, h history) error {
	p := jitteredPolicy(h)
	return m.alike("G1", played(m, p, h), played(m, p, h))
}

// G3Flow: an earlier mark than the last one counts as the last one.
func G3Flow(m machine, h history) error {
	p := jitteredPolicy(h)
	back := clock.Mark(1 + h.word(1)%16)
	f := m.flows(p)
	for _, w := range h.steps() {
		f.pass(f.driver.Now() + pause(w))
		f.pass(f.driver.Now() - back)
		f.happen(w)
	}
	return m.alike("G3", played(flowing, p, h), f)
}

// G7Flow: many small steps of time decide the same as one large step.
func G7Flow(m machine, h history) error {
	p := jitteredPolicy(h)
	f := m.flows(p)
	for _, w := range h.steps() {
		for to := f.driver.Now() + pause(w); f.driver.Now() < to; {
			before := f.driver.Now()
			if f.pass(before + 1); f.driver.Now() == before {
				f.pass(before + 2)
			}
		}
		f.happen(w)
	}
	return m.alike("G7", played(flowing, p, h), f)
}

// G8Flow: all events later by the same time: the same decisions, later by that
// time.
func G8Flow(m machine, h history) error {
	p := jitteredPolicy(h)
	by := time.Duration(h.word(1) % (1 << 40))
	f := m.flows(p)
	f.pass(clock.Mark(by))
	f.play(h.steps())
	for i := range f.said {
		t := &f.said[i]
		t.At = t.At.Add(-by)
		if t.Kind == decision.Wait || t.Kind == decision.Retry {
			t.Until = t.Until.Add(-by)
		}
	}
	return m.alike("G8", played(flowing, p, h), f)
}

// L14Flow: cells of different keys are independent: the calls of a key get the same
// decisions whether or not there are calls of other keys.
func L14Flow(m machine, h history) error {
	p := drawPolicy(h.word(0)|0b11100, true)
	for i := range p.Steps {
		p.Steps[i].Per = []string{"key"}
	}
	odd := func(n int, _ string) string { return fmt.Sprint(n % 2) }
	both, alone := m.flows(p), m.flows(p)
	both.value, alone.value = odd, odd
	alone.skip = map[int]bool{}
	for n := 1; n < len(h); n += 2 {
		alone.skip[n] = true
	}
	both.play(h.steps())
	alone.play(h.steps())
	return agree("L14", both.said, alone.said, func(t told) bool {
		if t.call%2 == 0 && (t.Kind == decision.Wait || t.Kind == decision.Reject) {
			m.meet()
		}
		return t.call%2 == 0
	})
}

// flowLawLines are laws of cells that also hold for a whole policy.
var flowLawLines = []property{
	{"G1", "equal policies, seeds and events give equal decisions", G1Flow, []machine{flowing},
		machine{name: "pipeline that draws its own seed", flows: func() func(p pipeline.Policy) *flow {
			drawn := uint64(0)
			return func(p pipeline.Policy) *flow {
				drawn++
				f := newFlow(p)
				f.driver = drive.New(must(pipeline.Compile(p)), drawn)
				return f
			}
		}()}},
	{"G3", "an event before the last mark counts as at the last mark", G3Flow, []machine{flowing},
		paced("treats a mark before the last one as elapsed time", func(f *flow, to clock.Mark) {
			now := f.driver.Now()
			f.driver.Advance(max(to, now+(now-to)))
		})},
	{"G7", "with active calls: many small steps of time decide the same as one large step", G7Flow, []machine{flowing},
		paced("does not wake after a step of one nanosecond", func(f *flow, to clock.Mark) {
			if to-f.driver.Now() > 1 {
				f.driver.Advance(to)
			}
		})},
	{"G8", "with active calls: if all events are later by the same time, the decisions are the same, later by that time", G8Flow, []machine{flowing},
		driven("takes one more permit at every sixteenth mark", func(f *flow, t told) []told {
			if t.Kind == decision.Admit && t.At%16 == 0 {
				f.driver.Cancel(f.driver.Begin(&drive.Request{Cost: 1, Deadline: -1}))
				f.driver.Decisions = nil
			}
			return []told{t}
		})},
	{"L14", "cells of different keys are independent", L14Flow, []machine{flowing},
		under("uses one cell for all keys", func(p *pipeline.Policy) {
			for i := range p.Steps {
				p.Steps[i].Per = nil
			}
		})},
}

// paced is a pipeline for which time passes in another way.
func paced(name string, advance func(f *flow, to clock.Mark)) machine {
	return machine{name: "pipeline that " + name, flows: func(p pipeline.Policy) *flow {
		f := newFlow(p)
		f.advance = advance
		return f
	}}
}
