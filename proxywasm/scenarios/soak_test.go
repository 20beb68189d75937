package scenarios_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
	"github.com/sluice-go/sluice/internal/testenv"
)

// TestFlatMemory sends many requests, a million in a soak: Envoy's memory stays as it is
// after the first tenth of them.
func TestFlatMemory(t *testing.T) {
	requests := int64(50_000)
	if testenv.Soak() > 0 {
		requests = 1_000_000
	}
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, document(state, `{"limit":{"rate":"1000/1s","per":"header:x-tenant"}},{"breaker":{"window":{"calls":100}}},{"bulkhead":{"concurrent":100}}`), "")
		load := envoy.Load{Address: e.Address(), Connections: 32, Requests: requests / 10, Header: []string{"X-Tenant: a"}}
		envoytest.Send(t, load)
		before, err := envoy.Memory(e.Process())
		require.NoError(t, err)
		load.Requests = requests - requests/10
		result := envoytest.Send(t, load)
		after, err := envoy.Memory(e.Process())
		require.NoError(t, err)
		assert.Equal(t, load.Requests, result.Statuses[200]+result.Statuses[429]+result.Statuses[503])
		assert.Less(t, float64(after), 1.1*float64(before))
		t.Logf("%d requests: %d KB, then %d KB", requests, before>>10, after>>10)
	})
}
