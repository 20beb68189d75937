package proptest

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// retryLines are the invariants of backoff, retries and their budget.
var retryLines = []property{
	{"R1", "attempts <= 1 + retries", R1, []machine{trying},
		retrying("counts retries where it should count attempts", func(n nexter, s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict) {
			s.Attempt--
			next, v := n(s, e, now)
			next.Attempt++
			return next, v
		})},
	{"R2", "0 <= delay <= cap x (1 + jitter's share), for any attempt", R2, []machine{backing},
		delaying("adds up without a look", func(d delayer, attempt uint32, before time.Duration, u uint64) time.Duration {
			return d(attempt, before, u) + 1
		})},
	{"R3", "the nominal delay does not decrease, up to its cap", R3, []machine{backing},
		delaying("shifts by the attempt modulo the width of a word", func(d delayer, attempt uint32, before time.Duration, u uint64) time.Duration {
			return d(attempt%64, before, u)
		})},
	{"R4", "jitter stays in its interval and reaches its ends", R4, []machine{backing},
		delaying("never draws the longest delay", func(d delayer, attempt uint32, before time.Duration, u uint64) time.Duration {
			return d(attempt, before, u>>1)
		})},
	{"R5", "nothing is scheduled at or behind the deadline", R5, []machine{trying},
		retrying("looks at the deadline before the delay", func(n nexter, s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict) {
			if now < e.Deadline {
				e.Deadline = clock.Never
			}
			return n(s, e, now)
		})},
	{"R6", "the answer's own retry-after is a floor, or ends the call with the reason", R6, []machine{trying},
		retrying("hammers", func(n nexter, s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict) {
			e.Told = e.Told && e.RetryAfter < 0
			return n(s, e, now)
		})},
	{"R7", "success and what is not worth it stop", R7, []machine{trying},
		retrying("tries again what was cancelled", func(n nexter, s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict) {
			if e.Outcome == reducer.Cancelled {
				e.Outcome = reducer.Fail
			}
			return n(s, e, now)
		})},
}
