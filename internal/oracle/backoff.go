package oracle

import (
	"math"
	"math/big"

	cfg "github.com/sluice-go/sluice/core/backoff"
)

// delay returns the k-th delay (from 1) of the backoff. before is the delay that
// it gave last, -1 at first; the seed is the jitter's.
func delay(c cfg.Config, k int, before int64, seed uint64) int64 {
	if c.Kind == cfg.None {
		return 0
	}
	if c.Kind == cfg.Listed {
		listed := big.NewInt(int64(c.Delays.At(min(k, c.Delays.Len()) - 1)))
		return clamp(jitter(listed, c, seed))
	}
	base := big.NewInt(int64(c.Base))
	if c.Kind == cfg.Decorrelated {
		if before < 0 {
			before = int64(c.Base)
		}
		most := cut(new(big.Int).Mul(big.NewInt(3), big.NewInt(before)), c)
		if most.Cmp(base) < 0 {
			most = base // another configuration drew a shorter delay
		}
		drawn := draw(seed, new(big.Int).Sub(most, base))
		return clamp(drawn.Add(drawn, base))
	}
	d := new(big.Int).Set(base)
	switch c.Kind {
	case cfg.Linear:
		d.Mul(d, big.NewInt(int64(k)))
	case cfg.Exponential:
		power := big.NewInt(int64(k - 1))
		d.Mul(d, new(big.Int).Exp(big.NewInt(int64(c.Factor)), power, nil))
		d.Div(d, new(big.Int).Exp(big.NewInt(1_000_000), power, nil))
	case cfg.Fibonacci:
		d.Mul(d, fibonacci(k))
	}
	return clamp(jitter(cut(d, c), c, seed))
}

// cut cuts the delay at the maximum, or at the longest duration without one.
func cut(d *big.Int, c cfg.Config) *big.Int {
	most := int64(math.MaxInt64)
	if c.Max > 0 {
		most = int64(c.Max)
	}
	if most := big.NewInt(most); d.Cmp(most) > 0 {
		return most
	}
	return d
}

// jitter returns what the jitter makes of the delay.
func jitter(d *big.Int, c cfg.Config, seed uint64) *big.Int {
	switch c.Jitter {
	case cfg.Full:
		return draw(seed, d)
	case cfg.Equal:
		half := new(big.Int).Div(d, big.NewInt(2))
		drawn := draw(seed, new(big.Int).Sub(d, half))
		return drawn.Add(drawn, half)
	case cfg.Fraction:
		v := new(big.Int).Mul(d, big.NewInt(int64(c.Share.Millionths())))
		v.Div(v, big.NewInt(1_000_000))
		drawn := draw(seed, new(big.Int).Lsh(v, 1))
		drawn.Add(drawn, d)
		return drawn.Sub(drawn, v)
	}
	return d
}

// fibonacci returns 1, 1, 2, 3, 5 ... for 1, 2, 3, 4, 5 ...
func fibonacci(k int) *big.Int {
	a, b := big.NewInt(1), big.NewInt(1)
	for ; k > 1; k-- {
		a.Add(a, b)
		a, b = b, a
	}
	return a
}

// draw returns r(n) = floor(u x (n+1) / 2^64), u the seed's first number.
func draw(seed uint64, n *big.Int) *big.Int {
	u := new(big.Int).SetUint64(splitMix(seed))
	u.Mul(u, new(big.Int).Add(n, big.NewInt(1)))
	return u.Rsh(u, 64)
}

// splitMix returns the first output of SplitMix64 (Steele, Lea and Flood 2014).
func splitMix(seed uint64) uint64 {
	z := seed + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// clamp returns the delay, at most the longest duration.
func clamp(d *big.Int) int64 {
	if !d.IsInt64() {
		return math.MaxInt64
	}
	return d.Int64()
}
