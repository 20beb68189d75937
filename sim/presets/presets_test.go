package presets_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/presets"
)

var rewrite = flag.Bool("rewrite", false, "write the numbers of testdata and of docs/simulation.md as they are; read the difference")

// run simulates a preset.
func run(t *testing.T, name string) *sim.Result {
	t.Helper()
	s, err := presets.Load(name)
	require.NoError(t, err)
	r, err := sim.Run(s, sim.Options{})
	require.NoError(t, err)
	return r
}

// rounded has three digits, for people.
func rounded(x float64) string { return fmt.Sprintf("%.3g", x) }

func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

func duration(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	if d > 0 && d < time.Second {
		return rounded(d.Seconds()*1e3) + "ms"
	}
	return rounded(d.Seconds()) + "s"
}

// figures are the headline numbers of a result.
func figures(r *sim.Result) string {
	var w strings.Builder
	fmt.Fprintf(&w, "verdict %s\n", r.Verdict)
	for _, c := range r.Clients {
		fmt.Fprintf(&w, "  client %s: %d calls, ok %s, failed %s, refused %s, goodput %s/s, p50 %s, p90 %s, p99 %s, amplification %s, recovery %s, fairness %s\n",
			c.Name, c.Calls, percent(c.OK, c.Calls), percent(c.Failed, c.Calls), percent(c.Refused, c.Calls), rounded(c.Goodput),
			duration(c.Latency.P50), duration(c.Latency.P90), duration(c.Latency.P99), rounded(c.Amplification), duration(c.Recovery), rounded(c.Fairness))
		for _, one := range c.Refusals {
			fmt.Fprintf(&w, "    refused by %s:%s %s\n", one.Step, one.Reason, percent(one.Calls, c.Calls))
		}
		for _, b := range c.Breakers {
			fmt.Fprintf(&w, "    %s opened %d times, first %s after the fault, open for %s\n", b.Step, b.Opened, duration(b.Delay), duration(b.Open))
		}
	}
	for _, s := range r.Services {
		fmt.Fprintf(&w, "  service %s: arrived %d, dropped %s, refused %s, wasted %s, utilization %s, wait p99 %s\n",
			s.Name, s.Arrived, percent(s.Dropped, s.Arrived), percent(s.Refused, s.Arrived), percent(s.Wasted, s.Served),
			rounded(s.Utilization), duration(s.Wait.P99))
	}
	return w.String()
}

const golden = "testdata/figures.txt"

// TestFigures compares the numbers of all presets with those that people have read.
func TestFigures(t *testing.T) {
	var got strings.Builder
	for _, name := range presets.List() {
		fmt.Fprintf(&got, "%s: %s\n", name, figures(run(t, name)))
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}
