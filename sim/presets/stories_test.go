package presets_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/presets"
)

// story is what a preset shows: a line and figures for the guide, and what its
// description says, for any seed.
type story struct {
	shows   string
	verdict sim.Verdict
	figures func(*sim.Result) string
	holds   func(*testing.T, *sim.Result)
}

// ok is the share of a client's calls that end ok.
func ok(r *sim.Result, client string) float64 {
	c := r.Client(client)
	return float64(c.OK) / float64(c.Calls)
}

func okText(r *sim.Result, client string) string {
	return percent(r.Client(client).OK, r.Client(client).Calls) + " ok"
}

// both gives the figures of two clients that differ in their policy.
func both(first, second string) func(*sim.Result) string {
	return func(r *sim.Result) string {
		return fmt.Sprintf("%s: %s; %s: %s", first, okText(r, first), second, okText(r, second))
	}
}

// tails gives the latencies of two clients.
func tails(first, second string) func(*sim.Result) string {
	return func(r *sim.Result) string {
		a, b := r.Client(first), r.Client(second)
		return fmt.Sprintf("%s: p50 %s, p99 %s; %s: p50 %s, p99 %s", first, duration(a.Latency.P50), duration(a.Latency.P99),
			second, duration(b.Latency.P50), duration(b.Latency.P99))
	}
}

// wasted is the share of a service's work whose callers had given up.
func wasted(r *sim.Result, service string) float64 {
	s := r.Service(service)
	return float64(s.Wasted) / float64(s.Served)
}

func attempts(r *sim.Result) string {
	c := r.Clients[0]
	return fmt.Sprintf("%s, %s attempts a call", okText(r, c.Name), rounded(c.Amplification))
}

// storm gives the figures of retries.
func storm(r *sim.Result) string {
	return attempts(r) + fmt.Sprintf(", %s of the work wasted", percent(r.Services[0].Wasted, r.Services[0].Served))
}

func busy(r *sim.Result) string {
	return fmt.Sprintf("%s, servers busy for %s of the time", okText(r, r.Clients[0].Name), percent(uint64(1e6*r.Services[0].Utilization), 1e6))
}

func dropped(r *sim.Result) string {
	return percent(r.Services[0].Dropped, r.Services[0].Arrived) + " dropped"
}

// stories has every preset.
var stories = map[string]story{
	"retry-storm": {"retries keep a service down after an outage", sim.Metastable, storm, func(t *testing.T, r *sim.Result) {
		assert.Greater(t, r.Clients[0].Amplification, 3.0)
		assert.Greater(t, wasted(r, "api"), 0.8)
		assert.Negative(t, r.Clients[0].Recovery)
	}},
	"retry-storm-cured": {"a budget for retries", sim.Recovered, storm, func(t *testing.T, r *sim.Result) {
		assert.Less(t, r.Clients[0].Amplification, 1.1)
		assert.Greater(t, ok(r, "web"), 0.9)
		assert.InDelta(t, 15, r.Clients[0].Recovery.Seconds(), 15)
	}},
	"thundering-herd": {"a thousand clients at once, retries without jitter", sim.Steady, attempts, func(t *testing.T, r *sim.Result) {
		assert.InDelta(t, 0.5, ok(r, "cron"), 1e-9)
		assert.InDelta(t, 4, r.Clients[0].Amplification, 1e-9)
		assert.Less(t, r.Services[0].Utilization, 0.1)
	}},
	"thundering-herd-cured": {"exponential backoff with full jitter", sim.Steady, attempts, func(t *testing.T, r *sim.Result) {
		assert.Greater(t, ok(r, "cron"), 0.99)
		assert.Less(t, r.Clients[0].Amplification, 3.0)
	}},
	"boundary-burst": {"a fixed window passes twice its count", sim.Steady, func(r *sim.Result) string {
		return fmt.Sprintf("%s, wait p99 %s", dropped(r), duration(r.Services[0].Wait.P99))
	}, func(t *testing.T, r *sim.Result) {
		assert.Zero(t, r.Services[0].Refused)
		assert.Greater(t, float64(r.Services[0].Dropped), 0.2*float64(r.Services[0].Arrived))
	}},
	"boundary-burst-cured": {"a token bucket with a queue", sim.Steady, func(r *sim.Result) string {
		return fmt.Sprintf("%s, wait p99 %s", dropped(r), duration(r.Services[0].Wait.P99))
	}, func(t *testing.T, r *sim.Result) {
		assert.Zero(t, r.Services[0].Refused+r.Services[0].Dropped)
		assert.Less(t, r.Services[0].Wait.P99.Seconds(), 0.1)
	}},
	"dead-dependency": {"a breaker in front of what does not answer", sim.Recovered, func(r *sim.Result) string {
		return fmt.Sprintf("open %s after the fault; back after %s, without a breaker after %s", duration(r.Client("guarded").Breakers[0].Delay),
			duration(r.Client("guarded").Recovery), duration(r.Client("patient").Recovery))
	}, func(t *testing.T, r *sim.Result) {
		guarded, patient := r.Client("guarded"), r.Client("patient")
		assert.Less(t, guarded.Breakers[0].Delay.Seconds(), 3.0)
		assert.Less(t, guarded.Recovery.Seconds(), 10.0)
		assert.Greater(t, patient.Recovery.Seconds(), 20.0)
		assert.Less(t, 10*guarded.Failed, guarded.Refused)
		assert.Greater(t, r.Service("a").Wasted, 20*r.Service("b").Wasted)
	}},
	"brown-out": {"a breaker that counts slow answers, and one that does not", sim.Recovered, tails("blind", "guarded"), func(t *testing.T, r *sim.Result) {
		assert.Zero(t, r.Client("blind").Breakers[0].Opened)
		assert.Zero(t, r.Client("blind").Failed)
		assert.Greater(t, r.Client("blind").Latency.P99.Seconds(), 100.0)
		assert.Less(t, r.Client("guarded").Breakers[0].Delay.Seconds(), 10.0)
		assert.Less(t, r.Client("guarded").Latency.P90.Seconds(), 1.0)
		assert.Less(t, r.Client("guarded").Recovery.Seconds(), 15.0)
	}},
	"flapping": {"the open time of a breaker and short outages", sim.Degraded, both("constant", "growing"), func(t *testing.T, r *sim.Result) {
		assert.Greater(t, r.Client("constant").Breakers[0].Open.Seconds(), 0.5*r.Duration.Seconds())
		assert.Greater(t, ok(r, "growing"), 1.5*ok(r, "constant"))
	}},
	"noisy-neighbour": {"one tenant takes the capacity of the others", sim.Degraded, both("tenants", "noisy"), func(t *testing.T, r *sim.Result) {
		assert.Less(t, ok(r, "tenants"), 0.7)
	}},
	"noisy-neighbour-cured": {"a limit for each tenant", sim.Steady, both("tenants", "noisy"), func(t *testing.T, r *sim.Result) {
		assert.Greater(t, ok(r, "tenants"), 0.999)
		assert.InDelta(t, 100*240, r.Client("noisy").OK, 100)
	}},
	"slow-half-open": {"many probes of long calls keep a breaker half-open", sim.Recovered, func(r *sim.Result) string {
		return fmt.Sprintf("back after %s with 50 probes, after %s with 3", duration(r.Client("many-probes").Recovery), duration(r.Client("few-probes").Recovery))
	}, func(t *testing.T, r *sim.Result) {
		many, few := r.Client("many-probes"), r.Client("few-probes")
		assert.Greater(t, many.Recovery.Seconds(), 15.0)
		assert.Less(t, few.Recovery, many.Recovery)
		assert.Less(t, 1.3*few.Breakers[0].Open.Seconds(), many.Breakers[0].Open.Seconds())
	}},
	"clock-jump": {"a clock that jumps, with limits and timeouts", sim.Recovered, both("steady", "jumping"), func(t *testing.T, r *sim.Result) {
		jumping := r.Client("jumping")
		require.Len(t, jumping.Refusals, 1)
		assert.Equal(t, "limit", jumping.Refusals[0].Step)
		// The limit has 60 permits for the minute in which it gets none.
		assert.InDelta(t, 40*60-60, jumping.Refused, 200)
		assert.Zero(t, r.Client("steady").Refused)
	}},
	"metastable-cache-flush": {"a cache that cannot fill again", sim.Metastable, busy, func(t *testing.T, r *sim.Result) {
		assert.Less(t, ok(r, "web"), 0.4)
		assert.Greater(t, r.Services[0].Utilization, 0.9)
	}},
	"metastable-cache-flush-cured": {"a bulkhead in front of the cache", sim.Recovered, busy, func(t *testing.T, r *sim.Result) {
		assert.Greater(t, ok(r, "web"), 0.9)
		assert.Less(t, r.Clients[0].Recovery.Seconds(), 60.0)
	}},
	"llm-provider": {"tokens a minute, 429 with Retry-After, long tails", sim.Recovered, func(r *sim.Result) string {
		return both("retries", "counted")(r) + fmt.Sprintf("; p99 %s and %s", duration(r.Client("retries").Latency.P99), duration(r.Client("counted").Latency.P99))
	}, func(t *testing.T, r *sim.Result) {
		retries, counted := r.Client("retries"), r.Client("counted")
		assert.Greater(t, float64(retries.Failed), 0.01*float64(retries.Calls))
		assert.Less(t, float64(counted.Failed), 0.005*float64(counted.Calls))
		// Nothing of the client that counts comes back with 429 and is tried again.
		assert.LessOrEqual(t, counted.Attempts, counted.Calls)
		assert.Greater(t, float64(retries.Attempts), 1.1*float64(retries.Calls))
	}},
	"gc-pauses": {"pauses in the 99th percentile", sim.Steady, tails("web", "reference"), func(t *testing.T, r *sim.Result) {
		web, reference := r.Client("web"), r.Client("reference")
		assert.InEpsilon(t, reference.Latency.P50.Seconds(), web.Latency.P50.Seconds(), 0.2)
		assert.Greater(t, web.Latency.P99, 4*reference.Latency.P99)
		assert.InDelta(t, r.Service("without-pauses").Utilization, r.Service("api").Utilization, 0.05)
	}},
	"cascading-failure": {"a slow dependency that is not essential", sim.Recovered, func(r *sim.Result) string {
		return fmt.Sprintf("%s, database at %s of its capacity", okText(r, "web"), percent(uint64(1e6*r.Service("db").Utilization), 1e6))
	}, func(t *testing.T, r *sim.Result) {
		assert.Less(t, ok(r, "web"), 0.8)
		assert.Positive(t, r.Service("app").Dropped)
		assert.Less(t, r.Service("db").Utilization, 0.15)
	}},
	"cascading-failure-cured": {"a timeout, a breaker and an optional call", sim.Steady, func(r *sim.Result) string {
		return fmt.Sprintf("%s, p99 %s", okText(r, "web"), duration(r.Client("web").Latency.P99))
	}, func(t *testing.T, r *sim.Result) {
		assert.Equal(t, r.Client("web").Calls, r.Client("web").OK+r.Client("web").Unfinished)
		assert.Less(t, r.Client("web").Latency.P99.Seconds(), 1.0)
	}},
	"hedging-the-tail": {"a second attempt for late calls", sim.Steady, func(r *sim.Result) string {
		return fmt.Sprintf("plain: p99 %s; hedged: p99 %s with %s attempts a call", duration(r.Client("plain").Latency.P99),
			duration(r.Client("hedged").Latency.P99), rounded(r.Client("hedged").Amplification))
	}, func(t *testing.T, r *sim.Result) {
		assert.Less(t, r.Client("hedged").Latency.P99.Seconds(), 0.6*r.Client("plain").Latency.P99.Seconds())
		assert.Less(t, r.Client("hedged").Amplification, 1.065)
	}},
	"bulkhead-isolation": {"batch jobs beside interactive calls", sim.Steady, tails("orders", "orders-isolated"), func(t *testing.T, r *sim.Result) {
		assert.Greater(t, r.Client("orders").Latency.P99, 2*r.Client("orders-isolated").Latency.P99)
		assert.Equal(t, r.Client("reports-isolated").Calls, r.Client("reports-isolated").OK)
		assert.Less(t, r.Client("reports-isolated").Latency.Max.Seconds(), 6.0)
	}},
	"adaptive-limit": {"a limit that follows the capacity", sim.Recovered, func(r *sim.Result) string {
		return both("fixed", "adaptive")(r) + fmt.Sprintf("; back after %s and %s", duration(r.Client("fixed").Recovery), duration(r.Client("adaptive").Recovery))
	}, func(t *testing.T, r *sim.Result) {
		assert.Greater(t, ok(r, "adaptive"), ok(r, "fixed")+0.2)
		assert.Greater(t, r.Client("fixed").Recovery.Seconds(), 90.0)
		assert.Less(t, r.Client("adaptive").Recovery.Seconds(), 15.0)
	}},
	"cold-start": {"a restart without and with an adaptive limit", sim.Recovered, func(r *sim.Result) string {
		return fmt.Sprintf("back after %s with full load, after %s with an adaptive limit", duration(r.Client("full-load").Recovery), duration(r.Client("adaptive").Recovery))
	}, func(t *testing.T, r *sim.Result) {
		assert.Greater(t, r.Client("full-load").Recovery.Seconds(), 2*r.Client("adaptive").Recovery.Seconds())
		assert.Less(t, r.Client("adaptive").Recovery.Seconds(), 70.0)
	}},
	"unbounded-queue": {"a queue longer than callers are patient", sim.Recovered, both("unbounded", "bounded"), func(t *testing.T, r *sim.Result) {
		assert.Less(t, ok(r, "unbounded"), 0.6)
		assert.Greater(t, ok(r, "bounded"), 0.85)
	}},
	"fan-out": {"ten backends behind one page", sim.Steady, tails("page", "one-backend"), func(t *testing.T, r *sim.Result) {
		assert.InEpsilon(t, r.Client("one-backend").Latency.P99.Seconds(), r.Client("page").Latency.P90.Seconds(), 0.25)
		assert.Greater(t, r.Client("page").Latency.P99, 8*r.Client("one-backend").Latency.P99)
	}},
}

// TestStories checks, under three seeds, that each preset shows what it says.
func TestStories(t *testing.T) {
	names := presets.List()
	require.GreaterOrEqual(t, len(names), 16)
	assert.Len(t, stories, len(names))
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, found := stories[name]
			require.True(t, found)
			s, err := presets.Load(name)
			require.NoError(t, err)
			sentences := strings.Count(strings.TrimSpace(s.Description)+" ", ". ")
			assert.True(t, sentences >= 3 && sentences <= 6, "the description has %d sentences, not 3 to 6", sentences)
			for seed := range uint64(3) {
				r, err := sim.Run(s, sim.Options{Seed: seed + 1, Seeded: true})
				require.NoError(t, err)
				assert.Equal(t, one.verdict, r.Verdict, "seed %d", seed+1)
				if one.holds(t, r); t.Failed() {
					t.Fatalf("seed %d:\n%s", seed+1, figures(r))
				}
			}
		})
	}
}

// TestGuideOfLLMClients holds what the guide says of the preset, as the command prints it.
func TestGuideOfLLMClients(t *testing.T) {
	s, err := presets.Load("llm-provider")
	require.NoError(t, err)
	r, err := sim.Run(s, sim.Options{})
	require.NoError(t, err)
	guide, err := os.ReadFile("../../docs/llm-clients.md")
	require.NoError(t, err)
	counted := r.Client("counted")
	assert.Contains(t, string(guide), fmt.Sprintf("its own limit refuses %d of %d,%03d calls", counted.Refused, counted.Calls/1000, counted.Calls%1000))
}

func TestOpen(t *testing.T) {
	_, err := presets.Open("retry-storms")
	assert.EqualError(t, err, `preset: found "retry-storms"; allowed: `+strings.Join(presets.List(), ", "))
	_, err = presets.Load("")
	assert.Error(t, err)
}
