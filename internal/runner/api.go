package runner

import (
	"context"
	"time"

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
	Informs    bool                         // the contexts of all attempts have an Info
	API        API
	// Classifier decides about results where Request.Classify is nil; nil for none.
	Classifier func(step string, value any, err error) reducer.Outcome
	// Delay returns the least delay of a retry after an attempt, whose error is the Last of
	// the Info; nil for none.
	Delay func(ctx context.Context, ended *Info) time.Duration
}

// Delayed returns the retry delay of an attempt that ended: that of its answer, or the one
// that Delay returns where that is longer. An answer that asks for no retry has none.
func (s *Settings) Delayed(ctx context.Context, ended *Info, o reducer.Outcome, hasRetryAfter bool, after time.Duration) (has bool, _ time.Duration) {
	if !retry.Retries(o) || hasRetryAfter && after < 0 {
		return hasRetryAfter, after
	}
	return true, max(after, s.Delay(ctx, ended))
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

// API makes the errors of the public package and classifies those of functions.
type API interface {
	// Classify returns what an error of a function means, and the retry delay
	// that it carries, if any.
	Classify(ctx context.Context, err error) (o reducer.Outcome, hasRetryAfter bool, after time.Duration)
	// ClassifyResult is Classify for a value and an error that a function of the caller
	// decides about, for a step or, where that is empty, for the attempt. It returns
	// the error of the attempt.
	ClassifyResult(ctx context.Context, classify func(step string, value any, err error) reducer.Outcome, step string, value any, err error) (o reducer.Outcome, hasRetryAfter bool, after time.Duration, last error)
	// Rejected is the error of a call that a step refused.
	Rejected(policy, step string, r Rejection, last error) error
	// TimedOut is the error of a call that a timeout step cut.
	TimedOut(policy, step string, last error) error
	// GaveUp is the error of a retry that makes no further attempt. earlier are the errors
	// of attempts before the last one.
	GaveUp(policy, step string, why reducer.Reason, note string, attempts int, last error, earlier []error) error
	// Cancelled is the error of a caller that gave up while no attempt was
	// running. last is nil before the first attempt.
	Cancelled(ctx context.Context, last error) error
	// Injected is the error of an attempt that a chaos step ended. after is 0 where the
	// step names no retry delay.
	Injected(policy, step string, o reducer.Outcome, after time.Duration) error
	// Panicked logs a panic of an attempt on a goroutine of its own.
	Panicked(policy string, attempt uint32, value any, stack []byte)
	// ListenerPanicked logs a panic of a listener, which is removed.
	ListenerPanicked(value any, stack []byte)
}

// Rejection is why a step refused a call.
type Rejection struct {
	Reason reducer.Reason
	// RetryAfter is negative where none is known.
	RetryAfter time.Duration
	Waited     bool // in the queue of the step
}

// Request mirrors the Request of the public package.
type Request struct {
	Key      string
	ID       string
	Cost     uint32
	Lookup   func(attribute string) string
	NoRetry  string
	NoHedge  string
	Holdable bool
	Abandon  func()
	Discard  func(value any)
	Stalled  func() bool
	Timeout  time.Duration
	Attempts uint32
	Classify func(step string, value any, err error) reducer.Outcome
	Informed bool
}

// NoCost is the cost of a call that takes nothing from any limiter.
const NoCost = 1<<32 - 1

// cost returns the permits that the call asks for.
func (q *Request) cost() uint32 {
	switch q.Cost {
	case 0:
		return 1
	case NoCost:
		return 0
	}
	return q.Cost
}

// deadline returns the mark by which a call that begins now ends, clock.Never for none.
func (q *Request) deadline(ctx context.Context, now clock.Mark) clock.Mark {
	at := clock.Never
	if q.Timeout > 0 {
		at = now.Add(q.Timeout)
	}
	if end, ok := ctx.Deadline(); ok {
		at = min(at, now.Add(time.Until(end)))
	}
	return at
}

// lookup returns an attribute of the request.
func (q *Request) lookup(attribute string) string {
	if attribute == "key" {
		return q.Key
	}
	if q.Lookup == nil {
		return ""
	}
	return q.Lookup(attribute)
}
