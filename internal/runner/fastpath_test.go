package runner

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
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
