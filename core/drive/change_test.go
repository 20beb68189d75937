package drive

import (
	"testing"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// A breaker of an older plan, at which a call ends, changes no step of the active one:
// neither the step of its place nor one that does not exist.
func TestChangesAreOfTheActivePlan(t *testing.T) {
	opens := breaker.Config{Window: breaker.Consecutive, Count: 1}.WithDefaults()
	limit := pipeline.Step{Name: "limit", Config: limiter.Config{Count: 5, Period: 10}}
	trips := pipeline.Step{Name: "breaker", Config: opens}
	for name, c := range map[string]struct {
		then []pipeline.Step
		want []string
	}{
		"stays":          {[]pipeline.Step{limit, trips}, []string{"breaker"}},
		"moves":          {[]pipeline.Step{trips, limit}, []string{"breaker"}},
		"removed":        {[]pipeline.Step{limit}, nil},
		"removed, moved": {[]pipeline.Step{{Name: "other", Config: limit.Config}, limit}, nil},
	} {
		plan := func(steps []pipeline.Step) *pipeline.Plan {
			plan, err := pipeline.Compile(pipeline.Policy{Steps: steps})
			if err != nil {
				t.Fatal(err)
			}
			return plan
		}
		d := New(plan([]pipeline.Step{limit, trips}), 0)
		d.Changes = true
		h := d.Begin(&Request{Cost: 1, Deadline: -1})
		d.Configure(plan(c.then))
		d.Done(h, Result{Outcome: reducer.Fail})
		var got []string
		for _, x := range d.Decisions {
			if x.Kind == decision.Change {
				got = append(got, x.Step)
			}
		}
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
			t.Errorf("%s: changes of %q instead of %q", name, got, c.want)
		}
	}
}
