package sluice

import (
	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/reducer"
)

// Classifier decides what a result means.
type Classifier = api.Classifier

// ClassifyAs returns a Classifier for values of one type. It leaves results with values
// of other types to what is decided without it.
func ClassifyAs[T any](f func(step string, value T, err error) reducer.Outcome) Classifier {
	return func(step string, value any, err error) reducer.Outcome {
		typed, ok := value.(T)
		if !ok && value != nil {
			return 0
		}
		return f(step, typed, err)
	}
}

// WithClassifyResult sets the function that classifies the results of functions guarded
// by a Pipeline or Set, or by a Breaker or Retrier alone, which is as a pipeline of that one
// step: a Retrier calls it with an empty step, a Breaker with an empty step and then with
// "breaker". A function without a value has the value nil. A value that is called a failure or a throttle without an error
// gets a ResultError; where it is a RetryAfterer, that is the retry delay. Default: an
// error is classified by WithClassify, and a value without an error is a success.
func WithClassifyResult(f Classifier) Option {
	return func(s *settings) { s.Classifier, s.given = f, s.given|optionClassifyResult }
}

// ResultError is the error of an attempt whose function returned a value that a Classifier
// called a failure.
type ResultError = api.ResultError

// LastValue returns the last value without an error where the call ended because a
// Classifier called that value a failure; all other results stay as they are. It takes
// the results of a call:
//
//	page, err := sluice.LastValue(sluice.Do(ctx, p, fetch))
func LastValue[T any](value T, err error) (T, error) {
	for last := err; ; {
		switch e := last.(type) {
		case *ResultError:
			return value, nil
		case *RetryError:
			last = e.Err
		default:
			return value, err
		}
	}
}
