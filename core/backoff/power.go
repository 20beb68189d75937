package backoff

import (
	"math/bits"
	"time"
)

// power is a power of a factor: a whole part and 72 decimal digits behind the
// point, rounded down. A product with a duration that is a whole number of
// nanoseconds comes from a power of at most 63 digits, which is exact here. All
// other products are farther from a whole number than the rounding can reach.
type power struct {
	whole    uint64
	fraction [fractionWords]uint64 // 18 digits each, the most significant first
	overflow bool                  // its product is longer than every duration
}

const (
	fractionWords = 4
	wordUnit      = 1_000_000_000_000_000_000
)

// powerOf returns factor^n by squaring: one or two multiplications for each bit
// of n. It stops with overflow when the product with base is too long.
func powerOf(factor Factor, n uint32, base time.Duration) power {
	p := power{whole: 1}
	limit := uint64(maxDuration) / uint64(base)
	for bit := bits.Len32(n) - 1; bit >= 0; bit-- {
		if p.whole >= 1<<32 {
			p.overflow = true
			return p
		}
		p.square()
		if n>>bit&1 == 1 {
			p.multiply(factor)
		}
		if p.overflow || p.whole > limit {
			p.overflow = true
			return p
		}
	}
	return p
}

// square squares a power whose whole part is less than 2^32. It leaves out the
// products of digits beyond the last word.
func (p *power) square() {
	words := [fractionWords + 1]uint64{p.whole}
	copy(words[1:], p.fraction[:])
	var carry uint64
	for column := fractionWords; column >= 0; column-- {
		hi, lo := uint64(0), carry
		for i := 0; i <= column; i++ {
			productHi, productLo := bits.Mul64(words[i], words[column-i])
			var c uint64
			lo, c = bits.Add64(lo, productLo, 0)
			hi += productHi + c
		}
		if column == 0 {
			p.whole = lo
			return
		}
		carry, p.fraction[column-1] = bits.Div64(hi, lo, wordUnit)
	}
}

// multiply multiplies a power by the factor.
func (p *power) multiply(factor Factor) {
	var carry uint64
	for i := fractionWords - 1; i >= 0; i-- {
		hi, lo := bits.Mul64(p.fraction[i], uint64(factor))
		lo, c := bits.Add64(lo, carry, 0)
		carry, p.fraction[i] = bits.Div64(hi+c, lo, wordUnit)
	}
	hi, lo := bits.Mul64(p.whole, uint64(factor))
	lo, c := bits.Add64(lo, carry, 0)
	if hi += c; hi >= uint64(FactorOne) {
		p.overflow = true
		return
	}
	// The factor counts millionths.
	var rest uint64
	p.whole, rest = bits.Div64(hi, lo, uint64(FactorOne))
	for i := range p.fraction {
		hi, lo := bits.Mul64(rest, wordUnit)
		lo, c := bits.Add64(lo, p.fraction[i], 0)
		p.fraction[i], rest = bits.Div64(hi+c, lo, uint64(FactorOne))
	}
}

// times returns the product with a duration, at most the longest one.
func (p *power) times(d time.Duration) time.Duration {
	if p.overflow {
		return maxDuration
	}
	var carry uint64
	for i := fractionWords - 1; i >= 0; i-- {
		hi, lo := bits.Mul64(p.fraction[i], uint64(d))
		lo, c := bits.Add64(lo, carry, 0)
		carry, _ = bits.Div64(hi+c, lo, wordUnit)
	}
	hi, lo := bits.Mul64(p.whole, uint64(d))
	if hi != 0 {
		return maxDuration
	}
	return saturate(lo, carry)
}
