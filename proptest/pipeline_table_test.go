package proptest

import (
	"slices"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// pipelineLines are the invariants of calls and of composition.
var pipelineLines = []property{
	{"G12", "each call gets exactly one end, and nothing follows it", G12, []machine{flowing},
		driven("does not tell who gave up", func(_ *flow, t told) []told {
			if t.Kind == decision.Expire {
				return nil
			}
			return []told{t}
		})},
	{"G13", "late ends are counted, each by a line of its own, and change nothing", G13Log, []machine{evaluated},
		machine{name: "eval that passes over late ends in silence", logs: uncounted}},
	{"G15", "what Metrics counts is what the callers saw, and a breaker's last change is its state", G15Metrics, []machine{observed},
		machine{name: "Metrics that do not hear who is refused", counts: func(p *sluice.Pipeline, observe func(sluice.Event)) {
			p.Listen(func(e sluice.Event) {
				if e.Kind != decision.Reject {
					observe(e)
				}
			})
		}}},
	{"L15", "several limits are atomic: one refusal leaves all others untouched", L15, []machine{flowing},
		driven("keeps what a refused call took", func(f *flow, t told) []told {
			if t.Kind == decision.Reject {
				f.driver.Cancel(f.driver.Begin(&drive.Request{Cost: 1, Deadline: -1}))
				f.driver.Decisions = nil
			}
			return []told{t}
		})},
	{"M1", "a call ends by the end of its outermost timeout", M1, []machine{flowing},
		under("takes a nanosecond longer", func(p *pipeline.Policy) {
			if i := find(*p, "whole"); i >= 0 {
				pipeline.Edit(&p.Steps[i], func(c *timeout.Config) { c.After++ })
			}
		})},
	{"M2", "a deadline leaves what was finished before it and says that it cut; whoever was told something before is told the same", M2, []machine{flowing},
		driven("passes off what was cut as whole", func(_ *flow, t told) []told {
			if t.Kind == decision.End && t.Outcome == reducer.Timeout {
				t.Outcome = reducer.OK
			}
			return []told{t}
		})},
	{"M3", "a failure stays one: a fallback that stands in for it says so, and nothing else changes", M3, []machine{flowing},
		driven("says nothing of the fallback after a vain wait", func(_ *flow, t told) []told {
			t.Fallback = t.Fallback && t.Kind != decision.Expire
			return []told{t}
		})},
	{"M4", "a refusal at step k releases k-1 ... 1 in reverse order", M4, []machine{flowing},
		machine{name: "pipeline that leaves the steps from the first on", undone: slices.Reverse[[]reducer.Action]}},
	{"M5", "the order of steps means what the policy says", M5, []machine{flowing},
		under("turns the order around", func(p *pipeline.Policy) { slices.Reverse(p.Steps) })},
	{"M5", "what stands above a retry is passed once: a breaker takes the time of the whole call, a limiter keeps what ran", M5Once, []machine{flowing},
		under("takes a nanosecond too much for fast", func(p *pipeline.Policy) {
			pipeline.Edit(&p.Steps[0], func(c *breaker.Config) { c.SlowOver++ })
		})},
	{"M6", "steps that refuse nobody change nothing", M6, []machine{flowing},
		under("has a narrow place", func(p *pipeline.Policy) {
			pipeline.Edit(&p.Steps[find(*p, "roomy")], func(c *bulkhead.Config) { c.Concurrent = 1 })
		})},
	{"M6", "a policy in two parts, one inside the other, decides as it does in one piece", M6Nested,
		[]machine{{name: "pipeline in a pipeline", nests: newNest}},
		machine{name: "pipeline in a pipeline that takes a refusal inside for a failure", nests: func(p pipeline.Policy, split int) *nest {
			n := newNest(p, split)
			n.refused = func(n *nest, call int) {
				n.outer.driver.Done(n.outer.handles[call], drive.Result{Outcome: reducer.Fail})
				n.outer.hear()
			}
			return n
		}}},
	{"R9", "a spent budget suppresses new attempts alone: what runs goes on to its end", R9, []machine{flowing},
		driven("gives up another call when the budget is spent", func(f *flow, t told) []told {
			if t.Reason == reducer.ReasonBudget {
				f.driver.Cancel(f.handles[max(0, t.call-1)])
			}
			return []told{t}
		})},
	{"M7", "shadow decides identically and enforces nothing", M7, []machine{flowing},
		under("enforces what it should watch", func(p *pipeline.Policy) {
			for i := range p.Steps {
				p.Steps[i].Shadow = false
			}
		})},
}
