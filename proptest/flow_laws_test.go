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

// The laws of every reducer, for a whole policy with calls under way.

// alike compares all that two flows were told.
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

// G7Flow: time that passes from nanosecond to nanosecond is time that passes.
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

// L14Flow: cells of different keys know nothing of each other: who has a key is
// told the same whether or not others have another one.
func L14Flow(m machine, h history) error {
	p := drawPolicy(h.word(0)|0b11100, true)
	for i := range p.Steps {
		p.Steps[i].Per = []string{"key"}
	}
	odd := func(n int) string { return fmt.Sprint(n % 2) }
	both, alone := m.flows(p), m.flows(p)
	both.key, alone.key = odd, odd
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

// flowLawLines are laws of cells that hold for a policy as a whole as well.
var flowLawLines = []property{
	{"G1", "equal policies, seeds and events give equal decisions", G1Flow, []machine{flowing},
		machine{name: "pipeline that draws its seed by itself", flows: func() func(p pipeline.Policy) *flow {
			drawn := uint64(0)
			return func(p pipeline.Policy) *flow {
				drawn++
				f := newFlow(p)
				f.driver = drive.New(must(pipeline.Compile(p)), drawn)
				return f
			}
		}()}},
	{"G3", "an event before the last mark counts as at the last mark", G3Flow, []machine{flowing},
		paced("takes the way back for a way ahead", func(f *flow, to clock.Mark) {
			now := f.driver.Now()
			f.driver.Advance(max(to, now+(now-to)))
		})},
	{"G7", "for calls under way: time in small pieces is time in one piece", G7Flow, []machine{flowing},
		paced("does not wake for a nanosecond", func(f *flow, to clock.Mark) {
			if to-f.driver.Now() > 1 {
				f.driver.Advance(to)
			}
		})},
	{"G8", "for calls under way: everything later by the same time is told later by that time", G8Flow, []machine{flowing},
		driven("takes one permit more at every sixteenth mark of the clock", func(f *flow, t told) []told {
			if t.Kind == decision.Admit && t.At%16 == 0 {
				f.driver.Cancel(f.driver.Begin(&drive.Request{Cost: 1, Deadline: -1}))
				f.driver.Decisions = nil
			}
			return []told{t}
		})},
	{"L14", "what happens under other keys is not to be seen", L14Flow, []machine{flowing},
		under("has one cell for all keys", func(p *pipeline.Policy) {
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
