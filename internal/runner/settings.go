package runner

import (
	"context"
	"log/slog"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/reducer"
)

// Settings are shared by all that one constructor makes. They are immutable.
type Settings struct {
	Source     clock.Source // nil for the machine's clock
	Seed       uint64
	RequestID  func(context.Context) string // of a request that has none; nil for none
	MaxKeys    int                          // of a step, 0 for as many as its plan says
	RefuseLate bool                         // the value of a function that succeeds after its deadline
	Informs    bool                         // the contexts of all attempts have an AttemptInfo
	Logger     *slog.Logger                 // of events and errors; nil for none, and slog.Default for errors
	// Meaning returns what the options say that an error means, 0 for nothing. own says that
	// the error has an outcome besides. nil where no option says what errors mean.
	Meaning func(err error, own bool) reducer.Outcome
	// Classifier decides about results where Request.Classify is nil; nil for none.
	Classifier api.Classifier
	// Delay returns the least delay of a retry after an attempt, whose error is the LastError;
	// nil for none.
	Delay func(ended api.AttemptInfo) time.Duration
}

// Delayed returns the retry delay of an attempt that ended with an error: the delay of its
// answer, or the one that Delay returns where that is longer. An answer that asks for no retry
// has none. The call began at a mark.
func (s *Settings) Delayed(
	ctx context.Context, number uint32, hedge bool, err error, began clock.Mark,
	o reducer.Outcome, hasRetryAfter bool, after time.Duration,
) (has bool, _ time.Duration) {
	if !retry.Retries(o) || hasRetryAfter && after < 0 {
		return hasRetryAfter, after
	}
	ended := info{number: number, hedge: hedge, last: err, clock: s, began: began}
	return true, max(after, s.Delay(ended.at(ctx)))
}

// Now returns the present mark: one time.Since without a source.
func (s *Settings) Now() clock.Mark {
	if s.Source != nil {
		// Always and Never are no marks at which anything happens.
		return min(max(s.Source.Now(), clock.Always+1), clock.Never-1)
	}
	return attempt.Now()
}

// Epoch returns the wall time of mark 0 since 1970.
func (s *Settings) Epoch() time.Duration {
	if s.Source == nil {
		return attempt.Epoch()
	}
	if dated, ok := s.Source.(clock.Dated); ok {
		return time.Duration(max(0, dated.Epoch().UnixNano()))
	}
	return max(0, (time.Duration(time.Now().UnixNano()) - time.Duration(s.Now())).Round(time.Second))
}

// AttemptPanicked logs a panic of an attempt on a goroutine of its own.
func (s *Settings) AttemptPanicked(policy string, attempt uint32, value any, stack []byte) {
	s.ErrorLogger().LogAttrs(context.Background(), slog.LevelError, "sluice: an attempt panicked", slog.String("policy", policy),
		slog.Uint64("attempt", uint64(attempt)), slog.Any("value", value), slog.String("stack", string(stack)))
}

// ListenerPanicked logs a panic of a listener, which is removed.
func (s *Settings) ListenerPanicked(value any, stack []byte) {
	s.ErrorLogger().LogAttrs(context.Background(), slog.LevelError, "sluice: a listener panicked and was removed",
		slog.Any("value", value), slog.String("stack", string(stack)))
}

// ErrorLogger returns what logs panics and failed reloads.
func (s *Settings) ErrorLogger() *slog.Logger {
	if s.Logger != nil {
		return s.Logger
	}
	return slog.Default()
}

// Cancelled returns the error of a caller whose context is over, nil for one
// whose context is not.
func Cancelled(ctx context.Context, last error) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); last != nil || cause != err {
		return &api.CancelError{Err: err, Cause: cause, Last: last}
	}
	return err
}

// cost returns the permits that a call asks for.
func cost(q *api.Request) uint32 {
	switch q.Cost {
	case 0:
		return 1
	case api.NoCost:
		return 0
	}
	return q.Cost
}

// deadline returns the mark by which a call that begins now ends, clock.Never for none.
func deadline(ctx context.Context, q *api.Request, now clock.Mark) clock.Mark {
	at := clock.Never
	if q.Timeout > 0 {
		at = now.Add(q.Timeout)
	}
	if end, ok := ctx.Deadline(); ok {
		at = min(at, now.Add(time.Until(end)))
	}
	return at
}

// attributes returns the function that looks up the attributes of a request.
func attributes(q *api.Request) func(attribute string) string {
	return func(attribute string) string {
		if attribute == "key" {
			return q.Key
		}
		if q.Lookup == nil {
			return ""
		}
		return q.Lookup(attribute)
	}
}
