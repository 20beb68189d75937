package backoff_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

// Each line of a script is a backoff, and prints its first delays. from= begins
// with a later attempt, seed= is the seed of the first attempt's random word.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				fmt.Fprintln(&out, delays(script.NewArgs(t, d.Pos, line)))
			}
			return out.String()
		})
	})
}

func delays(a *script.Args) string {
	config := a.Backoff("after")
	config.Kind = backoff.Kind(a.Count("kind", uint64(config.Kind)))
	config.Jitter = backoff.JitterKind(a.Count("kind_of_jitter", uint64(config.Jitter)))
	attempts, from, seed := a.Count32("attempts", 6), a.Count32("from", 1), a.Count("seed", 0)
	a.Close()
	m, err := backoff.New(config)
	if err != nil {
		return "error: " + err.Error()
	}
	text := config.String() + ":"
	before := time.Duration(0)
	for k := range attempts {
		before = m.Delay(from+k, before, backoff.Word(seed+uint64(k)))
		text += " " + before.String()
	}
	return text
}

// The first outputs of SplitMix64 as its authors published them, and the outputs of
// the seed 1234567 from the test vectors of several libraries.
func TestWord(t *testing.T) {
	for seed, want := range map[uint64]uint64{0: 0xe220a8397b1dcdaf, 1234567: 6457827717110365317} {
		if got := backoff.Word(seed); got != want {
			t.Errorf("Word(%d) = %#x, want %#x", seed, got, want)
		}
	}
}

// The nominal delay of an exponential backoff is the exact product rounded down,
// and never falls (R2, R3): with factors near 1 and after many attempts too, and
// where the product is a whole number.
func TestExponentialIsExact(t *testing.T) {
	const seed = 20250301
	r := rand.New(rand.NewPCG(seed, 0))
	for n := range 600 {
		c := backoff.Config{Kind: backoff.Exponential, Base: time.Microsecond + time.Duration(r.Int64N(1<<(10+r.IntN(40)))), Factor: backoff.FactorOne + backoff.Factor(r.IntN(4_000_000))}
		attempts := uint32(40)
		switch n % 3 {
		case 1: // powers of 2 and 5, so that products are whole numbers
			c.Base = time.Duration(1) << r.IntN(40)
			for range r.IntN(5) {
				c.Base *= 5
			}
			c.Factor = []backoff.Factor{1_500_000, 1_200_000, 1_250_000, 1_015_625, 1_000_000, 2_000_000, 1_000_000_000}[r.IntN(7)]
			attempts = 70
		case 2:
			c.Factor = backoff.FactorOne + 1 + backoff.Factor(r.IntN(2_000))
			attempts = 3_000
		}
		if r.IntN(2) == 0 {
			c.Max = c.Base * time.Duration(1+r.IntN(1_000))
		}
		m, err := backoff.New(c)
		if err != nil {
			t.Fatal(err)
		}
		last := time.Duration(0)
		for k := uint32(1); k <= attempts; k += 1 + k/40 {
			got := m.Nominal(k)
			if want := exactly(c, k); got != want || got < last {
				t.Fatalf("seed %d, case %d: %v: delay %d = %d, want %d, after %d", seed, n, c, k, got, want, last)
			}
			last = got
		}
	}
}

// exactly is the product in whole numbers of any size.
func exactly(c backoff.Config, attempt uint32) time.Duration {
	most := time.Duration(math.MaxInt64)
	if c.Max > 0 {
		most = c.Max
	}
	power := big.NewInt(int64(attempt - 1))
	d := new(big.Int).Exp(big.NewInt(int64(c.Factor)), power, nil)
	d.Mul(d, big.NewInt(int64(c.Base)))
	d.Quo(d, new(big.Int).Exp(big.NewInt(int64(backoff.FactorOne)), power, nil))
	if !d.IsInt64() || d.Int64() > int64(most) {
		return most
	}
	return time.Duration(d.Int64())
}

// A delay after millions of attempts is computed without a step for each of
// them (G19): here are a hundred million delays, or one that is exact.
func TestManyAttempts(t *testing.T) {
	c := backoff.Config{Kind: backoff.Exponential, Base: time.Millisecond, Factor: backoff.FactorOne + 1}
	m, err := backoff.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []uint32{20_000, 50_000} {
		if got, want := m.Nominal(k), exactly(c, k); got != want {
			t.Errorf("delay %d = %d, want %d", k, got, want)
		}
	}
	last := time.Duration(0)
	for k := uint32(1); k < math.MaxUint32-math.MaxUint32/1_000; k += math.MaxUint32 / 1_000 {
		got := m.Nominal(k)
		if got < last {
			t.Fatalf("delay %d = %d, after %d", k, got, last)
		}
		last = got
	}
	if last != math.MaxInt64 {
		t.Errorf("the longest delay is %d", last)
	}
}

// Jitter stays in its interval for every random word (R4), the greatest delays
// included.
func TestJitterStaysInItsInterval(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 0))
	words := []uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1, 1 << 63}
	for range 2_000 {
		words = append(words, r.Uint64())
	}
	for _, d := range []time.Duration{1, 2, 3, time.Second, math.MaxInt64 - 1, math.MaxInt64} {
		for _, u := range words {
			for kind, bounds := range map[backoff.JitterKind][2]time.Duration{
				backoff.NoJitter: {d, d}, backoff.Full: {0, d}, backoff.Equal: {d / 2, d},
			} {
				m, err := backoff.New(backoff.Config{Kind: backoff.Constant, Base: d, Jitter: kind})
				if err != nil {
					t.Fatal(err)
				}
				if got := m.Delay(1, 0, u); got < bounds[0] || got > bounds[1] {
					t.Fatalf("seed %d: jitter %d of %d with %#x: %d", seed, kind, d, u, got)
				}
			}
			m, _ := backoff.New(backoff.Config{Kind: backoff.Constant, Base: d, Jitter: backoff.Fraction, Share: reducer.Percent(20)})
			got, v := new(big.Int).SetInt64(int64(m.Delay(1, 0, u))), new(big.Int).Div(new(big.Int).Mul(big.NewInt(int64(d)), big.NewInt(20)), big.NewInt(100))
			low, high := new(big.Int).Sub(big.NewInt(int64(d)), v), new(big.Int).Add(big.NewInt(int64(d)), v)
			if got.Cmp(low) < 0 || got.Cmp(high) > 0 {
				t.Fatalf("seed %d: 20%% of %d with %#x: %v", seed, d, u, got)
			}
		}
	}
}
