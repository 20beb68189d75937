package limiter

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/testenv"
)

// The clock of a bucket that warms up never goes back and is never faster than the time, and when
// is its inverse: the least mark at which the clock has come to a reading, which it reads then.
func TestWarmClock(t *testing.T) {
	t.Logf("SLUICE_SEED=%d", testenv.Seed())
	r := rand.New(rand.NewPCG(testenv.Seed(), 1))
	for range 4000 * testenv.Times() {
		u := WarmUp{Over: time.Duration(1 + r.Uint64N(1<<(1+r.Uint64N(41)))), Factor: uint32(2 + r.Uint32N(MaxFactor-1))}
		u.Over = min(u.Over, MaxWarmUp)
		origin := clock.Mark(r.Int64N(1<<40) - 1<<39)
		at := origin.Add(time.Duration(r.Uint64N(uint64(2*u.Over) + 2)))
		reading := u.read(origin, at)
		switch next := u.read(origin, at+1); {
		case reading < origin || reading > at || next < reading || next > reading+1:
			t.Fatalf("%+v from %d: %d reads %d, and a nanosecond later %d", u, origin, at, reading, next)
		}
		back := u.when(origin, reading)
		if back > at || u.read(origin, back) != reading || back > origin && u.read(origin, back-1) >= reading {
			t.Fatalf("%+v from %d: %d reads %d, which it reads first at %d", u, origin, at, reading, back)
		}
		wanted := origin.Add(time.Duration(r.Uint64N(uint64(2*u.Over) + 2)))
		if first := u.when(origin, wanted); u.read(origin, first) < wanted || first > origin && u.read(origin, first-1) >= wanted {
			t.Fatalf("%+v from %d: %d is read first at %d, which reads %d, and before it %d", u, origin, wanted, first, u.read(origin, first), u.read(origin, first-1))
		}
	}
}
