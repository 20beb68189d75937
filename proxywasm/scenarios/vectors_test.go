package scenarios_test

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
	"github.com/sluice-go/sluice/vectors"
)

// TestVectors replays the conformance vectors in Envoy's engine, in a module that is
// compiled as the filter is.
func TestVectors(t *testing.T) {
	module, err := filepath.Abs("../vectors.wasm")
	require.NoError(t, err)
	f, err := vectors.Decode(vectors.V1())
	require.NoError(t, err)
	e := envoytest.Start(t, envoy.Config{Filters: []envoy.Filter{envoy.Wasm{
		Name: "vectors", Module: module, Configuration: base64.StdEncoding.EncodeToString(vectors.V1()),
	}.Filter()}})
	end := fmt.Sprintf(" of %d suites hold", len(f.Suites))
	envoytest.Eventually(t, "the vectors are replayed", func() bool { return strings.Contains(e.Log(), end) })
	assert.Contains(t, e.Log(), fmt.Sprintf("vectors: %d%s", len(f.Suites), end))
}
