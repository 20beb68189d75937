package random

import "math"

const (
	// ln2High and ln2Low are parts of the natural logarithm of 2: a product of the
	// high part and a whole number of 20 bits is exact.
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
	log2E   = 1.44269504088896338700
	// overflow is the least argument for which Exp is infinite, underflow the greatest
	// for which it is 0: results below the least normal number are 0.
	overflow  = 709.782712893384
	underflow = -708.3964185322641
)

// Log returns the natural logarithm of a number above 0 that is not subnormal, with
// an error of about one unit in the last place.
func Log(x float64) float64 {
	// x = m 2^k, with m from sqrt(1/2) to sqrt(2), and ln m = 2 artanh s.
	word := math.Float64bits(x)
	k := int(word>>52) - 1023
	m := math.Float64frombits(word&(1<<52-1) | 1023<<52)
	if m > math.Sqrt2 {
		m /= 2
		k++
	}
	f := m - 1
	s := f / (2 + f)
	z := float64(s * s)
	// The sum of z^i/(2i+1) from i = 1 to 11: z is at most 0.0295.
	sum := 0.0
	for i := 11; i > 0; i-- {
		sum = float64(z * (sum + 1/float64(2*i+1)))
	}
	// ln m = f - s (f - 2 sum): f is exact, what is subtracted is small.
	low := float64(s*(f-float64(2*sum))) - float64(float64(k)*ln2Low)
	return float64(float64(k)*ln2High) + (f - low)
}

// Exp returns e to the power of x, with an error of about one unit in the last place.
func Exp(x float64) float64 {
	switch {
	case x >= overflow:
		return math.Inf(1)
	case x <= underflow:
		return 0
	}
	// x = k ln 2 + r, with r from -ln 2/2 to ln 2/2.
	half := 0.5
	if x < 0 {
		half = -0.5
	}
	k := int(float64(x*log2E) + half)
	r := (x - float64(float64(k)*ln2High)) - float64(float64(k)*ln2Low)
	sum := 1.0
	for i := 14; i > 0; i-- {
		sum = 1 + float64(sum*r)/float64(i)
	}
	if k == 1024 { // 2^1024 is no number, though the result is
		return float64(sum*2) * math.Float64frombits(2046<<52)
	}
	return sum * math.Float64frombits(uint64(k+1023)<<52)
}

// Power returns x to the power of y, for x above 0.
func Power(x, y float64) float64 { return Exp(y * Log(x)) }

// Root returns the square root of x, which is exact on every platform: IEEE 754
// requires it.
func Root(x float64) float64 { return math.Sqrt(x) }
