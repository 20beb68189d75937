package sluice

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// AbortOn names errors of a function that no retry follows and no breaker counts, as
// OutcomeIgnore: those that errors.Is finds to be one of them. The call returns them as they
// are. It applies to a Pipeline, Set, Breaker, Retrier or Hedger, with keys or without, and comes before RetryOn
// and WithClassify. An error that is an Outcomer has its own outcome, except the
// RejectedError and the TimeoutError of a policy or mechanism inside the function. Given
// twice, both lists hold.
func AbortOn(errs ...error) Option {
	return func(s *settings) {
		s.aborts, s.given = append(s.aborts, errs...), s.given|optionAbortOn
		s.named("AbortOn", errs)
	}
}

// RetryOn names the errors of a function that a retry follows and breakers count, as
// OutcomeFail: those that errors.Is finds to be one of them. Every other error has the outcome
// that WithClassify returns or, without it, OutcomeIgnore: no retry follows, and no breaker
// counts it. It applies where AbortOn applies. An error that is an Outcomer has its own
// outcome, except the RejectedError and the TimeoutError of a policy or mechanism inside the
// function where they are named. Given twice, both lists hold.
func RetryOn(errs ...error) Option {
	return func(s *settings) {
		s.retries, s.given = append(s.retries, errs...), s.given|optionRetryOn
		s.named("RetryOn", errs)
	}
}

// named notes a list of errors that names none.
func (s *settings) named(option string, errs []error) {
	if len(errs) == 0 || slices.Contains(errs, nil) {
		s.wrong = errors.Join(s.wrong, fmt.Errorf("sluice: %s: found %v; allowed one error or more, none of them nil", option, errs))
	}
}

// meaning returns what the options say that an error means, 0 for nothing. own says that the
// error has an outcome besides.
func (s *settings) meaning(err error, own bool) reducer.Outcome {
	is := func(named error) bool { return errors.Is(err, named) }
	switch {
	case slices.ContainsFunc(s.aborts, is):
		return reducer.Ignore
	case slices.ContainsFunc(s.retries, is):
		return reducer.Fail
	}
	if s.classify != nil {
		if o := runner.Classified(s.classify(err)); o != 0 {
			return o
		}
	}
	if s.retries != nil && !own {
		return reducer.Ignore
	}
	return 0
}
