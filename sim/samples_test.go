package sim_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/presets"
)

// TestSamplesChangeNothing: what a run decides does not depend on whether events and
// states are sampled, nor on how many parts the timeline has.
func TestSamplesChangeNothing(t *testing.T) {
	scenarios := map[string]*sim.Scenario{}
	for _, pattern := range []string{"testdata/runs/*.yaml", "testdata/good/*.yaml", "report/testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			s, err := sim.Load(file)
			require.NoError(t, err)
			scenarios[file] = s
		}
	}
	for _, name := range []string{"hedging-the-tail", "clock-jump"} {
		s, err := presets.Load(name)
		require.NoError(t, err)
		scenarios[name] = s
	}
	sampled := 0
	for name, s := range scenarios {
		for i := range s.Clients {
			o := sim.Options{Parts: 1}
			var plain, log bytes.Buffer
			if s.Clients[i].Policy != nil {
				o.Client, o.Log = s.Clients[i].Name, &plain
			}
			_, err := sim.Run(s, o)
			require.NoError(t, err)
			o.Parts, o.Sample = 500, 1000
			if o.Log != nil {
				o.Log = &log
			}
			r, err := sim.Run(s, o)
			require.NoError(t, err)
			require.Equal(t, plain.String(), log.String(), "%s of %s", s.Clients[i].Name, name)
			sampled += len(r.Samples)
			o.Sample, o.Log = 0, nil
			again, err := sim.Run(s, o)
			require.NoError(t, err)
			require.Empty(t, again.Samples)
			r.Samples = nil
			require.Equal(t, again, r, name)
		}
	}
	assert.Greater(t, sampled, 1000)
}

// TestSamples follows all events of a small run with their states.
func TestSamples(t *testing.T) {
	s, err := sim.Parse("x.yaml", []byte(`
version: 1
duration: 9s
policies:
  p:
    steps:
      - breaker: {window: {consecutive: 2}, open: 3s}
      - limit: {rate: 1/s, burst: 2, per: [key]}
clients: [{name: c, to: s, arrivals: {constant: 1/s}, policy: p, key: k}]
services: [{name: s, servers: 4, time: 500ms, fail: 100%}]
`), nil)
	require.NoError(t, err)
	show := func(o sim.Options) string {
		r, err := sim.Run(s, o)
		require.NoError(t, err)
		var out strings.Builder
		for _, one := range r.Samples {
			fmt.Fprintf(&out, "%v %s %d %s\n", one.At, one.Event, one.Call, one.Key)
			for _, line := range one.Decisions {
				out.WriteString("  " + line[strings.Index(line, `"decision"`):len(line)-1] + "\n")
			}
			for _, st := range one.States {
				fmt.Fprintf(&out, "  %s: %s -> %s\n", st.Step, st.Before, st.After)
			}
		}
		return out.String()
	}
	assert.Equal(t, `0s call 1 k
  "decision":"admit","attempt":1
  limit:  -> free 1/2
500ms fail 1 k
  "decision":"end","outcome":"fail","attempt":1
  breaker: closed failed 0 in a row -> closed failed 1 in a row
1s call 2 k
  "decision":"admit","attempt":1
  limit: free 2/2 -> free 1/2
1.5s fail 2 k
  "decision":"change","step":"breaker","state":"open"
  "decision":"end","outcome":"fail","attempt":1
  breaker: closed failed 1 in a row -> open until 4.5s
2s call 3 k
  "decision":"reject","step":"breaker","reason":"open","retry_after":"2.5s"
  breaker: open until 4.5s -> open until 4.5s
3s  4 k
  "decision":"reject","step":"breaker","reason":"open","retry_after":"1.5s"
  breaker:  -> open until 4.5s
5s  0 
  "decision":"change","step":"breaker","state":"half-open"
  breaker:  -> half-open failed 0/0 out 1
5.5s  0 
  "decision":"change","step":"breaker","state":"open"
  breaker:  -> open until 8.5s
`, show(sim.Options{Parts: 1, Sample: 5}), "five events, then the first refusal and the changes of the breaker")
}

// TestStatesOfSteps: at the end of each part, the last and shorter one too, the timeline
// has what the steps know.
func TestStatesOfSteps(t *testing.T) {
	s, err := sim.Parse("x.yaml", []byte(`
version: 1
duration: 3500ms
policies:
  p:
    steps:
      - retry: {attempts: 2, budget: {ratio: 10%, minimum: 1/s, window: 10s}}
      - limit: {rate: 1/s, burst: 20}
      - bulkhead: {concurrent: 2, queue: 10, wait: 1m}
  guard: {steps: [{adaptive: {initial: 3, maximum: 3}}, {breaker: {per: [key], window: {consecutive: 2}}}]}
clients: [{name: c, to: s, arrivals: {steps: [{for: 1s, constant: 4/s}]}, policy: p}]
services: [{name: s, servers: 4, time: 1500ms, policy: guard}]
`), nil)
	require.NoError(t, err)
	r, err := sim.Run(s, sim.Options{Parts: 4})
	require.NoError(t, err)
	require.Equal(t, 875*time.Millisecond, r.Timeline.Width)
	steps := r.Timeline.Clients[0].Steps
	require.Len(t, steps, 3)
	assert.Equal(t, sim.StepLine{Step: "retry", Kind: mechanism.Retry, Free: []uint32{10, 10, 10, 10}}, steps[0])
	assert.Equal(t, sim.StepLine{
		Step: "limit", Kind: mechanism.Limit, Limit: []float64{20, 20, 20, 20}, Free: []uint32{16, 17, 18, 19}, Waiting: []uint32{0, 0, 0, 0},
	}, steps[1])
	assert.Equal(t, sim.StepLine{
		Step: "bulkhead", Kind: mechanism.Bulkhead, Limit: []float64{2, 2, 2, 2}, Used: []uint32{2, 2, 2, 0}, Waiting: []uint32{2, 1, 0, 0},
	}, steps[2])
	guard := r.Timeline.Services[0].Steps
	require.Len(t, guard, 1, "a breaker has no number")
	assert.Equal(t, []uint32{2, 2, 2, 0}, guard[0].Used)
	assert.Equal(t, []float64{3, 3, 3, 3}, guard[0].Limit)
	assert.InDeltaSlice(t, []float64{(0.875 + 0.625) / 0.875, 2, 2, (0.375 + 0.625) / 0.875}, r.Timeline.Services[0].Busy, 1e-9)
	assert.Equal(t, []uint32{4, 4, 4, 4}, r.Timeline.Services[0].Servers)
}
