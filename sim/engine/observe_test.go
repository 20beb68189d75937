package engine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
)

func sum(list []uint32) (n int) {
	for _, one := range list {
		n += int(one)
	}
	return n
}

// TestObserverSeesWhatTheTimelineCounts compares the events of a run with what its
// timeline counts, and its result with the result of a run without an observer.
func TestObserverSeesWhatTheTimelineCounts(t *testing.T) {
	s, err := sim.Load("../testdata/good/everything.yaml")
	require.NoError(t, err)
	type key struct {
		kind engine.EventKind
		name string
	}
	counts := map[key]int{}
	wasted, ends := 0, map[string]int{}
	attempts, changes := 0, 0
	last := engine.Event{}
	r, err := sim.Run(s, sim.Options{Observe: func(e *engine.Event) {
		assert.GreaterOrEqual(t, e.At, last.At)
		last = *e
		counts[key{e.Kind, e.Service}]++
		switch e.Kind {
		case engine.EventCall, engine.EventEnd:
			counts[key{e.Kind, e.Client}]++
			assert.NotZero(t, e.Number)
		}
		switch {
		case e.Kind == engine.EventEnd && e.Refused:
			ends["refused"]++
			assert.NotEmpty(t, e.Step)
		case e.Kind == engine.EventEnd && e.Outcome == reducer.OK:
			ends["ok"]++
		case e.Kind == engine.EventEnd:
			ends["failed"]++
		case e.Kind == engine.EventDecision && e.Process == "web" && e.Decision.Kind == decision.Admit:
			attempts++
		case e.Kind == engine.EventDecision && e.Decision.Kind == decision.Change && e.Process == "web":
			changes++
		}
		if e.Kind == engine.EventAnswer && e.Service == "cache" && e.Wasted {
			wasted++
		}
	}})
	require.NoError(t, err)
	line := r.Timeline
	ok, failed, refused := 0, 0, 0
	for i := range line.Clients {
		c := &line.Clients[i]
		assert.Equal(t, sum(c.Calls), counts[key{engine.EventCall, r.Clients[i].Name}])
		ok, failed, refused = ok+sum(c.OK), failed+sum(c.Failed), refused+sum(c.Refused)
	}
	assert.Equal(t, map[string]int{"ok": ok, "failed": failed, "refused": refused}, ends)
	assert.Equal(t, sum(line.Clients[0].Attempts), attempts)
	assert.Equal(t, len(line.Clients[0].Changes), changes)
	bands := 0
	for i := range line.Services {
		one, name := &line.Services[i], r.Services[i].Name
		assert.Equal(t, sum(one.Arrived), counts[key{engine.EventArrival, name}], name)
		assert.Equal(t, sum(one.Dropped), counts[key{engine.EventDrop, name}], name)
		assert.GreaterOrEqual(t, counts[key{engine.EventStart, name}], sum(one.Served), name)
		assert.Equal(t, len(one.Bands), counts[key{engine.EventFault, name}], name)
		bands += len(one.Bands)
	}
	assert.Equal(t, sum(line.Services[2].Wasted), wasted)
	assert.NotZero(t, wasted)
	assert.NotZero(t, bands)

	plain, err := sim.Run(s, sim.Options{})
	require.NoError(t, err)
	assert.Equal(t, plain, r)
}
