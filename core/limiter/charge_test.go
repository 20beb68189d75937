package limiter_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// Permits of a call that ran change at its end where the limit is charged then, where it is settled,
// and where some outcomes give them back; and in no other configuration.
func TestSettles(t *testing.T) {
	for _, c := range []struct {
		charge limiter.Charge
		counts limiter.Outcomes
		want   bool
	}{
		{limiter.ChargeStart, 0, false},
		{limiter.ChargeSettle, 0, true},
		{limiter.ChargeEnd, 0, true},
		{limiter.ChargeStart, limiter.OutcomesOf(reducer.Fail), true},
		{limiter.ChargeEnd, limiter.OutcomesOf(reducer.Fail), true},
	} {
		if got := (limiter.Config{Charge: c.charge, Counts: c.counts}).Settles(); got != c.want {
			t.Errorf("charge %d, counts %d: settles %t", c.charge, c.counts, got)
		}
	}
}
