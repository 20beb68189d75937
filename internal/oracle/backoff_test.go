package oracle

import (
	"math"
	"testing"
	"time"

	cfg "github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

func decorrelated() pipeline.Step {
	return pipeline.Step{Config: retry.Config{
		Attempts: 3, Backoff: cfg.Config{Kind: cfg.Decorrelated, Base: second, Max: 9 * second},
	}}
}

// TestSplitMix compares with the published first outputs.
func TestSplitMix(t *testing.T) {
	for seed, want := range map[uint64]uint64{0: 0xe220a8397b1dcdaf, 1234567: 6457827717110365317} {
		if got := splitMix(seed); got != want {
			t.Errorf("%d: got %d, want %d", seed, got, want)
		}
	}
}

func TestDelays(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	for name, c := range map[string]struct {
		backoff cfg.Config
		want    []time.Duration
	}{
		"none":        {cfg.Config{}, []time.Duration{0, 0}},
		"constant":    {constant(7), []time.Duration{7, 7, 7}},
		"linear":      {cfg.Config{Kind: cfg.Linear, Base: 7, Max: 20}, []time.Duration{7, 14, 20}},
		"fibonacci":   {cfg.Config{Kind: cfg.Fibonacci, Base: 10}, []time.Duration{10, 10, 20, 30, 50, 80}},
		"exponential": {cfg.Config{Kind: cfg.Exponential, Base: 10, Factor: 1_500_000, Max: 50}, []time.Duration{10, 15, 22, 33, 50}},
		"saturated":   {cfg.Config{Kind: cfg.Exponential, Base: 1 << 61, Factor: 3_000_000}, []time.Duration{1 << 61, 3 << 61, longest}},
	} {
		for i, want := range c.want {
			if got := delay(c.backoff, i+1, -1, 0); got != int64(want) {
				t.Errorf("%s %d: got %d, want %d", name, i+1, got, want)
			}
		}
	}
}

// TestJitter checks that every jitter draws all of its interval and no more.
func TestJitter(t *testing.T) {
	for name, c := range map[string]struct {
		backoff     cfg.Config
		before      int64
		least, most int64
	}{
		"full":     {cfg.Config{Kind: cfg.Constant, Base: 9, Jitter: cfg.Full}, -1, 0, 9},
		"equal":    {cfg.Config{Kind: cfg.Constant, Base: 9, Jitter: cfg.Equal}, -1, 4, 9},
		"fraction": {cfg.Config{Kind: cfg.Constant, Base: 14, Jitter: cfg.Fraction, Share: reducer.Percent(20)}, -1, 12, 16},
		"first":    {cfg.Config{Kind: cfg.Decorrelated, Base: 3}, -1, 3, 9},
		"later":    {cfg.Config{Kind: cfg.Decorrelated, Base: 3}, 5, 3, 15},
		"cut":      {cfg.Config{Kind: cfg.Decorrelated, Base: 3, Max: 10}, 5, 3, 10},
	} {
		seen := map[int64]bool{}
		for seed := range uint64(500) {
			seen[delay(c.backoff, 1, c.before, seed)] = true
		}
		for d := range seen {
			if d < c.least || d > c.most {
				t.Errorf("%s: drew %d", name, d)
			}
		}
		if int64(len(seen)) != c.most-c.least+1 {
			t.Errorf("%s: drew %v", name, seen)
		}
	}
}
