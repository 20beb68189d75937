package runner

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// The fast path refuses a call itself where no call waits at the step. A refusal by a
// run is the same and costs three times as much, so no test of decisions sees it.
func TestWhereTheFastPathRefuses(t *testing.T) {
	for _, c := range []struct {
		config mechanism.Config
		want   bool
	}{
		{limiter.Config{Count: 1, Period: time.Second}, false},
		{limiter.Config{Count: 1, Period: time.Second, Wait: time.Second, Queue: 1}, true},
		{bulkhead.Config{Concurrent: 1}, false},
		{bulkhead.Config{Concurrent: 1, Queue: 1}, true},
		{breaker.Config{Window: breaker.Consecutive, Count: 1}, false},
		{adaptive.Config{Minimum: 1, Initial: 1, Maximum: 1}, false},
	} {
		plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Config: c.config}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := queues(plan.Step(0)); got != c.want {
			t.Errorf("%+v: calls wait: %t", c.config, got)
		}
	}
}

// TestSlowPlans: the calls of a plan have a fast path where the plan allows one.
func TestSlowPlans(t *testing.T) {
	limit := limiter.Config{Count: 1, Period: time.Second}
	costly := limiter.Config{Count: 9, Period: time.Second, Cost: limiter.Cost{Permits: 3}}
	settled := limiter.Config{Count: 9, Period: time.Second, Cost: limiter.Cost{Permits: 3}, Charge: limiter.ChargeSettle}
	half := condition.Share{Of: reducer.Percent(50)}
	some := condition.Condition{{All: []condition.Entry{{Attribute: "host", Values: []string{"a"}}}}}
	for name, c := range map[string]struct {
		steps []pipeline.Step
		fast  bool
	}{
		"a limit":          {[]pipeline.Step{{Config: limit}}, true},
		"a timeout":        {[]pipeline.Step{{Config: timeout.Config{After: time.Second}}, {Config: limit}}, true},
		"a condition":      {[]pipeline.Step{{Config: limit, When: some}}, true},
		"a shadow":         {[]pipeline.Step{{Config: limit, Shadow: true}}, true},
		"a share":          {[]pipeline.Step{{Config: limit, Enforce: half}}, false},
		"a hedge":          {[]pipeline.Step{{Config: hedge.Config{After: time.Second}}, {Config: limit}}, false},
		"chaos":            {[]pipeline.Step{{Config: limit}, {Config: chaos.Config{Fail: reducer.Percent(1)}}}, false},
		"a lease":          {[]pipeline.Step{{Config: bulkhead.Config{Concurrent: 1, Lease: time.Second}}}, false},
		"no lease":         {[]pipeline.Step{{Config: bulkhead.Config{Concurrent: 1}}}, true},
		"a cost":           {[]pipeline.Step{{Config: costly}}, false},
		"a settled charge": {[]pipeline.Step{{Config: settled}}, false},
	} {
		plan, err := pipeline.Compile(pipeline.Policy{Name: "p", Steps: c.steps})
		if err != nil {
			t.Fatal(name, err)
		}
		p := New("p", &Settings{}, new(Mechanisms))
		if _, err := p.Configure(plan, nil); err != nil {
			t.Fatal(name, err)
		}
		l := p.layout.Load()
		if plan.Fast() != c.fast || (l.hasFastPath || l.variants != nil) != c.fast {
			t.Errorf("%s: plan fast: %t, calls fast: %t", name, plan.Fast(), l.hasFastPath || l.variants != nil)
		}
	}
}
