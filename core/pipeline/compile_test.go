package pipeline_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

var (
	cut   = pipeline.Step{Config: timeout.Config{After: 10 * time.Second, Soft: 8 * time.Second}}
	tries = pipeline.Step{Config: retry.Config{Attempts: 2, Backoff: backoff.Config{Kind: backoff.Constant, Base: time.Second}}}
	race  = pipeline.Step{Config: hedge.Config{After: time.Second}}
	limit = pipeline.Step{Config: limiter.Config{Count: 1, Period: time.Second}}
)

// unknown is a configuration of no mechanism.
type unknown struct{}

func (unknown) Kind() pipeline.Kind { return 99 }

func named(s pipeline.Step, name string) pipeline.Step {
	s.Name = name
	return s
}

func TestCompileErrors(t *testing.T) {
	many := make([]pipeline.Step, pipeline.MaxSteps+1)
	for i := range many {
		many[i] = cut
	}
	for want, p := range map[string]pipeline.Policy{
		"steps: a policy has 1 to 16 steps, or Pass": {Steps: many},
		"pass: a policy with steps has none":         {Pass: true, Steps: many[:1]},
		"steps: one may be a retry":                  {Steps: []pipeline.Step{tries, named(tries, "again")}},
		"steps: one may be a hedge":                  {Steps: []pipeline.Step{race, named(race, "again")}},
		"steps: a hedge is below the retry":          {Steps: []pipeline.Step{race, tries}},
		"steps: a chaos is the last step":            {Steps: []pipeline.Step{{Config: chaos.Config{}}, cut}},
		"steps[1].chaos.fail: found 100.0001%; allowed at most 100% with fail, throttle and ignore together":                     {Steps: []pipeline.Step{cut, {Config: chaos.Config{Fail: reducer.Millionths(reducer.Whole + 1)}}}},
		"fallback.status: found 700; allowed 100 to 599":                                                                         {Steps: []pipeline.Step{cut}, Fallback: &fallback.Config{Status: 700}},
		"steps[1].timeout.after: found 0s; allowed more than 0":                                                                  {Steps: []pipeline.Step{cut, {Config: timeout.Config{}}}},
		"steps[0].retry.attempts: found 1001; allowed 1 to 1000":                                                                 {Steps: []pipeline.Step{{Config: retry.Config{Attempts: 1001}}}},
		"steps[0].breaker.window.calls: found 10001; allowed 1 to 10000":                                                         {Steps: []pipeline.Step{{Config: breaker.Config{Count: 10_001}}}},
		"steps[0].limit.rate.count: found 0; allowed 1 to 1000000000\nsteps[0].limit.rate.period: found 0s; allowed more than 0": {Steps: []pipeline.Step{{Config: limiter.Config{}}}},
		"steps[0].bulkhead.concurrent: found 0; allowed 1 to 1000000":                                                            {Steps: []pipeline.Step{{Config: bulkhead.Config{}}}},
		"steps[0].unknown.kind: found 99; allowed a configuration of this package, not a pointer to one":                         {Steps: []pipeline.Step{{Config: unknown{}}}},
		"steps[1].limit.name: another step has it":                                                                               {Steps: []pipeline.Step{named(cut, "limit"), limit}},
		"steps[0].timeout.name: deadline is reserved":                                                                            {Steps: []pipeline.Step{named(cut, pipeline.Deadline)}},
		"steps[0].limit.algorithm: found 9; allowed TokenBucket, FixedWindow, SlidingCounter, SlidingLog or LeakyBucket":         {Steps: []pipeline.Step{{Config: limiter.Config{Algorithm: 9}}}},
	} {
		_, err := pipeline.Compile(p)
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	// All errors are reported, not the first alone.
	_, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Config: timeout.Config{}}, limit, {Config: bulkhead.Config{}, Keys: 5, Name: "limit"}}})
	const want = `steps[0].timeout.after: found 0s; allowed more than 0
steps[2].bulkhead.concurrent: found 0; allowed 1 to 1000000
steps[2].bulkhead.keys: found 5; allowed keys, when_full and missing beside per alone
steps[2].bulkhead.name: another step has it`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := pipeline.Compile(pipeline.Policy{}); err == nil {
		t.Error("a policy without steps compiles")
	}
	var config *reducer.ConfigError
	if _, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Config: limiter.Config{}}}}); !errors.As(err, &config) || config.Field != "rate.count" {
		t.Errorf("%v hides the mechanism's own error", err)
	}
}

// A plan has accessors for drivers and for people.
func TestPlan(t *testing.T) {
	plan, err := pipeline.Compile(pipeline.Policy{Name: "vendor", Steps: []pipeline.Step{cut, tries, limit, limit, cut}, Fallback: &fallback.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"timeout", "retry", "limit", "limit-2", "timeout-2"} {
		if plan.StepName(i) != want || plan.Step(i).Name != want {
			t.Errorf("step %d is %s, want %s", i, plan.StepName(i), want)
		}
	}
	if plan.Name() != "vendor" || plan.Fallback().Status != 503 || plan.StepName(-1) != "deadline" || plan.Shadow(-1) || plan.RetryIndex() != 1 {
		t.Errorf("%s %+v %s %d", plan.Name(), plan.Fallback(), plan.StepName(-1), plan.RetryIndex())
	}
	var c pipeline.Call
	plan.Begin(&c, 1, clock.Never, 0)
	if plan.SoftAt(&c, 0, 0) != clock.Never {
		t.Error("a timeout warns before it is passed")
	}
	plan.Skip(&c.Attempt, 0, 5)
	if got := plan.DeadlineAt(&c, 0, 0); got != clock.Mark(10*time.Second+5) || plan.DeadlineAt(&c, 0, 1) != clock.Never {
		t.Errorf("it cuts at %v", got)
	}
	c.Held, c.Phantom = 0b01100, 0b10000
	if got := plan.Holds(&c, 0, 4, 2); got != 0b01100 {
		t.Errorf("a leave of 3 and 2 concerns %b", got)
	}
	if got := plan.SoftAt(&c, 0, 0); got != clock.Mark(8*time.Second+5) || plan.SoftAt(&c, 0, 1) != clock.Never {
		t.Errorf("it warns at %v", got)
	}
}

// A plan compiles again from its policy, of which nothing is lost.
func TestPlanHasItsPolicy(t *testing.T) {
	all := condition.Condition{{All: []condition.Entry{{Attribute: "key", Values: []string{"a"}}}}}
	policy := pipeline.Policy{Name: "vendor", Steps: []pipeline.Step{named(cut, "a"), named(limit, "b")}, Fallback: &fallback.Config{Status: 500}, Allow: all, Deny: all}
	if v := reflect.ValueOf(policy); v.NumField() != 6 {
		t.Errorf("a policy has %d fields; this test knows 6", v.NumField())
	}
	for _, p := range []pipeline.Policy{policy, {Name: "open", Pass: true, Allow: all}} {
		plan, err := pipeline.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := pipeline.Compile(plan.Policy())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(plan.Policy(), again.Policy()) || !reflect.DeepEqual(again.Policy().Deny, p.Deny) || !reflect.DeepEqual(again.Policy().Allow, p.Allow) || again.Policy().Pass != p.Pass || len(again.Policy().Steps) != len(p.Steps) {
			t.Errorf("%+v is %+v", p, again.Policy())
		}
		if len(p.Steps) > 0 {
			plan.Policy().Steps[0].Name = "other"
			if plan.StepName(0) != "a" {
				t.Error("the steps are those of the plan")
			}
		}
	}
}
