package backoff

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// maxDuration is the longest duration, at which every delay saturates.
const maxDuration = 1<<63 - 1

// Machine is an immutable backoff. It has no state: a delay is a function of
// the attempt, the delay before and one random word.
type Machine struct{ config Config }

// New validates the configuration.
func New(c Config) (*Machine, error) {
	var e reducer.ConfigErrors
	known, none := c.Kind <= Listed, c.Kind == None || c.Kind == Listed
	base := none && (c.Base != 0 || c.Max != 0 || c.Factor != 0)
	e.Count(!known, "backoff", uint64(c.Kind), "a kind of this package")
	e.Duration(base, "backoff", c.Base, "no base, max and factor beside None and Listed")
	e.Count(c.Kind != Listed && c.Delays != List{}, "backoff.delays", uint64(c.Delays.Len()), "no delays beside other kinds than Listed")
	if c.Kind == Listed {
		e.Add(c.Delays.check())
	}
	e.Duration(known && !none && c.Base <= 0, "backoff", c.Base, "more than 0")
	e.Duration(!base && (c.Max < 0 || c.Max > 0 && c.Max < c.Base), "backoff.max", c.Max, "at least the base, or 0 for no cut")
	e.Count(c.Kind == Exponential && (c.Factor < FactorOne || c.Factor > MaxFactor), "backoff.factor", uint64(c.Factor), "1000000 to 1000000000 millionths, so that 2000000 doubles the delay")
	jitter := c.Jitter <= Fraction && (c.Jitter == NoJitter || c.Kind != None && c.Kind != Decorrelated)
	e.Count(c.Jitter > Fraction, "jitter", uint64(c.Jitter), "a kind of this package")
	e.Count(c.Jitter <= Fraction && !jitter, "jitter", uint64(c.Jitter), "no jitter beside this backoff")
	e.Share(jitter && c.Jitter == Fraction && (!c.Share.Positive() || c.Share.Millionths() > reducer.Whole), "jitter", c.Share, "more than 0% and at most 100%")
	if err := e.Err(); err != nil {
		return nil, err
	}
	return &Machine{config: c}, nil
}

// Random reports whether a delay depends on the random word.
func (m *Machine) Random() bool {
	return m.config.Kind == Decorrelated || m.config.Jitter != NoJitter
}

// Nominal returns the delay after the attempt (1 for the first), at most Max, without
// jitter. It saturates at the longest duration. Decorrelated gives its base.
func (m *Machine) Nominal(attempt uint32) time.Duration {
	c := &m.config
	attempt = max(1, attempt)
	var d time.Duration
	switch c.Kind {
	case Constant, Decorrelated:
		d = c.Base
	case Linear:
		d = times(c.Base, uint64(attempt))
	case Exponential:
		d = c.exponential(attempt)
	case Fibonacci:
		d = c.fibonacci(attempt)
	case Listed:
		d = c.Delays.after(attempt)
	}
	return c.cut(d)
}

// Longest returns the longest nominal delay after the first n attempts. The delays of
// Decorrelated have no nominal one beside the base.
func (m *Machine) Longest(n uint32) time.Duration {
	if m.config.Kind == Listed {
		return m.config.Delays.longest(n)
	}
	return m.Nominal(n)
}

// Delay returns the delay after the attempt with its jitter. before is the
// delay of the attempt before, 0 for none. u is the random word.
func (m *Machine) Delay(attempt uint32, before time.Duration, u uint64) time.Duration {
	c := &m.config
	d := m.Nominal(attempt)
	if c.Kind == Decorrelated {
		if before <= 0 {
			before = c.Base
		}
		// A delay that another configuration drew may be shorter than the base.
		return c.Base + Draw(u, max(c.Base, c.cut(times(before, 3)))-c.Base)
	}
	switch c.Jitter {
	case Full:
		return Draw(u, d)
	case Equal:
		half := d / 2
		return half + Draw(u, d-half)
	case Fraction:
		hi, lo := bits.Mul64(uint64(d), uint64(c.Share.Millionths()))
		part, _ := bits.Div64(hi, lo, uint64(reducer.Whole))
		v := time.Duration(part)
		return saturate(uint64(d-v), uint64(Draw(u, saturate(part, part))))
	}
	return d
}

// Word returns the random word of a seed: the first output of SplitMix64
// (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
// It is part of the format and does not change.
func Word(seed uint64) uint64 {
	z := seed + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Draw returns floor(u x (n+1) / 2^64): a duration from 0 to n that the random word u
// chooses. n is 0 or more.
func Draw(u uint64, n time.Duration) time.Duration {
	hi, _ := bits.Mul64(u, uint64(n)+1)
	return time.Duration(hi)
}

// cut keeps a delay below Max.
func (c *Config) cut(d time.Duration) time.Duration {
	if c.Max > 0 {
		return min(d, c.Max)
	}
	return d
}

// exponential returns the exact product of base and power, rounded down.
func (c *Config) exponential(attempt uint32) time.Duration {
	if c.Factor%FactorOne != 0 {
		p := powerOf(c.Factor, attempt-1, c.Base)
		return p.times(c.Base)
	}
	d, factor := c.Base, uint64(c.Factor/FactorOne)
	for i := uint32(1); i < attempt && factor > 1 && d < maxDuration; i++ {
		d = times(d, factor)
	}
	return d
}

func (c *Config) fibonacci(attempt uint32) time.Duration {
	a, b := uint64(0), uint64(1)
	for i := uint32(1); i < attempt; i++ {
		a, b = b, a+b
		if b > maxDuration {
			return maxDuration
		}
	}
	return times(c.Base, b)
}

// times returns d x n, at most the longest duration.
func times(d time.Duration, n uint64) time.Duration {
	hi, lo := bits.Mul64(uint64(d), n)
	if hi != 0 {
		return maxDuration
	}
	return saturate(lo, 0)
}

// saturate returns a + b, at most the longest duration.
func saturate(a, b uint64) time.Duration {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 || sum > maxDuration {
		return maxDuration
	}
	return time.Duration(sum)
}

var kindNames = [...]string{"none", "constant", "linear", "exponential", "fibonacci", "decorrelated", "delays"}

// String returns the word of the policy document.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// String shows the backoff as the policy document writes it.
func (c Config) String() string {
	if c.Kind == None {
		return "none"
	}
	text := c.Kind.String() + " " + c.Base.String()
	if c.Kind == Listed {
		text = c.Kind.String() + " " + c.Delays.String()
	}
	if c.Kind == Exponential {
		text += " factor " + strconv.FormatFloat(float64(c.Factor)/float64(FactorOne), 'f', -1, 64)
	}
	if c.Max > 0 {
		text += " max " + c.Max.String()
	}
	switch c.Jitter {
	case Full:
		text += ", full jitter"
	case Equal:
		text += ", equal jitter"
	case Fraction:
		text += ", jitter " + c.Share.String()
	}
	return text
}
