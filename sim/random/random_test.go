package random_test

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim/random"
)

// The published test of xoshiro256++ needs a state that New does not give, so the
// words come from a first run: they are part of the format.
func TestFormat(t *testing.T) {
	s := random.New(7, "arrivals of web")
	assert.Equal(t, []uint64{0x55cbbfea47335173, 0x992bff5dda4a3790, 0xfef85ae6cb1ab7e}, []uint64{s.Word(), s.Word(), s.Word()})
	assert.NotEqual(t, random.New(7, "a").Word(), random.New(7, "b").Word())
	assert.NotEqual(t, random.New(7, "a").Word(), random.New(8, "a").Word())
}

// TestPage compares the words on the page with the words of the stream that it names.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../REFERENCE.md")
	require.NoError(t, err)
	s := random.New(7, "arrivals of client web")
	assert.Contains(t, string(page), fmt.Sprintf("The first words of `arrivals of client web` with seed 7 are `%#x`, `%#x` and `%#x`.", s.Word(), s.Word(), s.Word()))
}

func TestLogAndExpAreExactToTheLastPlaces(t *testing.T) {
	s := random.New(1, t.Name())
	for range 200_000 {
		x := random.Exp(200*s.Uniform() - 100)
		require.InEpsilon(t, math.Log(x)+1e3, random.Log(x)+1e3, 1e-15, "log %v", x)
		y := 1400*s.Uniform() - 700
		require.InEpsilon(t, math.Exp(y), random.Exp(y), 4e-16, "exp %v", y)
		near := 1 + (s.Uniform()-0.5)/8
		if want := math.Log(near); want != 0 {
			require.InEpsilon(t, want, random.Log(near), 1e-15, "log %v", near)
		}
	}
	assert.Zero(t, random.Log(1))
	assert.Equal(t, 1.0, random.Exp(0))
	assert.Zero(t, random.Exp(-1000))
	assert.True(t, math.IsInf(random.Exp(1000), 1))
	assert.InEpsilon(t, 1.6549840276802644e+308, random.Exp(709.7), 1e-15)
	assert.InEpsilon(t, 1024, random.Power(2, 10), 1e-14)
	assert.False(t, math.IsInf(-random.Log(0x1p-53), 0))
}

// moments returns the mean and the variance of what draw returns.
func moments(draw func() float64) (mean, variance float64) {
	const n = 1_000_000
	for range n {
		x := draw()
		mean += x
		variance += x * x
	}
	mean /= n
	return mean, variance/n - mean*mean
}

func TestMoments(t *testing.T) {
	s := random.New(3, t.Name())
	for name, c := range map[string]struct {
		draw           func() float64
		mean, variance float64
	}{
		"uniform":     {s.Uniform, 0.5, 1.0 / 12},
		"exponential": {s.Exponential, 1, 1},
		"normal":      {s.Normal, 0, 1},
		"below":       {func() float64 { return float64(s.Below(6)) }, 2.5, 35.0 / 12},
	} {
		mean, variance := moments(c.draw)
		assert.InDelta(t, c.mean, mean, 0.005, name)
		assert.InDelta(t, c.variance, variance, 0.01, name)
	}
}

func TestTableDrawsByWeight(t *testing.T) {
	s := random.New(5, t.Name())
	weights := []float64{0, 1, 2, 0, 5, 2}
	table := random.NewTable(weights)
	counts := make([]float64, len(weights))
	const n = 1_000_000
	for range n {
		counts[table.Draw(s)]++
	}
	for i, w := range weights {
		assert.InDelta(t, w/10, counts[i]/n, 0.002, "weight %d", i)
	}
	assert.Zero(t, counts[0]+counts[3])
	assert.InEpsilonSlice(t, []float64{1, 0.5, 1.0 / 3}, random.Zipf(3, 1), 1e-12)
	assert.Zero(t, random.NewTable([]float64{3}).Draw(s))
}
