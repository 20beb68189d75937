package sluice

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/internal/runner"
)

// AttemptInfo is what a function may know of the attempt that runs it.
type AttemptInfo struct {
	// Number of the attempt in its call, from 1 on.
	Number uint32
	// Hedge says that the attempt was started beside another one.
	Hedge bool
	// LastError is the error of the attempt that ended before this one began, nil for
	// none.
	LastError error
	// Elapsed is the time since the call began, waits included.
	Elapsed time.Duration
	// Deadline is when the context of the attempt ends, zero for never.
	Deadline time.Time
}

// WithAttemptInfo lets AttemptInfoOf read the attempts of a Pipeline, Set or Retrier,
// which costs each attempt a context. Default: only the attempts of calls with
// Request.Informed.
func WithAttemptInfo() Option {
	return func(s *settings) { s.Informs, s.given = true, s.given|optionAttemptInfo }
}

// WithDelay sets the function that returns the least delay before the retry of a Pipeline,
// Set or Retrier. It is asked about every attempt that ends as fail, throttle or timeout: its
// Number, its error in LastError, the Elapsed time and the Deadline of the caller. The next
// attempt starts after the longest of this delay, that of the backoff, and the retry-after of
// the answer, so that with the backoff none the function alone decides; a negative delay
// counts as 0. A delay that reaches a deadline ends the call, and an answer that asks for no
// retry is not overruled. A trace has the delay as the retry_after of the attempt, from which
// eval decides the same. The function is not asked, or its delay is not used, where a timeout
// of the policy cut the attempt: the backoff counts from the cut. Default: none.
func WithDelay(f func(AttemptInfo) time.Duration) Option {
	return func(s *settings) {
		if s.given |= optionDelay; f == nil {
			s.Delay = nil
			return
		}
		s.Delay = func(ctx context.Context, ended *runner.Info) time.Duration { return f(attemptInfo(ctx, ended)) }
	}
}

// attemptInfo returns what is known of an attempt, with the deadline of a context.
func attemptInfo(ctx context.Context, i *runner.Info) AttemptInfo {
	info := AttemptInfo{Number: i.Number, Hedge: i.Hedge, LastError: i.Last, Elapsed: i.Elapsed()}
	info.Deadline, _ = ctx.Deadline()
	return info
}

// AttemptInfoOf returns what is known of the attempt whose function got ctx. Where calls
// are nested it is the innermost attempt that has it. ok is false where neither
// WithAttemptInfo nor Request.Informed was given.
func AttemptInfoOf(ctx context.Context) (info AttemptInfo, ok bool) {
	i := runner.InfoOf(ctx)
	if i == nil {
		return AttemptInfo{}, false
	}
	return attemptInfo(ctx, i), true
}
