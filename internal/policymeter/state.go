package policymeter

import (
	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/internal/durations"
	"github.com/sluice-go/sluice/internal/metricnames"
)

// breakerStates are the names that a breaker's state has, those set by hand included.
var breakerStates = [...]string{
	breaker.Closed.String(), breaker.Open.String(), breaker.HalfOpen.String(),
	breaker.ForcedOpen.String(), breaker.ForcedClosed.String(), breaker.MetricsOnly.String(),
}

// State calls f with the state of the steps, and waited with the waits of those that have
// a queue. A pipeline has all of it from the beginning.
func State(p *sluice.Pipeline, f func(Point), waited func(durations.Snapshot, ...string)) {
	name := p.Name()
	for _, s := range p.State() {
		value := func(m metricnames.Metric, v uint64, labels ...string) {
			f(Point{m, v, append([]string{name, s.Step}, labels...)})
		}
		if facts := mechanisms.Facts(s.Kind); facts != nil && facts.Queue != nil {
			value(metricnames.QueueLength, uint64(s.Waiting))
			waited(durations.Snapshot{Sum: s.Waited, Counts: s.WaitTimes}, name, s.Step)
		}
		switch {
		case s.Mode != "":
			for _, state := range breakerStates {
				on := uint64(0)
				if s.Mode == state {
					on = 1
				}
				value(metricnames.BreakerState, on, state)
			}
		case s.Counted:
			value(metricnames.Free, uint64(s.Free))
			if row := mechanisms.Row(s.Kind); row != nil && row.Traits&mechanism.Holds != 0 {
				value(metricnames.InUse, uint64(s.Cell.InUse))
				value(metricnames.Places, uint64(s.Cell.Places))
			}
		default:
			value(metricnames.Keys, uint64(s.Keys))
			value(metricnames.KeyBytes, s.Bytes)
			value(metricnames.KeyEvictions, s.Evictions)
			value(metricnames.KeyShared, s.Shared)
			value(metricnames.KeyUnblocked, s.Unblocked)
		}
	}
}
