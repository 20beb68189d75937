package scenario

import (
	"math"

	"github.com/sluice-go/sluice/sim/random"
)

// DistKind says which distribution a Dist is.
type DistKind uint8

// The distributions. None draws nothing.
const (
	None DistKind = iota
	ConstantDist
	Exponential
	UniformDist
	Lognormal
	Pareto
	Erlang
	Hyperexponential
)

// Dist is a distribution of durations in nanoseconds, or of plain numbers.
type Dist struct {
	Kind DistKind
	// A and B are the value; the mean; the least and the greatest; the median and
	// sigma; the scale and the shape; the mean, in the order of the kinds.
	A, B float64
	// K is how many exponentials an Erlang sums.
	K uint32
	// Means of a Hyperexponential, which Table draws.
	Means []float64
	Table *random.Table
}

// ConstantOf returns the distribution that has one value.
func ConstantOf(value float64) Dist { return Dist{Kind: ConstantDist, A: value} }

// Draw returns a number of the distribution.
func (d *Dist) Draw(s *random.Stream) float64 {
	switch d.Kind {
	case ConstantDist:
		return d.A
	case Exponential:
		return d.A * s.Exponential()
	case UniformDist:
		return d.A + float64((d.B-d.A)*s.Uniform())
	case Lognormal:
		return d.A * random.Exp(float64(d.B*s.Normal()))
	case Pareto:
		return d.A * random.Exp(s.Exponential()/d.B)
	case Erlang:
		sum := 0.0
		for range d.K {
			sum += s.Exponential()
		}
		return d.A / float64(d.K) * sum
	case Hyperexponential:
		return d.Means[d.Table.Draw(s)] * s.Exponential()
	}
	return 0
}

// Whole returns a drawn number rounded to a whole one, at most the greatest int64.
func (d *Dist) Whole(s *random.Stream) int64 { return Round(d.Draw(s)) }

// Round returns a number of 0 or more, rounded to a whole one, at most the greatest
// int64. What is no number, as 0 times infinity, is the greatest, too.
func Round(x float64) int64 {
	if !(x < math.MaxInt64) {
		return math.MaxInt64
	}
	// The conversion rounds what may be a product, which the addition could take in.
	return int64(float64(x) + 0.5)
}
