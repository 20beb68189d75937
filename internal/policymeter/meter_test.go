package policymeter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

type ends []string

func (x *ends) Ended(o reducer.Outcome, _ context.Context, _ time.Duration) {
	*x = append(*x, Outcome(o))
}

// TestOtherKinds counts no events that are not decisions, events of a later version included.
func TestOtherKinds(t *testing.T) {
	m := &Meter[*ends]{policy: "a", calls: &ends{}}
	for kind := decision.Kind(200); kind < 203; kind++ {
		m.Observe(&sluice.Event{Policy: "a", Kind: kind})
	}
	for _, kind := range []decision.Kind{decision.Granted, decision.Slow, decision.Evicted, decision.Drained} {
		m.Observe(&sluice.Event{Policy: "a", Step: "limit", Kind: kind})
	}
	m.Observe(&sluice.Event{Kind: decision.Timeout, Step: "timeout", Soft: true})
	found := map[string]uint64{}
	m.Points(func(p Point) {
		assert.NotContains(t, found, p.Labels[2], "a series twice")
		found[p.Labels[2]] = p.Value
	})
	assert.Equal(t, map[string]uint64{"admit": 0, "end": 0, "soft-timeout": 1}, found)
	assert.Empty(t, *m.calls)
}

// TestEnds passes on the ends of calls, and not the ends of a step in shadow.
func TestEnds(t *testing.T) {
	m := &Meter[*ends]{policy: "a", calls: &ends{}}
	for _, e := range []sluice.Event{
		{Kind: decision.Admit},
		{Kind: decision.End, Outcome: reducer.OK},
		{Kind: decision.End, Outcome: reducer.Fail, Reason: reducer.ReasonAttempts},
		{Kind: decision.Reject, Step: "limit", Reason: reducer.ReasonRate},
		{Kind: decision.Reject, Step: "limit", Reason: reducer.ReasonRate, Shadow: true},
		{Kind: decision.Drop, Step: "limit", Reason: reducer.ReasonRate},
		{Kind: decision.Expire, Step: "limit", Reason: reducer.ReasonWait},
	} {
		m.Observe(&e)
	}
	assert.Equal(t, ends{"ok", "fail", "refused", "refused"}, *m.calls)
}
