package runner

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/reducer"
)

// Classify returns what an error of a function means, and the retry delay that it carries, if
// any.
func (s *Settings) Classify(ctx context.Context, err error) (o reducer.Outcome, hasRetryAfter bool, after time.Duration) {
	if err == nil {
		return reducer.OK, false, 0
	}
	var own api.Outcomer
	outcomer := errors.As(err, &own)
	inner, refused := own.(*api.RejectedError)
	_, late := own.(*api.TimeoutError)
	var carrier api.RetryAfterer
	switch {
	case late: // what an attempt inside asked for before the cut is none of the timeout's
	case refused:
		after, hasRetryAfter = inner.Delay()
	case errors.As(err, &carrier):
		after, hasRetryAfter = carrier.RetryAfter()
	}
	if outcomer && !(s.Meaning != nil && (refused || late)) {
		if o = Classified(own.Outcome()); o != 0 {
			return o, hasRetryAfter, after
		}
	}
	// An error that looks like a cancellation may be the attempt's own; only
	// the caller's context says whether the caller cancelled.
	if errors.Is(ctx.Err(), context.Canceled) {
		return reducer.Cancelled, false, 0
	}
	if s.Meaning != nil {
		if o = s.Meaning(err, refused || late); o != 0 {
			return o, hasRetryAfter, after
		}
		if refused || late {
			return own.Outcome(), hasRetryAfter, after
		}
	}
	return reducer.Fail, hasRetryAfter, after
}

// ClassifyResult is Classify for a value and an error that a function of the caller decides
// about, for a step or, where that is empty, for the attempt. It returns the error of the
// attempt.
func (s *Settings) ClassifyResult(
	ctx context.Context, classify api.Classifier, step string, value any, err error,
) (o reducer.Outcome, hasRetryAfter bool, after time.Duration, last error) {
	o, hasRetryAfter, after = s.Classify(ctx, err)
	if o == reducer.Cancelled {
		return o, hasRetryAfter, after, err
	}
	if other := Classified(classify(step, value, err)); other != 0 {
		o = other
	}
	if err != nil || o != reducer.Fail && o != reducer.Throttle {
		return o, hasRetryAfter, after, err
	}
	if carrier, ok := value.(api.RetryAfterer); ok {
		after, hasRetryAfter = carrier.RetryAfter()
	}
	return o, hasRetryAfter, after, &api.ResultError{Result: o}
}

// Classified returns what the answer of a Classifier means: 0, so that others decide, for a
// value that is no outcome. A timeout is one of the function's own, which is a failure.
func Classified(o reducer.Outcome) reducer.Outcome {
	switch {
	case o == reducer.Timeout:
		return reducer.Fail
	case o > reducer.Cancelled:
		return 0
	}
	return o
}
