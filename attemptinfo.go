package sluice

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/internal/runner"
)

// AttemptInfo is what a function may know of the attempt that runs it.
type AttemptInfo = api.AttemptInfo

// WithAttemptInfo lets AttemptInfoOf read the attempts of a Pipeline, Set or Retrier,
// which costs each attempt a context. Default: only the attempts of calls with
// Request.Informed.
func WithAttemptInfo() Option {
	return func(s *settings) { s.Informs, s.given = true, s.given|optionAttemptInfo }
}

// WithDelay sets the function that returns the least delay before the retry of a Pipeline,
// Set or Retrier. It is asked about every attempt that ends as fail, throttle or timeout: its
// Number, its error in LastError, the Elapsed time and the Deadline of the caller. The next
// attempt starts after the longest of this delay, the delay of the backoff, and the retry-after
// of the answer, so that with the backoff none the function alone decides; a negative delay
// counts as 0. A delay that reaches a deadline ends the call, and an answer that asks for no
// retry is not overruled. A trace has the delay as the retry_after of the attempt, from which
// eval decides the same. The function is not asked, or its delay is not used, where a timeout
// of the policy cut the attempt: the backoff counts from the cut. Default: none.
func WithDelay(f func(AttemptInfo) time.Duration) Option {
	return func(s *settings) {
		s.Delay, s.given = f, s.given|optionDelay
	}
}

// AttemptInfoOf returns what is known of the attempt whose function got ctx. Where calls
// are nested it is the innermost attempt that has it. ok is false where neither
// WithAttemptInfo nor Request.Informed was given.
func AttemptInfoOf(ctx context.Context) (info AttemptInfo, ok bool) {
	return runner.InfoOf(ctx)
}
