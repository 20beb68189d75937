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
		retrying("counts retries in place of attempts", func(n nexter, s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict) {
			s.Attempt--
			next, v := n(s, e, now)
			next.Attempt++
			return next, v
		})},
	{"R2", "0 <= delay <= maximum x (1 + jitter's share), for any attempt", R2, []machine{backing},
		delaying("adds without a check for overflow", func(d delayer, attempt uint32, before time.Duration, u uint64) time.Duration {
			return d(attempt, before, u) + 1
		})},
	{"R3", "the nominal delay does not decrease, up to the maximum, except in a list of delays", R3, []machine{backing},
		delaying("shifts by the attempt modulo the width of a word", func(d delayer, attempt uint32, before time.Duration, u uint64) time.Duration {
			return d(attempt%64, before, u)
		})},
	{"R4", "jitter stays in its interval and reaches its ends", R4, []machine{backing},
		delaying("never draws the longest delay", func(d delayer, attempt uint32, before time.Duration, u uint64) time.Duration {
			return d(attempt, before, u>>1)
		})},
	{"R5", "no attempt is scheduled at or after the deadline", R5, []machine{trying},
		retrying("compares the deadline with the start of the delay", func(n nexter, s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict) {
			if now < e.Deadline {
				e.Deadline = clock.Never
			}
			return n(s, e, now)
		})},
	{"R6", "the answer's retry-after is the minimum of the delay, or ends the call with its reason", R6, []machine{trying},
		retrying("ignores the answer's retry-after", func(n nexter, s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict) {
			e.Told = e.Told && e.RetryAfter < 0
			return n(s, e, now)
		})},
	{"R7", "a success and an outcome that is not retried end the call", R7, []machine{trying},
		retrying("retries a cancelled attempt", func(n nexter, s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict) {
			if e.Outcome == reducer.Cancelled {
				e.Outcome = reducer.Fail
			}
			return n(s, e, now)
		})},
	{"R11", "no attempt is scheduled at or after the end of the longest time", R11, []machine{trying},
		retrying("counts the longest time from the end of the attempt", func(n nexter, s retry.State, e retry.End, now clock.Mark) (retry.State, retry.Verdict) {
			e.Began = now
			return n(s, e, now)
		})},
}
