package proptest

import (
	"slices"

	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
)

// pipelineLines are the invariants of calls and of composition.
var pipelineLines = []invariant{
	{"G12", "each call gets exactly one end, and nothing follows it", G12, []machine{flowing},
		driven("does not tell who gave up", func(_ *flow, t told) []told {
			if t.Kind == drive.Expire {
				return nil
			}
			return []told{t}
		})},
	{"L15", "several limits are atomic: one refusal leaves all others untouched", L15, []machine{flowing},
		driven("keeps what a refused call took", func(f *flow, t told) []told {
			if t.Kind == drive.Reject {
				f.driver.Cancel(f.driver.Begin(drive.Request{Cost: 1, Deadline: -1}))
				f.driver.Decisions = nil
			}
			return []told{t}
		})},
	{"M1", "a call ends by the end of its outermost timeout", M1, []machine{flowing},
		under("takes a nanosecond longer", func(p *pipeline.Policy) {
			if i := find(*p, "whole"); i >= 0 {
				p.Steps[i].Timeout.After++
			}
		})},
	{"M4", "a refusal at step k releases k-1 ... 1 in reverse order", M4, []machine{flowing},
		machine{name: forwards}},
	{"M5", "the order of steps means what the policy says", M5, []machine{flowing},
		under("turns the order around", func(p *pipeline.Policy) { slices.Reverse(p.Steps) })},
	{"M6", "steps that refuse nobody change nothing", M6, []machine{flowing},
		under("has a narrow place", func(p *pipeline.Policy) {
			p.Steps[find(*p, "roomy")].Bulkhead.Concurrent = 1
		})},
	{"M7", "shadow decides identically and enforces nothing", M7, []machine{flowing},
		under("enforces what it should watch", func(p *pipeline.Policy) {
			for i := range p.Steps {
				p.Steps[i].Shadow = false
			}
		})},
}
