package abi

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/reducer"
)

// full makes memory refuse everything, or what is made alone.
func full(m *Module, spare bool) {
	m.Memory.Tight = true
	m.Memory.Room = func(_, _, what uint32) bool { return spare && what == forCall }
}

func body(t *testing.T, m *Module, steps string) uint32 {
	t.Helper()
	src := `{"steps": [` + steps + `]}`
	require.Zero(t, m.Reserve(uint32(len(src))))
	copy(m.Buffer, src)
	p := m.Body(uint32(len(src)))
	require.Positive(t, p, "%s", m.Buffer[:m.Slots.Size])
	return uint32(p)
}

// TestFullMemory: what would be made is refused by a code and changes nothing; what
// exists works.
func TestFullMemory(t *testing.T) {
	m := &Module{}
	plan := body(t, m, `{"limit": {"rate": "1/1h", "per": "key"}}, {"breaker": {"window": {"time": "10s", "buckets": 1000}}}`)
	maker := uint32(m.MakerOf(plan, 1))
	cell := uint32(m.Cell(maker, 0))
	pipeline := uint32(m.Pipeline(plan, 1, 2))
	m.Slots.Keys[0] = 1
	begin := func(key uint32, now float64) int32 {
		m.Slots.Keys[0] = key
		return m.Begin(pipeline, 1, 0, math.NaN(), now)
	}
	require.EqualValues(t, 1, begin(1, 1))
	slot, generation := m.Slots.Slot, m.Slots.Generation
	owed := m.Memory.owed

	full(m, false)
	for name, code := range map[string]int32{
		"buffer": m.Reserve(1 << 20), "body": m.Body(10), "plan": m.Plan(10, 0), "maker": m.MakerOf(plan, 1),
		"cell": m.Cell(maker, 0), "pipeline": m.Pipeline(plan, 1, 2), "configure": m.Configure(pipeline, plan, 5),
		"a new key": begin(2, 5), "a call beside another": begin(1, 5), "save": m.Save(pipeline, 0, 1), "state": m.State(cell),
		"load": m.Load(pipeline, 0, 2, 10, 0, 5), "restore": m.Restore(cell, 10, 0, 5), "reduce": m.Reduce(maker, 60),
		"the first outcome of a window": m.Acquire(cell, 1, 0, 5), "adopt": m.Adopt(cell, maker, 5),
	} {
		assert.Equal(t, NoMemory, code, name)
	}
	m.Acquire(cell, 1, 0, 5)
	assert.Equal(t, "the memory of the instance has reached its limit", string(m.Buffer[:m.Slots.Size]))
	assert.Equal(t, owed, m.Memory.owed)
	assert.EqualValues(t, 1, m.get(pipeline).driver.Now()/1e6, "time did not pass")

	assert.Positive(t, m.Done(pipeline, slot, generation, 0, uint32(reducer.OK), math.NaN(), 6), "an end is not refused")
	assert.Positive(t, begin(1, 7), "a known key, in the memory of the call that is over")
	assert.Equal(t, NoMemory, begin(2, 7))

	full(m, true)
	assert.EqualValues(t, reducer.Admit, m.Acquire(cell, 1, 0, 8), "what is spare is for what exists")
	assert.EqualValues(t, reducer.Done, m.Step(cell, uint32(reducer.Record), uint32(reducer.OK), 0, 8))
	assert.Positive(t, m.Save(pipeline, 0, 1))
	assert.Equal(t, NoMemory, begin(2, 8))

	m.Memory.Room = func(_, _, _ uint32) bool { return true }
	assert.Positive(t, begin(2, 9))
	for _, handle := range []uint32{plan, maker, cell, pipeline} {
		assert.Zero(t, m.Free(handle))
	}
	assert.Zero(t, m.Memory.owed, "nothing is owed to what is freed")
}

// TestRefusedBatch: a batch that memory has no room for does not begin.
func TestRefusedBatch(t *testing.T) {
	m := &Module{}
	pipeline := uint32(m.Pipeline(body(t, m, `{"limit": "5/1h"}`), 1, 2))
	events := make([]byte, 3*EventSize)
	for i := range 3 {
		events[i*EventSize], events[i*EventSize+4] = OpBegin, 1
	}
	play := func(n int) int32 {
		copy(m.Buffer, events)
		return m.Batch(pipeline, uint32(n*EventSize))
	}
	require.Zero(t, m.Reserve(uint32(len(events))))
	full(m, false)
	assert.Equal(t, NoMemory, play(3))
	assert.Empty(t, m.Decisions)
	assert.EqualValues(t, 1, play(1), "the first call was counted when the pipeline was made")
	events[0] = OpTick
	assert.EqualValues(t, 0, play(1), "time passes")
	events[0] = OpBegin
	assert.Equal(t, NoMemory, play(1))
	full(m, true)
	assert.EqualValues(t, 3, play(3))
}
