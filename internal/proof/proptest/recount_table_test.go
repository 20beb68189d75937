package proptest

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/reducer"
)

// recountLines are invariants that compare a machine with a second way to count.
var recountLines = []property{
	{"L7", "GCRA = token bucket = leaky bucket as a meter", L7, []machine{bucket},
		bucket.made("rounds its interval down", func(c *config) { c.limit.Period -= c.limit.Period % 4 })},
	{"L10", "a sliding counter admits by its formula, in exact integers", L10, []machine{sliding},
		sliding.made("has a longer window than it says", func(c *config) { c.limit.Period++ })},
	{"L12", "a queue before a burst of one is a leaky queue: departures an interval apart, in order; a caller is dropped exactly when the queue is full or its turn is too late", L12,
		[]machine{queuedBucket}, queuedBucket.made("serves two waiters at once", func(c *config) { c.limit.Burst++ })},
	{"B8", "the sums of the window equal a naive recount", B8, breakers,
		timed.with("loses an outcome at every seventh mark", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Record && now%7 == 6 {
				a.Outcome = reducer.Ignore
			}
			return s.Step(a, now)
		}))},
	{"R8", "retries <= minimum + ratio x first attempts, in the window", R8, []machine{spending},
		spending.with("forgets every fifth retry", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Acquire && now%5 == 4 {
				a.Kind = reducer.Peek
			}
			return s.Step(a, now)
		}))},
	{"R12", "a bucket of tokens grants exactly the retries that its tokens pay for: no more than the full bucket and what successes returned", R12, []machine{tokens},
		tokens.with("returns what a failed attempt took", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Release && a.Outcome == reducer.Fail && a.ID > 0 {
				a.Outcome = reducer.OK
			}
			return s.Step(a, now)
		}))},
	{"R13", "an adaptive budget grants no further attempt beyond the number that the share of failures and the wait allow", R13, []machine{adapting},
		adapting.with("counts a timeout as no failure", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Release && a.Outcome == reducer.Timeout {
				a.Outcome = reducer.OK
			}
			return s.Step(a, now)
		}))},
	{"R10", "a first attempt counts when it starts, a retry when it is granted; neither counts as the other", R10, []machine{flowing},
		driven("counts a retry also as a first attempt", func(f *flow, t told) []told {
			if t.Kind == decision.Admit && t.Attempt > 1 {
				f.driver.Cancel(f.driver.Begin(&drive.Request{Deadline: -1}))
				f.driver.Decisions = nil
			}
			return []told{t}
		})},
}
