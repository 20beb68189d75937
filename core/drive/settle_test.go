package drive

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// settled is a call of a random history at a limit that settles.
type settled struct {
	handle     decision.Handle
	began, end clock.Mark
	taken      uint64 // at the start
	used       uint64 // in all, once it has ended, less what was dropped
	over       bool
}

// history drives calls through a limit and calls check after each step with all that have
// been admitted.
func history(t *testing.T, c limiter.Config, seed uint64, check func(d *Driver, free uint64, calls []settled)) {
	t.Helper()
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Config: c}}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(testenv.Seed(), seed))
	d := New(plan, 0)
	var calls []settled
	for range 300 {
		d.Advance(d.Now().Add(time.Duration(r.IntN(4)) * time.Second / 2))
		running := -1
		for i := range calls {
			if !calls[i].over && (running < 0 || r.IntN(2) == 0) {
				running = i
			}
		}
		if x := (*settled)(nil); running >= 0 && r.IntN(2) == 0 {
			x = &calls[running]
			result := Result{Outcome: [...]reducer.Outcome{reducer.OK, reducer.Fail}[r.IntN(2)]}
			x.used = uint64(c.Cost.Permits)
			if r.IntN(3) > 0 {
				result.HasUsed, result.Used = true, r.Uint32N(12)
				if c.Charge != limiter.ChargeStart {
					x.used = uint64(result.Used)
				}
			}
			if !c.Counts.Has(result.Outcome) {
				x.used = 0
			}
			x.over, x.end = true, d.Now()
			d.Decisions = d.Decisions[:0]
			d.Done(x.handle, result)
			for i := range d.Decisions {
				if d.Decisions[i].Kind == decision.Clamped {
					x.used -= d.Decisions[i].Dropped
				}
			}
		} else if h := d.Begin(&Request{Cost: 1, Deadline: -1}); d.Live(h) {
			x := settled{handle: h, began: d.Now(), taken: uint64(c.Cost.Permits)}
			if c.Charge == limiter.ChargeEnd {
				x.taken = 0
			}
			calls = append(calls, x)
		}
		answer, _ := d.Ask(0, 0, reducer.Action{Kind: reducer.Peek})
		check(d, uint64(answer.Free), calls)
		if t.Failed() {
			t.Fatalf("SLUICE_SEED=%d, history %d, %+v at %v: %+v", testenv.Seed(), seed, c, d.Now(), calls)
		}
	}
}

func settlingConfigs(a limiter.Algorithm, count uint32) (all []limiter.Config) {
	for _, charge := range []limiter.Charge{limiter.ChargeStart, limiter.ChargeSettle, limiter.ChargeEnd} {
		for _, counts := range []limiter.Outcomes{0, limiter.OutcomesOf(reducer.Fail)} {
			all = append(all, limiter.Config{Algorithm: a, Count: count, Period: 60 * time.Second, Cost: limiter.Cost{Permits: 4}, Charge: charge, Counts: counts})
		}
	}
	return all
}

// A token bucket that settles never mints: what is free is at most what it began with and
// what has refilled, less what running calls have taken and ended ones have used.
func TestSettlingNeverMints(t *testing.T) {
	for _, c := range settlingConfigs(limiter.TokenBucket, 30) {
		for seed := range uint64(40) {
			history(t, c, seed, func(d *Driver, free uint64, calls []settled) {
				gone := uint64(0)
				for i := range calls {
					if gone += calls[i].used; !calls[i].over {
						gone += calls[i].taken
					}
				}
				interval := uint64(c.Interval())
				if had := uint64(c.Count)*interval + uint64(d.Now()); free*interval+gone*interval > had && free > 0 {
					t.Errorf("%d are free", free)
				}
			})
		}
	}
}

// A log that settles conserves permits: it counts exactly what the calls of the last
// period have taken and not returned, and from their ends what they used beyond it.
func TestSettlingConserves(t *testing.T) {
	for _, c := range settlingConfigs(limiter.SlidingLog, 400) {
		for seed := range uint64(20) {
			history(t, c, seed, func(d *Driver, free uint64, calls []settled) {
				counted := uint64(0)
				for i := range calls {
					x := &calls[i]
					kept := x.taken
					if x.over {
						kept = min(kept, x.used)
						if d.Now() < x.end.Add(c.Period) {
							counted += x.used - kept
						}
					}
					if d.Now() < x.began.Add(c.Period) {
						counted += kept
					}
				}
				if want := uint64(c.Count) - min(counted, uint64(c.Count)); free != want {
					t.Errorf("%d are free, want %d", free, want)
				}
			})
		}
	}
}
