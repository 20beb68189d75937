package chaos

import (
	"math/bits"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable chaos step. Its state is the seed of the call, which the call
// keeps.
type Machine struct{ config Config }

// New validates the configuration.
func New(c Config) (*Machine, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Machine{config: c}, nil
}

// Injection is what a step injects into one attempt. The zero value is nothing.
type Injection struct {
	// Delay is the latency before the dependency is called, or before the attempt ends
	// with Outcome. 0 for none.
	Delay time.Duration
	// Outcome with which the attempt ends without the dependency: Fail, Throttle or
	// Ignore. 0 for none.
	Outcome reducer.Outcome
	// RetryAfter of a Throttle, 0 for none.
	RetryAfter time.Duration
}

// Nothing reports whether the attempt runs as without the step.
func (x Injection) Nothing() bool { return x.Delay == 0 && x.Outcome == 0 }

// apart separates the words of injections from the words of the jitter of the same call,
// whose numbers of rounds are below it.
const apart = 1 << 31

// gamma is the distance between two states of SplitMix64.
const gamma = 0x9e3779b97f4a7c15

// Draw returns the injection of an attempt, counted from 1, of the call with a seed.
func (m *Machine) Draw(seed uint64, attempt uint32) (x Injection) {
	// The attempt is added to a word, not to the seed: the attempts of a call draw other
	// words than a log with the next seed.
	c, state := &m.config, backoff.Word(seed+apart)+uint64(attempt)
	switch part := millionth(backoff.Word(state)); {
	case part < c.Fail.Millionths():
		x.Outcome = reducer.Fail
	case part < c.Fail.Millionths()+c.Throttle.Millionths():
		x.Outcome, x.RetryAfter = reducer.Throttle, c.RetryAfter
	case part < c.Fail.Millionths()+c.Throttle.Millionths()+c.Ignore.Millionths():
		x.Outcome = reducer.Ignore
	}
	state += gamma
	if millionth(backoff.Word(state)) < c.Slow.Millionths() {
		state += gamma
		x.Delay = c.By + backoff.Draw(backoff.Word(state), max(c.By, c.To)-c.By)
	}
	return x
}

// millionth returns floor(u x 10^6 / 2^64).
func millionth(u uint64) uint32 {
	part, _ := bits.Mul64(u, uint64(reducer.Whole))
	return uint32(part)
}
