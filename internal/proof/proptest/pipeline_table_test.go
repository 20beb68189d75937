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
		driven("does not end a call that its caller cancelled", func(_ *flow, t told) []told {
			if t.Kind == decision.Expire {
				return nil
			}
			return []told{t}
		})},
	{"G13", "late ends are counted, each in its own line, and change nothing", G13Log, []machine{evaluated},
		machine{name: "eval that prints no line for a late end", logs: uncounted}},
	{"G15", "the counts of Metrics are what the callers observed, and the last change of a breaker is its state", G15Metrics, []machine{observed},
		machine{name: "Metrics that receive no event of a refusal", counts: func(p *sluice.Pipeline, observe func(sluice.Event)) {
			p.Listen(func(e sluice.Event) {
				if e.Kind != decision.Reject {
					observe(e)
				}
			})
		}}},
	{"L15", "several limits are atomic: one refusal leaves all others unchanged", L15, []machine{flowing},
		driven("keeps the permits of a refused call", func(f *flow, t told) []told {
			if t.Kind == decision.Reject {
				f.driver.Cancel(f.driver.Begin(&drive.Request{Cost: 1, Deadline: -1}))
				f.driver.Decisions = nil
			}
			return []told{t}
		})},
	{"M1", "a call ends no later than its outermost timeout", M1, []machine{flowing},
		under("waits a nanosecond longer", func(p *pipeline.Policy) {
			if i := find(*p, "whole"); i >= 0 {
				pipeline.Edit(&p.Steps[i], func(c *timeout.Config) { c.After++ })
			}
		})},
	{"M2", "a deadline keeps what finished before it and says that it cut the call; decisions before it stay the same", M2, []machine{flowing},
		driven("reports a call that was cut as complete", func(_ *flow, t told) []told {
			if t.Kind == decision.End && t.Outcome == reducer.Timeout {
				t.Outcome = reducer.OK
			}
			return []told{t}
		})},
	{"M3", "a failure stays a failure: a fallback that replaces it says so, and nothing else changes", M3, []machine{flowing},
		driven("does not report the fallback after a wait that timed out", func(_ *flow, t told) []told {
			t.Fallback = t.Fallback && t.Kind != decision.Expire
			return []told{t}
		})},
	{"M4", "a refusal at step k releases k-1 ... 1 in reverse order", M4, []machine{flowing},
		machine{name: "pipeline that leaves the steps in their order", undone: slices.Reverse[[]reducer.Action]}},
	{"M5", "steps apply in the order of the policy", M5, []machine{flowing},
		under("reverses the order", func(p *pipeline.Policy) { slices.Reverse(p.Steps) })},
	{"M5", "a step above a retry is entered once: a breaker measures the whole call, and a limiter keeps the permit of a call that ran", M5Once, []machine{flowing},
		under("counts a call that is a nanosecond too slow as fast", func(p *pipeline.Policy) {
			pipeline.Edit(&p.Steps[0], func(c *breaker.Config) { c.SlowOver++ })
		})},
	{"M6", "steps that refuse no call change nothing", M6, []machine{flowing},
		under("has an additional step that refuses calls", func(p *pipeline.Policy) {
			pipeline.Edit(&p.Steps[find(*p, "roomy")], func(c *bulkhead.Config) { c.Concurrent = 1 })
		})},
	{"M6", "a policy that is nested in another one decides as both do in one policy", M6Nested,
		[]machine{{name: "nested pipeline", nests: newNest}},
		machine{name: "nested pipeline that counts a refusal of the inner part as a failure", nests: func(p pipeline.Policy, split int) *nest {
			n := newNest(p, split)
			n.refused = func(n *nest, call int) {
				n.outer.driver.Done(n.outer.handles[call], drive.Result{Outcome: reducer.Fail})
				n.outer.collect()
			}
			return n
		}}},
	{"R9", "a spent budget only suppresses new attempts: attempts that run continue to their end", R9, []machine{flowing},
		driven("cancels another call when the budget is spent", func(f *flow, t told) []told {
			if t.Reason == reducer.ReasonBudget {
				f.driver.Cancel(f.handles[max(0, t.call-1)])
			}
			return []told{t}
		})},
	{"M7", "a step in shadow decides identically and enforces nothing", M7, []machine{flowing},
		under("enforces a step in shadow", func(p *pipeline.Policy) {
			for i := range p.Steps {
				p.Steps[i].Shadow = false
			}
		})},
}
