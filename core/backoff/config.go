package backoff

import (
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// Kind names how a delay grows with the attempts.
type Kind uint8

// The kinds.
const (
	// None does not delay.
	None Kind = iota
	// Constant is Base each time.
	Constant
	// Linear is Base times the attempt.
	Linear
	// Exponential is Base times Factor to the power of the attempt less one.
	Exponential
	// Fibonacci is Base times 1, 1, 2, 3, 5, 8 ...
	Fibonacci
	// Decorrelated is drawn between Base and three times the delay before.
	Decorrelated
	// Listed is the delay of Delays that belongs to the attempt.
	Listed
)

// JitterKind names how randomness changes a delay d.
type JitterKind uint8

// The kinds of jitter.
const (
	// NoJitter keeps d.
	NoJitter JitterKind = iota
	// Full draws from 0 to d.
	Full
	// Equal keeps one half of d and draws the other.
	Equal
	// Fraction draws from d less Share to d plus Share.
	Fraction
)

// Factor multiplies a delay, in millionths: 2_000_000 doubles it.
type Factor uint32

// FactorOne keeps the delay as it is.
const FactorOne Factor = 1_000_000

// MaxFactor is the greatest factor, one thousand.
const MaxFactor Factor = 1_000_000_000

// Config is the configuration of a backoff.
type Config struct {
	Kind Kind
	// Base delay, more than 0. 0 for None and Listed.
	Base time.Duration
	// Factor of Exponential, 1 to MaxFactor.
	Factor Factor
	// Max cuts every delay before jitter, at least Base. 0 means no cut; 0 for Listed.
	Max time.Duration
	// Delays of Listed, 1 to MaxDelays, each 0 or more. Empty for other kinds.
	Delays List
	// Jitter of the delay. NoJitter when Kind is None or Decorrelated.
	Jitter JitterKind
	// Share of Fraction, more than 0 and at most the whole.
	Share reducer.Share
}
