package random

import "math/bits"

// Stream is a source of random numbers. The zero value is not ready: see New.
type Stream struct{ a, b, c, d uint64 }

// New returns the stream of a name under a seed. Streams of different names are
// independent.
func New(seed uint64, name string) *Stream {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for i := range 8 {
		hash = (hash ^ seed>>(8*i)&255) * prime
	}
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * prime
	}
	return &Stream{splitMix(&hash), splitMix(&hash), splitMix(&hash), splitMix(&hash)}
}

// splitMix returns the next output of SplitMix64.
func splitMix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Word returns 64 random bits.
func (s *Stream) Word() uint64 {
	word := bits.RotateLeft64(s.a+s.d, 23) + s.a
	t := s.b << 17
	s.c ^= s.a
	s.d ^= s.b
	s.b ^= s.c
	s.a ^= s.d
	s.c ^= t
	s.d = bits.RotateLeft64(s.d, 45)
	return word
}

// Uniform returns a number from 0 to below 1, a multiple of 2^-53.
func (s *Stream) Uniform() float64 { return float64(float64(s.Word()>>11) * (1.0 / (1 << 53))) }

// Below returns a whole number from 0 to below n, which is not 0.
func (s *Stream) Below(n uint64) uint64 {
	for {
		high, low := bits.Mul64(s.Word(), n)
		// The words below 2^64 mod n are one too many for some results.
		if low >= n || low >= -n%n {
			return high
		}
	}
}

// Exponential returns a number of the exponential distribution with the mean 1.
func (s *Stream) Exponential() float64 { return -Log(1 - s.Uniform()) }

// Normal returns a number of the normal distribution with the mean 0 and the standard
// deviation 1.
func (s *Stream) Normal() float64 {
	for {
		x := float64(2*s.Uniform()) - 1
		y := float64(2*s.Uniform()) - 1
		square := float64(x*x) + float64(y*y)
		if square > 0 && square < 1 {
			return x * Root(float64(-2*Log(square))/square)
		}
	}
}
