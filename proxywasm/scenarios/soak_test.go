package scenarios_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
	"github.com/sluice-go/sluice/internal/testenv"
)

// TestSoakMemory sends many requests, a million in a soak: Envoy's memory stays as it is
// after the first fifth of them.
func TestSoakMemory(t *testing.T) {
	requests := int64(50_000)
	if testenv.Soak() > 0 {
		requests = 1_000_000
	}
	inEachState(t, func(t *testing.T, s *site) {
		load := envoy.Load{Address: s.Address(), Path: "/memory/", Connections: 32, Requests: requests / 5, Header: []string{"X-Tenant: a"}}
		envoytest.Send(t, load)
		before, err := envoy.Memory(s.Process())
		require.NoError(t, err)
		load.Requests = requests - load.Requests
		result := envoytest.Send(t, load)
		after, err := envoy.Memory(s.Process())
		require.NoError(t, err)
		assert.Equal(t, load.Requests, result.Statuses[200]+result.Statuses[429]+result.Statuses[503])
		assert.Less(t, float64(after), 1.05*float64(before))
		t.Logf("%d requests in %s: %d KB, then %d KB", load.Requests, result.Elapsed, before>>10, after>>10)
	})
}
