package proptest

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/timeout"
)

// Policies that share mechanisms.

// severalLines are the invariants of policies that share mechanisms.
var severalLines = []property{
	{"M6", "calls spread over policies that share all their steps decide as calls of one", M6Shared,
		[]machine{{name: "three pipelines that share", flows: spread(true)}},
		machine{name: "three pipelines that have cells of their own", flows: spread(false)}},
	{"L1", "calls of all policies that share a limit are within its bound", L1Shared,
		[]machine{{name: "three pipelines that share", joins: joined(true)}},
		machine{name: "three pipelines that have cells of their own", joins: joined(false)}},
}

// spread returns what makes the flow of three policies with the same steps, of which each
// call takes the next one.
func spread(share bool) func(p pipeline.Policy) *flow {
	return func(p pipeline.Policy) *flow {
		f := newFlow(withMechanisms(p, share))
		drivers := joined(share)(p, p, p)
		f.driver = drivers[0]
		f.next = func(n int) *drive.Driver { return drivers[n%3] }
		return f
	}
}

// joined returns what makes the drivers of policies in one loop.
func joined(share bool) func(policies ...pipeline.Policy) []*drive.Driver {
	return func(policies ...pipeline.Policy) (all []*drive.Driver) {
		for _, p := range policies {
			plan := must(pipeline.Compile(withMechanisms(p, share)))
			if len(all) == 0 {
				all = append(all, drive.New(plan, 0))
			} else {
				all = append(all, all[0].Join(plan, 0))
			}
		}
		return all
	}
}

// withMechanisms returns a policy whose steps share mechanisms of their names.
func withMechanisms(p pipeline.Policy, share bool) pipeline.Policy {
	p.Steps = append([]pipeline.Step(nil), p.Steps...)
	for i := range p.Steps {
		if share {
			p.Steps[i].Mechanism = p.Steps[i].Name
		}
	}
	return p
}

// M6Shared: calls spread over policies that share all their steps decide as calls of one.
func M6Shared(m machine, h history) error {
	p := drawPolicy(h.word(0), true)
	return m.alike("M6", played(flowing, p, h), played(m, p, h))
}

// L1Shared: in any window the calls of all policies that share a token bucket are at most its
// burst and what refills.
func L1Shared(m machine, h history) error {
	limit := limiter.Config{Count: 1, Period: time.Duration(1 + h.word(0)%20), Burst: uint32(1 + h.word(0)>>8%4)}
	bucket := pipeline.Step{Name: "bucket", Config: limit}
	drivers := m.joins(
		pipeline.Policy{Name: "a", Steps: []pipeline.Step{bucket}},
		pipeline.Policy{Name: "b", Steps: []pipeline.Step{{Name: "wide", Config: bulkhead.Config{Concurrent: 1000}}, bucket}},
		pipeline.Policy{Name: "c", Steps: []pipeline.Step{bucket, {Name: "long", Config: timeout.Config{After: time.Hour}}}},
	)
	var at []clock.Mark
	for _, w := range h.steps() {
		d := drivers[w>>40%3]
		d.Advance(d.Now() + pause(w))
		d.Begin(&drive.Request{Cost: 1, Deadline: -1})
		for i := range d.Decisions {
			if d.Decisions[i].Kind == decision.Admit {
				at = append(at, d.Decisions[i].At)
			}
		}
		d.Decisions = nil
	}
	for i := range at {
		for j := i; j < len(at); j++ {
			m.meet()
			if most := int64(limit.Burst) + int64(at[j].Sub(at[i])/limit.Period); int64(j-i+1) > most {
				return fmt.Errorf("L1: %d calls from %v to %v, where %d are allowed", j-i+1, at[i], at[j], most)
			}
		}
	}
	return nil
}
