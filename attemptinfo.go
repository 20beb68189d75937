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

// AttemptInfoOf returns what is known of the attempt whose function got ctx. Where calls
// are nested it is the innermost attempt that has it. ok is false where neither
// WithAttemptInfo nor Request.Informed was given.
func AttemptInfoOf(ctx context.Context) (info AttemptInfo, ok bool) {
	i := runner.InfoOf(ctx)
	if i == nil {
		return AttemptInfo{}, false
	}
	info = AttemptInfo{Number: i.Number, Hedge: i.Hedge, LastError: i.Last, Elapsed: i.Elapsed()}
	info.Deadline, _ = ctx.Deadline()
	return info, true
}
