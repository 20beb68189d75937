package proptest

import (
	"math"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// bulkheadLines are the invariants of bulkheads and queues.
var bulkheadLines = []property{
	{"K1", "in flight <= places", K1, []machine{places},
		places.made("has one place more than it says", func(c *config) { c.bulkhead.Concurrent++ })},
	{"K2", "waiting <= queue", K2, join(queued, []machine{places}),
		places.made("has a longer queue than it says", func(c *config) { c.bulkhead.Queue++ })},
	{"K3", "places are conserved, whoever gives up when", K3, []machine{places},
		places.with("loses the place of who cancels", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Cancel {
				return reducer.Answer{Verdict: reducer.Done}, nil
			}
			return s.Step(a, now)
		}))},
	{"K4", "nobody waits while there is a place", K4, []machine{places},
		places.with("does not serve who waits", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Serve {
				return reducer.Answer{}, nil
			}
			return s.Step(a, now)
		}))},
	{"K5", "served in order, and nobody overtakes", K5, join(queued, []machine{places}),
		places.made("serves the newest first and says the oldest", func(c *config) {
			c.bulkhead.Order = limiter.Newest - c.bulkhead.Order
		})},
	{"K6", "whose wait is over is never granted", K6, join(queued, []machine{places}),
		queuedBucket.with("does not hear who leaves", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Leave {
				return reducer.Answer{Verdict: reducer.Done}, nil
			}
			return s.Step(a, now)
		}))},
	{"K7", "nobody waits for longer than the longest wait", K7, join(queued, []machine{places}),
		places.made("lets wait for longer than it says", func(c *config) {
			if c.bulkhead.Wait > 0 {
				c.bulkhead.Wait++
			}
		})},
	{"K8", "a place is given back once", K8, []machine{places},
		places.with("takes any place for the last one", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Release {
				a.Generation = s.(*erased[bulkhead.State]).state.Serial
			}
			return s.Step(a, now)
		}))},
	{"K9", "the greatest sizes and times do not overflow", K9, []machine{places},
		places.with("adds up the end of a lease without a look", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if ends := now + math.MaxInt64; answer.Verdict == reducer.Admit && a.Kind == reducer.Acquire && ends < now {
				out = append(out, reducer.Effect{Kind: reducer.Lapse, Permit: answer.Permit})
			}
			return answer, out
		}))},
	{"K10", "0 means 0", K10, []machine{places},
		places.made("has a queue where none was asked for", func(c *config) { c.bulkhead.Queue = max(1, c.bulkhead.Queue) })},
}
