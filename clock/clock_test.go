package clock_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// The arithmetic follows the integers, stopped at the ends of the line; only
// never stays where it is.
func TestSaturation(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	values := []int64{0, 1, -1, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1}
	for range 100 {
		values = append(values, int64(r.Uint64()>>r.IntN(64)), -int64(r.Uint64()>>(1+r.IntN(63))))
	}
	stop := func(v *big.Int) int64 {
		switch {
		case v.IsInt64():
			return v.Int64()
		case v.Sign() > 0:
			return math.MaxInt64
		}
		return math.MinInt64
	}
	for _, a := range values {
		for _, b := range values {
			sum := stop(new(big.Int).Add(big.NewInt(a), big.NewInt(b)))
			if clock.Mark(a) == clock.Never {
				sum = math.MaxInt64
			}
			if got := clock.Mark(a).Add(time.Duration(b)); int64(got) != sum {
				t.Fatalf("seed %d: %d + %d = %d, want %d", seed, a, b, got, sum)
			}
			diff := stop(new(big.Int).Sub(big.NewInt(a), big.NewInt(b)))
			if got := clock.Mark(a).Sub(clock.Mark(b)); int64(got) != diff {
				t.Fatalf("seed %d: %d - %d = %d, want %d", seed, a, b, got, diff)
			}
		}
	}
}

func TestString(t *testing.T) {
	for m, want := range map[clock.Mark]string{
		clock.Never: "never", clock.Always: "always", 0: "0s", 1_500_000_000: "1.5s", -1: "-1ns",
	} {
		if got := m.String(); got != want {
			t.Errorf("%d is %q, want %q", int64(m), got, want)
		}
	}
}

func TestVirtual(t *testing.T) {
	var s clock.Virtual
	if s.Now() != 0 || s.Advance(5) != 5 || s.Advance(-3) != 5 || s.Set(4) != 5 || s.Set(9) != 9 || s.Now() != 9 {
		t.Errorf("is at %v", s.Now())
	}
	if s.Advance(math.MaxInt64); s.Now() != clock.Never {
		t.Errorf("is at %v, want never", s.Now())
	}
}

// However many move it, it never moves back.
func TestVirtualIsMonotonic(t *testing.T) {
	var s clock.Virtual
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			last := clock.Mark(0)
			for n := range 1_000 {
				now := s.Set(clock.Mark(n*(g+1)) % 1_009)
				if now < last || s.Now() < now {
					t.Errorf("moved from %v to %v", last, now)
				}
				last = now
			}
		})
	}
	group.Wait()
}

// In a bubble of synctest time advances only when all goroutines wait.
func TestMonotonic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clock.NewMonotonic()
		if s.Now() != 0 {
			t.Errorf("begins at %v", s.Now())
		}
		time.Sleep(90 * time.Second)
		if want := clock.Mark(90 * time.Second); s.Now() != want {
			t.Errorf("after 90s it is at %v", s.Now())
		}
	})
}
