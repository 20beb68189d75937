package simulation

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/report/lanes"
	"github.com/sluice-go/sluice/wasm/abi"
)

const document = `{"version":1,"duration":"20s","policies":{"p":{"steps":[{"limit":"90/s"}]}},` +
	`"clients":[{"name":"web","to":"vendor","policy":"p","arrivals":{"poisson":"1000/s"}}],"services":[{"name":"vendor","time":"1ms"}]}`

func newSimulator(t *testing.T, flags uint32) *Simulator {
	s := &Simulator{Module: &abi.Module{}}
	require.Zero(t, s.Reserve(uint32(len(document))))
	n := copy(s.Buffer, document)
	require.Zero(t, s.Simulate(uint32(n), 0, flags, 0, 0, 0, 0), s.text())
	return s
}

func (s *Simulator) text() string { return string(s.Buffer[:s.Slots.Size]) }

// TestOutputs: what is taken part by part is what a run writes at once.
func TestOutputs(t *testing.T) {
	config, err := sim.Parse("scenario.json", []byte(document), nil)
	require.NoError(t, err)
	var log, events bytes.Buffer
	want, err := sim.Run(config, sim.Options{Log: &log, Events: &events})
	require.NoError(t, err)
	s := newSimulator(t, FlagLog|FlagEvents)
	var taken [outputs]string
	for part := int32(0); part < Over; {
		part = s.Run(1 << 30)
		for kind := range taken {
			require.GreaterOrEqual(t, s.Take(uint32(kind)), int32(0))
			assert.Less(t, int(s.Slots.Size), 3*most/2, "run returns before the outputs are large")
			taken[kind] += s.text()
		}
	}
	assert.Greater(t, log.Len(), most)
	assert.Equal(t, log.String(), taken[OutputLog])
	assert.Equal(t, events.String(), taken[OutputEvents])
	s.Result()
	assert.Equal(t, string(want.AppendJSON(nil)), s.text())
	s.Lanes()
	assert.Equal(t, string(lanes.DataOf(want).AppendJSON(nil)), s.text())
}

// TestMarks: marks count what the result counts, and have the latencies in full.
func TestMarks(t *testing.T) {
	s := newSimulator(t, FlagMarks)
	var taken [outputs]string
	for part := int32(0); part < Over; {
		part = s.Run(1000)
		for kind := range taken {
			s.Take(uint32(kind))
			taken[kind] += s.text()
		}
	}
	assert.Equal(t, "web\n\nvendor\n", taken[OutputNames])
	count := map[byte]uint64{}
	slowest := int64(0)
	for all := []byte(taken[OutputMarks]); len(all) > 0; all = all[MarkSize:] {
		count[all[0]]++
		slowest = max(slowest, int64(binary.LittleEndian.Uint64(all[16:])))
	}
	web := s.result.Client("web")
	assert.Equal(t, map[byte]uint64{MarkCall: web.Calls, MarkArrival: web.Attempts, MarkOK: web.OK}, count)
	assert.EqualValues(t, web.Latency.Max, slowest)
}

// TestMemory: a run stops for the collector, and at the limit.
func TestMemory(t *testing.T) {
	s := newSimulator(t, 0)
	s.Full = func() bool { return true }
	require.Zero(t, s.Run(1<<30))
	s.Full = nil
	s.Exceeded = func() bool { return true }
	assert.Equal(t, abi.NoMemory, s.Run(1))
	assert.Equal(t, abi.BadHandle, s.Result())
	s.Exceeded = nil
	assert.EqualValues(t, Over, s.Run(1<<30))
}
