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
	{"K1", "the places of those in flight <= places", K1, []machine{places, shared},
		places.made("has one more place than configured", func(c *config) { c.bulkhead.Concurrent++ })},
	{"K1", "a call takes as many places as its cost", K1, []machine{places, shared},
		places.with("counts a call of any cost as one place", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Acquire || a.Kind == reducer.TryAcquire {
				a.Cost = 1
			}
			return s.Step(a, now)
		}))},
	{"K2", "waiting <= queue", K2, join(queued, []machine{places}),
		places.made("has a longer queue than configured", func(c *config) { c.bulkhead.Queue++ })},
	{"K3", "places are conserved, whenever a caller cancels", K3, []machine{places, shared},
		places.with("never frees the place of a cancelled permit", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Cancel {
				return reducer.Answer{Verdict: reducer.Done}, nil
			}
			return s.Step(a, now)
		}))},
	{"K4", "no caller waits while the places of the next one are free", K4, []machine{places},
		places.with("does not serve its queue", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Serve {
				return reducer.Answer{}, nil
			}
			return s.Step(a, now)
		}))},
	{"K4", "a waiter is served when its places are free, not only when all are", K4, []machine{places},
		places.with("serves its queue only while no place is held", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Serve && s.Look().held > 0 {
				return reducer.Answer{}, nil
			}
			return s.Step(a, now)
		}))},
	{"K5", "waiters are served in order, and no newcomer overtakes", K5, join(queued, []machine{places}),
		places.made("serves the newest first in place of the oldest", func(c *config) {
			c.bulkhead.Order = limiter.Newest - c.bulkhead.Order
		})},
	{"K6", "a wait that is over is never granted", K6, join(queued, []machine{places}),
		queuedBucket.with("ignores cancelled waits", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Leave {
				return reducer.Answer{Verdict: reducer.Done}, nil
			}
			return s.Step(a, now)
		}))},
	{"K7", "no wait is longer than the maximum wait", K7, join(queued, []machine{places}),
		places.made("allows longer waits than configured", func(c *config) {
			if c.bulkhead.Wait > 0 {
				c.bulkhead.Wait++
			}
		})},
	{"K8", "a place is released once", K8, []machine{places, shared},
		places.with("releases the latest place in place of the named one", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Release {
				a.Generation = s.(*erased[bulkhead.State]).state.Serial
			}
			return s.Step(a, now)
		}))},
	{"K9", "the greatest sizes and times do not overflow", K9, []machine{places, shared},
		places.with("computes the end of a lease without a check for overflow", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if ends := now + math.MaxInt64; answer.Verdict == reducer.Admit && a.Kind == reducer.Acquire && ends < now {
				out = append(out, reducer.Effect{Kind: reducer.Lapse, Permit: answer.Permit})
			}
			return answer, out
		}))},
	{"K10", "0 means 0", K10, []machine{places, shared},
		places.made("has a queue though 0 is configured", func(c *config) { c.bulkhead.Queue = max(1, c.bulkhead.Queue) })},
}
