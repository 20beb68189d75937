package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/testenv"
)

// TestChangedRates compares a limiter whose rate and burst change again and again with
// rate.Limiter, whose SetLimit keeps the part of a permit that has refilled: after every
// question of a random schedule both have admitted as much, but for one permit.
func TestChangedRates(t *testing.T) {
	for n := range 100 * testenv.Times() {
		random := rand.New(rand.NewPCG(testenv.Seed(), uint64(n)))
		draw := func() sluice.LimiterConfig {
			return sluice.LimiterConfig{Count: 1 + random.Uint32N(500), Period: time.Hour, Burst: 1 + random.Uint32N(5)}
		}
		config := draw()
		limitOf := func() rate.Limit { return rate.Limit(float64(config.Count) / config.Period.Seconds()) }
		var now clock.Virtual
		l := must(sluice.NewLimiter(config, sluice.WithClock(&now)))
		x := rate.NewLimiter(limitOf(), int(config.Burst))
		here, there, changes := 0, 0, 0
		for now.Now() < clock.Mark(time.Hour) {
			at := time.Unix(0, int64(now.Advance(time.Duration(random.Int64N(int64(20*time.Second))))))
			if random.IntN(2) == 0 {
				changes++
				config = draw()
				good(l.Configure(config))
				x.SetLimitAt(at, limitOf())
				x.SetBurstAt(at, int(config.Burst))
			}
			if l.Allow() {
				here++
			}
			if x.AllowN(at, 1) {
				there++
			}
			if here-there > 1 || there-here > 1 {
				t.Fatalf("SLUICE_SEED=%d: schedule %d: after %d changes and %v %d are admitted, by rate.Limiter %d",
					testenv.Seed(), n, changes, now.Now(), here, there)
			}
		}
		if changes < 100 || here < 20 {
			t.Errorf("schedule %d has %d changes and admits %d", n, changes, here)
		}
	}
}
