package linearizability

import (
	"slices"
	"testing"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
)

// keyedStep draws a step with a cell for each key.
func keyedStep(kind pipeline.Kind) func(h *history) []pipeline.Step {
	return func(h *history) []pipeline.Step {
		all := steps(h)
		i := slices.IndexFunc(all, func(s pipeline.Step) bool { return s.Kind() == kind })
		all[i].Per = []string{"key"}
		return all[i : i+1]
	}
}

// sharedStep is keyedStep where new keys share a cell: without queues, whose
// turns they would share, and windows, which would begin when another key's do.
func sharedStep(kind pipeline.Kind) func(h *history) []pipeline.Step {
	return func(h *history) []pipeline.Step {
		all := keyedStep(kind)(h)
		s := &all[0]
		pipeline.Edit(s, func(c *limiter.Config) { c.Algorithm, c.Wait, c.Queue = limiter.TokenBucket, 0, 0 })
		pipeline.Edit(s, func(c *bulkhead.Config) { c.Wait, c.Queue = 0, 0 })
		s.WhenFull = keyed.FullShare
		return all
	}
}

// TestPipelineKeys tests the cells of keys, with room for all of them and
// without. A breaker that keys share counts the outcomes of all, and may be stricter
// or looser than a breaker of each key.
func TestPipelineKeys(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			room := piping(keyedStep(kind), 3, 3, nil)
			t.Run("bubble", func(t *testing.T) { linearizable(t, bubbles, 300, room) })
			t.Run("clock", func(t *testing.T) { linearizable(t, virtual, 300, room) })
			t.Run("of several pipelines", func(t *testing.T) {
				linearizable(t, bubbles, 200, piping(shared(keyedStep(kind)), 3, 3, nil))
			})
			few := piping(keyedStep(kind), 2, 3, nil)
			t.Run("evicted in a bubble", func(t *testing.T) { linearizable(t, bubbles, 300, few) })
			t.Run("evicted by clock", func(t *testing.T) { linearizable(t, virtual, 300, few) })
			if kind == mechanism.Breaker {
				return
			}
			none := piping(sharedStep(kind), 2, 4, nil)
			t.Run("shared in a bubble", func(t *testing.T) { linearizable(t, bubbles, 300, none) })
			t.Run("shared by clock", func(t *testing.T) {
				linearizable(t, virtual, 300, none)
			})
		})
	}
}

var kinds = map[string]pipeline.Kind{"breaker": mechanism.Breaker, "limit": mechanism.Limit, "bulkhead": mechanism.Bulkhead}
