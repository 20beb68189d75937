package runner

import (
	"strconv"
	"testing"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
)

// TestVariants: a call has a fast path by the steps that apply to it, and clients cannot have
// more than so many variants made.
func TestVariants(t *testing.T) {
	var steps []pipeline.Step
	for i := range 8 {
		name := strconv.Itoa(i)
		steps = append(steps, pipeline.Step{
			Name: "s" + name, Config: limiter.Config{Count: 1000, Period: time.Second},
			When: condition.Condition{{All: []condition.Entry{{Attribute: "header:" + name, Values: []string{"1"}}}}},
		})
	}
	plan, err := pipeline.Compile(pipeline.Policy{Name: "p", Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	p := New("p", &Settings{}, new(Mechanisms))
	if _, err := p.Configure(plan, nil); err != nil {
		t.Fatal(err)
	}
	enter := func(mask int) (entered bool, asked int) {
		q := api.Request{Lookup: func(attribute string) string {
			if n, _ := strconv.Atoi(attribute[len("header:"):]); mask&(1<<n) != 0 {
				return "1"
			}
			return ""
		}}
		l := fastPath{ctx: t.Context(), pipeline: p}
		return l.enter(&q), int(l.entered)
	}
	for _, c := range []struct {
		mask    int
		entered bool
		asked   int
	}{{0b111, true, 3}, {0, true, 0}, {0b11111, true, 5}, {0b111111, false, 0}} {
		entered, asked := enter(c.mask)
		if entered != c.entered || asked != c.asked {
			t.Errorf("%b: entered %t at %d steps", c.mask, entered, asked)
		}
	}
	for mask := range 256 {
		enter(mask)
	}
	l := p.layout.Load()
	if n := len(*l.variants.list.Load()); n != mostVariants {
		t.Errorf("%d variants", n)
	}
	if entered, asked := enter(0b111); !entered || asked != 3 {
		t.Errorf("one that was made before: %t", entered)
	}
	if entered, _ := enter(0b10000000); entered {
		t.Error("one that is beyond the maximum")
	}
}
