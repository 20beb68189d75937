package leakybucket_test

import (
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/leakybucket"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/script"
)

func TestScripts(t *testing.T) { script.Limits(t, "testdata", limiter.LeakyBucket) }

// A refund of a permit that no bucket has granted, with a departure at or after the
// next one, returns nothing.
func TestRefundOfAForgedPermit(t *testing.T) {
	m, err := leakybucket.New(leakybucket.Config{Count: 1, Period: 10})
	if err != nil {
		t.Fatal(err)
	}
	const next = clock.Mark(100)
	for departed, want := range map[clock.Mark]clock.Mark{90: 90, 99: 99, 100: next, 101: next, clock.Never: next} {
		if got, ok := m.Refund(leakybucket.State{Next: next}, departed, next, 1, 1, 0); got.Next != want || ok != (want != next) {
			t.Errorf("departed at %v: the next departure is at %v, %t", departed, got.Next, ok)
		}
	}
}
