package sluice

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/mechanism"
)

// Must returns what a constructor made, and panics with its error: for policies and mechanisms
// whose settings are part of the program.
//
//	var prices = sluice.Must(sluice.NewLimiter(sluice.LimiterConfig{Count: 50, Period: time.Second}))
func Must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

// Config is the configuration of a mechanism: a RetryConfig, for example.
type Config = mechanism.Config

// PolicyOf returns a policy whose steps are the configurations, the outermost first, each
// with the name of its mechanism. Policy and Step have the settings beside them.
func PolicyOf(name string, steps ...Config) Policy {
	p := Policy{Name: name, Steps: make([]Step, len(steps))}
	for i, c := range steps {
		p.Steps[i].Config = c
	}
	return p
}

// Exponential returns a backoff that doubles from base to at most most, 0 for no bound, with
// full jitter, as a document has it. Fields of the result change it.
func Exponential(base, most time.Duration) BackoffConfig {
	return BackoffConfig{Kind: backoff.Exponential, Base: base, Factor: backoff.DefaultFactor, Max: most, Jitter: backoff.Full}
}

// Constant returns a backoff that delays by d each time, without jitter. Fields of the result
// change it.
func Constant(d time.Duration) BackoffConfig {
	return BackoffConfig{Kind: backoff.Constant, Base: d}
}

// Factor multiplies a delay, as of FactorOf.
type Factor = backoff.Factor

// FactorOf returns the factor of an exponential backoff: FactorOf(1.5) adds half of a delay
// to the next one. It has six digits after the point. A number outside 1 to 1,000 has no
// factor: a constructor that gets the result returns an error.
func FactorOf(f float64) Factor {
	millionths := math.Round(f * float64(backoff.FactorOne))
	if !(millionths >= 1 && millionths <= float64(backoff.MaxFactor)) {
		return math.MaxUint32
	}
	return Factor(millionths)
}
