package chaos_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

// A line is a configuration, the seed of a call, and how many of its attempts draw. The
// directive refuse has configurations that are wrong.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				a := script.NewArgs(t, d.Pos, line)
				c := chaos.Config{
					Fail: a.Share("fail"), Throttle: a.Share("throttle"), RetryAfter: a.Duration("retry_after", 0), Ignore: a.Share("ignore"),
					Slow: a.Share("slow"), By: a.Duration("by", 0), To: a.Duration("to", 0),
				}
				seed, attempts := a.Count("seed", 0), a.Count32("attempts", 1)
				a.Close()
				m, err := chaos.New(c)
				if err != nil {
					fmt.Fprintln(&out, "error: "+err.Error())
					continue
				}
				for n := range attempts {
					fmt.Fprintf(&out, "%d %s\n", n+1, text(m.Draw(seed, n+1)))
				}
			}
			return out.String()
		})
	})
}

func text(x chaos.Injection) string {
	if x.Nothing() {
		return "nothing"
	}
	var parts []string
	if x.Delay > 0 {
		parts = append(parts, "after "+x.Delay.String())
	}
	if x.Outcome != 0 {
		parts = append(parts, x.Outcome.String())
	}
	if x.RetryAfter > 0 {
		parts = append(parts, "retry_after "+x.RetryAfter.String())
	}
	return strings.Join(parts, " ")
}

func made(t *testing.T, c chaos.Config) *chaos.Machine {
	t.Helper()
	m, err := chaos.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// D1: a setting gives the share of the attempts that get its injection, within four
// standard deviations; at 0% none gets it, at 100% all do. The result and the latency do
// not depend on each other.
func TestShares(t *testing.T) {
	const n = 200_000
	c := chaos.Config{
		Fail: reducer.Percent(5), Throttle: reducer.Percent(20), Ignore: reducer.Millionths(333_333),
		Slow: reducer.Percent(40), By: time.Second, To: 3 * time.Second,
	}
	m := made(t, c)
	var outcomes [reducer.Cancelled + 1]int
	slow, both := 0, 0
	var sum time.Duration
	for call := range uint64(n / 4) {
		for attempt := uint32(1); attempt <= 4; attempt++ {
			x := m.Draw(call<<32, attempt)
			outcomes[x.Outcome]++
			if x.Delay > 0 {
				slow++
				sum += x.Delay - 2*time.Second
				if x.Outcome != 0 {
					both++
				}
			}
		}
	}
	near := func(what string, got int, share float64) {
		t.Helper()
		if off := math.Abs(float64(got) - n*share); off > 4*math.Sqrt(n*share*(1-share)) {
			t.Errorf("%s: %d of %d, want %g of them", what, got, n, share)
		}
	}
	near("fail", outcomes[reducer.Fail], 0.05)
	near("throttle", outcomes[reducer.Throttle], 0.2)
	near("ignore", outcomes[reducer.Ignore], 0.333333)
	near("slow", slow, 0.4)
	near("slow with a result", both, 0.4*0.583333)
	// The latency is uniform from 1s to 3s: its standard deviation is 2s / sqrt(12).
	if mean := sum.Seconds() / float64(slow); math.Abs(mean) > 4*2/math.Sqrt(12*float64(slow)) {
		t.Errorf("the mean latency is %g s away from 2 s", mean)
	}
	none, all := made(t, chaos.Config{By: 1}), made(t, chaos.Config{Throttle: reducer.Percent(100), Slow: reducer.Percent(100), By: 1})
	for seed := range uint64(10_000) {
		if x := none.Draw(seed, 1); !x.Nothing() {
			t.Fatalf("seed %d: %s at 0%%", seed, text(x))
		}
		if x := all.Draw(seed, 1); x.Outcome != reducer.Throttle || x.Delay != 1 {
			t.Fatalf("seed %d: %s at 100%%", seed, text(x))
		}
	}
}

// D2 and G11: latency is from by to to, also where that is all durations.
func TestLatencyIsInItsRange(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	for _, c := range []chaos.Config{
		{By: 5, To: 7}, {By: 1, To: longest}, {By: longest}, {By: longest, To: longest}, {By: longest - 1, To: longest}, {By: 3},
	} {
		c.Slow = reducer.Percent(100)
		m, most := made(t, c), max(c.By, c.To)
		least, greatest := longest, time.Duration(0)
		for seed := range uint64(2_000) {
			d := m.Draw(seed<<32, 1).Delay
			least, greatest = min(least, d), max(greatest, d)
		}
		if least < c.By || greatest > most {
			t.Errorf("%+v: from %s to %s", c, least, greatest)
		}
		if few := most - c.By; few < 10 && (least != c.By || greatest != most) {
			t.Errorf("%+v: the ends do not come: from %s to %s", c, least, greatest)
		}
	}
}

// The numbers of injections differ from the numbers of the jitter of the same call, which
// is seeded with the number of the round.
func TestDrawsAreNotThoseOfJitter(t *testing.T) {
	m := made(t, chaos.Config{Slow: reducer.Percent(100), By: 1, To: math.MaxInt64})
	seen := map[time.Duration]bool{}
	for seed := range uint64(100) {
		for attempt := range uint32(100) {
			d := m.Draw(seed<<32, attempt+1).Delay
			if seen[d] {
				t.Fatalf("seed %d, attempt %d: drawn before", seed, attempt+1)
			}
			seen[d] = true
		}
	}
}
