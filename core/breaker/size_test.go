package breaker_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/internal/script"
)

// A breaker of up to 320 calls is 160 bytes without a pointer.
func TestSize(t *testing.T) {
	script.Sized[breaker.State](t, 160)
	c := breaker.Config{Count: 320, Minimum: 1, FailureRate: 500_000, Open: backoff.Config{Kind: backoff.Constant, Base: 1}, Probes: 11}
	if !breaker.Fits(c) {
		t.Error("320 calls and 11 probes do not fit the small state")
	}
	c.Count++
	if breaker.Fits(c) {
		t.Error("321 calls fit the small state")
	}
	if _, err := breaker.New(c); err == nil {
		t.Error("New takes what does not fit")
	}
	m, err := breaker.NewLarge(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(m.Init(0).Words); got != m.Words() || got != 12 {
		t.Errorf("321 calls have %d words, want 12", got)
	}
}
