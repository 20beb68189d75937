package sluice

import (
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"math/rand/v2"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// DefaultMaxKeys is how many keys a KeyedLimiter has a cell for at the most.
const DefaultMaxKeys = 100_000

// Option changes how a runner runs. Options never change decisions. Each says to
// what it applies; a constructor returns an error for one that has no effect.
type Option func(*settings)

// settings are shared by all that one constructor makes. They are immutable.
type settings struct {
	runner.Settings
	attach   func(*emitter) // adds the listener of WithLogger; nil for none
	classify func(error) reducer.Outcome
	shared   *runner.Mechanisms // of WithMechanisms, nil for none
	shadow   bool               // of WithShadow
	given    optionSet
	aborts   []error // of AbortOn
	retries  []error // of RetryOn
	wrong    error   // of an option
}

// optionSet is a set of options.
type optionSet uint16

const (
	optionClock optionSet = 1 << iota
	optionSeed
	optionLogger
	optionClassify
	optionMaxKeys
	optionRefuseLate
	optionRequestID
	optionClassifyResult
	optionAttemptInfo
	optionDelay
	optionMechanisms
	optionAbortOn
	optionRetryOn
	optionShadow
)

// optionClassifies are the options that say what errors mean.
const optionClassifies = optionClassify | optionAbortOn | optionRetryOn

var optionNames = [...]string{"WithClock", "WithSeed", "WithLogger", "WithClassify", "WithMaxKeys", "WithRefuseLate", "WithRequestID", "WithClassifyResult", "WithAttemptInfo", "WithDelay", "WithMechanisms", "AbortOn", "RetryOn", "WithShadow"}

// newSettings applies the options. Those that have no effect on what is made are
// an error.
func newSettings(made string, effective optionSet, options []Option) (*settings, error) {
	s := applied(options)
	if s.wrong != nil {
		return nil, s.wrong
	}
	if idle := s.given &^ effective; idle != 0 {
		return nil, fmt.Errorf("sluice: %s has no effect on a %s", optionNames[bits.TrailingZeros16(uint16(idle))], made)
	}
	return s, nil
}

// applied returns the settings that the options make.
func applied(options []Option) *settings {
	s := &settings{}
	s.Seed = rand.Uint64() // jitter differs between processes and needs no secret
	for _, option := range options {
		if option != nil {
			option(s)
		}
	}
	if s.given&optionClassifies != 0 {
		s.Meaning = s.meaning
	}
	return s
}

// WithClock takes marks from the source instead of the machine's monotonic
// clock. The source must not panic or call back into the mechanism. Waits still
// sleep in real time for as long as the marks say, so a test of waits uses
// testing/synctest rather than a virtual source. It applies to everything.
func WithClock(source clock.Source) Option {
	return func(s *settings) { s.Source, s.given = source, s.given|optionClock }
}

// WithSeed fixes the seed of all jitter of a Pipeline, Set, Retrier, KeyedRetrier or Hedger. Default:
// drawn at the start.
func WithSeed(seed uint64) Option {
	return func(s *settings) { s.Seed, s.given = seed, s.given|optionSeed }
}

// WithLogger logs the events of everything: changes of breakers, changes by hand and steps
// that have their maximum of keys at level warn, panics of listeners and of hedged attempts
// on goroutines of their own at level error, all other events except admissions at level
// debug. Default: none, and slog.Default for those panics.
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) {
		s.Logger, s.given, s.attach = logger, s.given|optionLogger, nil
		if logger != nil {
			s.attach = func(m *emitter) { m.listen(logs(logger), loggedKinds()) }
		}
	}
}

// WithRequestID sets the function that returns the identifier of a request from the
// context of its call, for Event.Request: a trace or correlation id, for example. It is
// called for every event of a call whose Request.ID is empty, so it must be fast; empty
// means none. It applies to everything.
// Default: Request.ID alone.
func WithRequestID(f func(context.Context) string) Option {
	return func(s *settings) { s.RequestID, s.given = f, s.given|optionRequestID }
}

// WithClassify sets the function that classifies the errors of a function guarded by
// a Pipeline, Set, Breaker, Retrier or Hedger, with keys or without: Fail is retried and breakers count it, Throttle
// is retried and not counted, Ignore is neither, OK is a success. 0, and any other value
// that is no outcome, is the outcome without f. It is not called for
// an error that is an Outcomer, except the RejectedError and the TimeoutError of a
// policy or mechanism inside the function. Where f panics, the panic goes on to the caller,
// and the error counts as Fail. Default: every error is Fail.
func WithClassify(f func(error) reducer.Outcome) Option {
	return func(s *settings) { s.classify, s.given = f, s.given|optionClassify }
}

// WithShadow has a mechanism alone decide without effect, as a step in shadow does: it takes
// what it would take, tells a refusal or a wait by an event with Shadow, and lets the call run
// at once. A breaker does not count a call that it would have refused, and a retrier makes one
// attempt. It applies to a Limiter, KeyedLimiter, Breaker, Bulkhead, Retrier and those with
// keys; a Pipeline has Step.Shadow. Default: the mechanism decides.
func WithShadow() Option {
	return func(s *settings) { s.shadow, s.given = true, s.given|optionShadow }
}

// WithMaxKeys bounds the keys of a KeyedLimiter and of the other mechanisms with keys, where a new key above the maximum
// takes the place of the least recently used one. In a Pipeline or Set it bounds the
// keys of each step with `per` whose setting `keys` is higher. Default:
// DefaultMaxKeys in a KeyedLimiter, else `keys` alone. Values below 1 count as 1,
// those above keyed.MaxKeys as keyed.MaxKeys.
func WithMaxKeys(n int) Option {
	return func(s *settings) { s.MaxKeys, s.given = max(1, n), s.given|optionMaxKeys }
}

// WithRefuseLate discards the value of a function that succeeds after a timeout of
// its Pipeline has cut it, and returns the TimeoutError. Default: the value is
// returned; breakers count the timeout in both cases.
func WithRefuseLate() Option {
	return func(s *settings) { s.RefuseLate, s.given = true, s.given|optionRefuseLate }
}

// Mechanisms are named mechanisms that several pipelines share: one limit, one breaker or
// one budget for all of them. The zero value has none. It is safe for concurrent use. A
// mechanism ends with the last of its pipelines.
type Mechanisms struct{ shared runner.Mechanisms }

// WithMechanisms has pipelines share what their steps name as Step.Mechanism, or what the
// section mechanisms of their documents has: equal names are one mechanism. The pipeline that
// was made or configured last gives its settings, and the other pipelines take them over. It
// applies to a Pipeline or Set. Default: the policies of a Set share their mechanisms, and a
// Pipeline alone shares none.
func WithMechanisms(m *Mechanisms) Option {
	return func(s *settings) {
		if s.shared, s.given = nil, s.given|optionMechanisms; m != nil {
			s.shared = &m.shared
		}
	}
}
