package proptest

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// with1 returns the defect of a Step.
func with1(step stepper) mutant { return mutant{step: step} }

// limitLines are the invariants of rate limiters and of queues.
var limitLines = []property{
	{"L1", "any window of length W admits at most burst + W / interval", L1, []machine{bucket, queuedBucket, newestBucket, warming, queuedWarming},
		bucket.made("has one more permit in its burst than configured", func(c *config) { c.limit.Burst++ })},
	{"L1", "a refund, early or late, does not raise that bound", L1, []machine{bucket, queuedBucket},
		bucket.with("refunds a whole permit, also what has refilled since", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Cancel && a.Cost > 0 {
				nudge(s, -4*time.Duration(a.Cost))
				return reducer.Answer{Verdict: reducer.Done}, nil
			}
			return s.Step(a, now)
		}))},
	{"L2", "retry-after is exact: refused before it, not refused at it", L2, join(algorithms, queued, []machine{calls, timed, consecutive}),
		queuedSliding.with("returns a retry-after that is a nanosecond too long", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if answer.Verdict == reducer.Reject && answer.Reason == reducer.ReasonWait {
				answer.Mark++
			}
			return answer, out
		}))},
	{"L2", "a retry-after with a spread is the exact one, or later by at most the spread of a window", L2Spread, []machine{spreading},
		spreading.made("spreads over twice the share", func(c *config) { c.limit.Spread = reducer.Percent(80) })},
	{"L3", "a refusal changes nothing but the last mark", ahead(L3), join(algorithms, queued, breakers, []machine{places}),
		sliding.with("counts refused requests", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if answer.Reason == reducer.ReasonRate && a.Kind != reducer.Peek {
				charge(s, now)
			}
			return answer, out
		}))},
	{"L4", "0 <= free <= capacity, and every debt is repaid in bounded time", L4, join(algorithms, queued),
		fixed.with("never ends its window", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if w := s.(*erased[limiter.State]).state.Window(); w.End > 0 {
				nudge(s, max(w.End, now).Sub(w.End)+60)
			}
			return answer, out
		}))},
	{"L5", "a cost of n is n costs of 1 at one instant, all or nothing", aheadOf(ofLimit(L5)), bursts,
		bucket.with("takes the free permits when they are too few", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			for a.Kind == reducer.TryAcquire && a.Cost > 1 {
				if answer, out := s.Step(a, now); answer.Verdict == reducer.Admit {
					return answer, out
				}
				a.Cost--
			}
			return s.Step(a, now)
		}))},
	{"L6", "a refusal of a cost above the capacity has its own reason and no retry-after", aheadOf(ofLimit(L6)), join(algorithms, queued),
		fixed.with("returns a retry-after for it", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if answer.Reason == reducer.ReasonCapacity && a.Kind == reducer.Peek {
				answer.Mark = now + 1
			}
			return answer, out
		}))},
	{"L8", "a fixed window admits at most its count, and any interval of its length at most twice that", L8, []machine{fixed, queuedFixed},
		fixed.with("ends its window early", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if s.(*erased[limiter.State]).state.Window().End == now+2 {
				nudge(s, -1)
			}
			return answer, out
		}))},
	{"L9", "a sliding log admits at most its count in every window of its period, wherever it begins", L9, []machine{logged, queuedLog},
		logged.made("forgets an admission a nanosecond early", func(c *config) { c.limit.Period-- })},
	{"L12", "calls leave a leaky bucket in order, each at least its cost in intervals after the previous one", L12Leaky, []machine{leaky, queuedLeaky},
		leaky.with("counts from the arrival of the previous call", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if answer.Verdict == reducer.Admit && a.Cost > 0 {
				nudge(s, -1)
			}
			return answer, out
		}))},
	{"L11", "intervals are half open, everywhere alike", L11, join([]machine{bucket, fixed, sliding, logged, leaky}, breakers, []machine{places}),
		calls.with("is still open at the end of its time", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if s.Look().breaker.Mode == 1 && s.Look().breaker.OpenUntil == now {
				now--
			}
			return s.Step(a, now)
		}))},
	{"L13", "reserve and cancel leave no trace; a later cancel delays no other caller", L13, bursts,
		bucket.with("loses a nanosecond at each cancel", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if a.Kind == reducer.Cancel {
				nudge(s, 1)
			}
			return answer, out
		}))},
	{"L13", "any number of asks, each refunded at its mark, leave the state bit for bit as one leaves it", L13Bits, []machine{bucket, leaky, logged, warming},
		warming.with("cools down by a nanosecond at each refund", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if a.Kind == reducer.Cancel {
				nudge(s, 1)
			}
			return answer, out
		}))},
	{"L14", "a new state in place of a fresh one decides the same", L14, join(algorithms, queued, []machine{calls, consecutive, large, places}),
		queuedFixed.with("reports fresh while its window is open", mutant{fresh: func(s subject, now clock.Mark) bool { return len(s.Look().waiters) == 0 }})},
	{"L14", "a breaker without outcomes is not fresh, or a new one in its place decides the same", L14Unvoted, breakers,
		timed.with("reports fresh until its first outcome", mutant{fresh: func(s subject, now clock.Mark) bool {
			return strings.HasPrefix(s.Text(now), "closed failed 0/0")
		}})},
	{"L16", "after a long time without use exactly the capacity is admitted", L16, join(bursts, []machine{queuedBucket, queuedFixed, queuedSliding, queuedLog, newestBucket}),
		bucket.made("admits one more permit after a long idle time", func(c *config) { c.limit.Burst++ })},
	{"L21", "a charge leaves a debt of at most the capacity, whatever was used, and what it does not take is told", L21, join(algorithms, []machine{queuedBucket, queuedWarming}),
		bucket.with("takes whatever was used", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if n := answer.Dropped(); a.Kind == reducer.Settle && n > 0 {
				nudge(s, time.Duration(min(n, 1<<40)))
				answer.ID = 0
			}
			return answer, out
		}))},
	{"G13", "late, duplicate and unknown ends are stale and change nothing", G13, join([]machine{places, queuedBucket, newestBucket}, breakers),
		places.with("accepts a permit that it did not grant", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if a.Kind == reducer.Release {
				answer.Verdict = reducer.Done
			}
			return answer, out
		}))},
	{"G14", "acquires = admitted + refused + dropped + cancelled + waiting", G14, join(queued, []machine{places}),
		newestBucket.with("drops a waiter and emits no effect", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if a.Kind == reducer.Acquire {
				out = nil
			}
			return answer, out
		}))},
}

// spreading is a fixed window with a spread.
var spreading = func() machine {
	m := limit("fixed window with a spread", limiter.FixedWindow, alone)
	plain := m.draw
	m.draw = func(h history) config {
		c := plain(h)
		c.limit.Spread = reducer.Percent(40)
		return c
	}
	return m
}()

// L2Spread: with a spread a call is not refused at its retry-after, and is refused, when
// nothing else happens, a nanosecond more than the spread of a window before it.
func L2Spread(m machine, h history) error {
	r, c := rigged(m, h)
	most := clock.Mark(c.limit.Spread.Of(c.limit.Period))
	for _, w := range h.steps() {
		before := len(r.log)
		r.next(w)
		for _, x := range r.log[before:] {
			at, told := x.answer.RetryAt()
			if !told || x.at != r.now || x.action.Kind == reducer.Peek || x.action.Kind == reducer.Reserve {
				continue
			}
			m.meet()
			if got := r.again(x.action, at); got.answer.Verdict == reducer.Reject {
				return fmt.Errorf("L2: %s, but %s", x, got)
			}
			if early := at - most - 1; early >= x.at {
				if got := r.again(x.action, early); got.answer.Verdict != reducer.Reject {
					return fmt.Errorf("L2: %s, but %s", x, got)
				}
			}
		}
	}
	return r.err
}
