package filtertest

import (
	"encoding/base64"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
	"github.com/sluice-go/sluice/vectors"
)

// TestVectors replays the conformance vectors in a module that is compiled as the filter is.
// proxywasm/scenarios does the same in Envoy.
func TestVectors(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile("../../vectors.wasm")
	require.NoError(t, err)
	code, err := host.Compile(module, host.Envoy140)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, code.Close()) })
	replay := func(f *vectors.File) string {
		file, err := f.Encode()
		require.NoError(t, err)
		p := newProcess(t)
		filter, err := p.Load(host.Plugin{Name: "vectors", Config: []byte(base64.StdEncoding.EncodeToString(file)), VM: host.VM{ID: "vectors", Code: code}})
		require.NoError(t, err, "%v", p.Logs())
		for filter.Worker(0).TickPeriod() > 0 {
			require.True(t, filter.Worker(0).Tick(), "%v", p.Logs())
		}
		return p.LogText("vectors")
	}
	f, err := vectors.Decode(vectors.V1())
	require.NoError(t, err)
	assert.Contains(t, replay(f), fmt.Sprintf("vectors: %d of %d suites hold", len(f.Suites), len(f.Suites)))

	f.Suites = f.Suites[:3]
	f.Suites[1].Digests[2] ^= 1
	text := replay(f)
	assert.Contains(t, text, "vectors: 2 of 3 suites hold")
	assert.Contains(t, text, f.Suites[1].Name+": steps 64 to 96 came to other bytes")
}
