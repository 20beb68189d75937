package config_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/proxywasm/config"
)

// field appends a field with a length.
func field(out []byte, number byte, content []byte) []byte {
	out = binary.AppendUvarint(append(out, number<<3|2), uint64(len(content)))
	return append(out, content...)
}

// structOf and valueOf encode what encoding/json has decoded as struct.proto says.
func structOf(entries map[string]any) (out []byte) {
	for key, value := range entries {
		out = field(out, 1, field(field(nil, 1, []byte(key)), 2, valueOf(value)))
	}
	return out
}

func valueOf(value any) []byte {
	switch v := value.(type) {
	case bool:
		if v {
			return []byte{4 << 3, 1}
		}
		return []byte{4 << 3, 0}
	case float64:
		return binary.LittleEndian.AppendUint64([]byte{2<<3 | 1}, math.Float64bits(v))
	case string:
		return field(nil, 3, []byte(v))
	case map[string]any:
		return field(nil, 5, structOf(v))
	case []any:
		var list []byte
		for _, item := range v {
			list = field(list, 1, valueOf(item))
		}
		return field(nil, 6, list)
	}
	return []byte{1 << 3, 0}
}

func samples(t *testing.T) (sources [][]byte) {
	t.Helper()
	files, err := filepath.Glob("../../policy/testdata/samples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		src, err = policy.ToJSON(file, src)
		require.NoError(t, err)
		sources = append(sources, src)
	}
	return sources
}

// TestStructIsJSON reads documents as JSON whose keys are sorted, and as a Struct, whose
// entries come in random order: except for places they are the same.
func TestStructIsJSON(t *testing.T) {
	for _, src := range samples(t) {
		var plain map[string]any
		require.NoError(t, json.Unmarshal(src, &plain))
		sorted, err := json.Marshal(plain)
		require.NoError(t, err)
		root, bad := config.Read(sorted)
		require.Nil(t, bad)
		want, err := document.Read("policy", root, nil)
		require.NoError(t, err)
		root, bad = config.Read(structOf(plain))
		require.Nil(t, bad)
		got, err := document.Read("policy", root, nil)
		require.NoError(t, err)
		require.Len(t, got.Policies, len(want.Policies))
		for i := range want.Policies {
			assert.Equal(t, want.Policies[i].Name, got.Policies[i].Name)
			assert.Equal(t, want.Policies[i].Policy, got.Policies[i].Policy)
			assert.Equal(t, want.Policies[i].Outcomes, got.Policies[i].Outcomes)
		}
		require.Len(t, got.Routes, len(want.Routes))
		for i := range want.Routes {
			want.Routes[i].Line, want.Routes[i].Column = 0, 0
			assert.Equal(t, want.Routes[i], got.Routes[i])
		}
		assert.Equal(t, want.HTTP, got.HTTP)
		assert.Equal(t, want.Proxy, got.Proxy)
	}
}

// TestStructErrors has errors without places.
func TestStructErrors(t *testing.T) {
	root, bad := config.Read(structOf(map[string]any{"version": 1.5, "policies": map[string]any{"a": map[string]any{"steps": []any{map[string]any{"limit": "5"}}}}}))
	require.Nil(t, bad)
	_, err := document.Read("policy", root, nil)
	require.Error(t, err)
	assert.Contains(t, err.Error(), "policy: version: found the number 1.5; allowed ")
	assert.Contains(t, err.Error(), `policy: policies.a.steps[0].limit: found `)
}

// TestNumbersOfStructs have the text that a document in JSON has.
func TestNumbersOfStructs(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", -1: "-1", 1.5: "1.5", 0.1: "0.1", 0.001: "0.001", -2.25: "-2.25", 1e6: "1000000", 1 << 52: "4503599627370496",
		1e300: "out of range", math.Inf(-1): "out of range", math.Pi: "out of range",
	} {
		root, bad := config.Read(structOf(map[string]any{"x": x}))
		require.Nil(t, bad)
		require.Len(t, root.Items, 1)
		assert.Equal(t, tree.Number, root.Items[0].Kind)
		assert.Equal(t, want, root.Items[0].Text)
	}
	root, bad := config.Read(structOf(map[string]any{"x": math.NaN()}))
	require.Nil(t, bad)
	assert.Equal(t, "out of range", root.Items[0].Text)
}

// TestBrokenStructs changes bytes of a Struct: what is none is read as JSON, whose error
// is the answer, and nothing panics.
func TestBrokenStructs(t *testing.T) {
	random := rand.New(rand.NewPCG(testenv.Seed(), 0))
	var plain map[string]any
	require.NoError(t, json.Unmarshal(samples(t)[0], &plain))
	whole := structOf(plain)
	for range 20_000 * testenv.Times() {
		src := append([]byte(nil), whole[:random.IntN(len(whole))+1]...)
		for range random.IntN(3) {
			src[random.IntN(len(src))] = byte(random.Uint32())
		}
		root, bad := config.Read(src)
		assert.NotEqual(t, root == nil, bad == nil)
	}
	deep := any("x")
	for range tree.MaxDepth + 2 {
		deep = []any{deep}
	}
	_, bad := config.Read(structOf(map[string]any{"x": deep}))
	assert.NotNil(t, bad)
	_, bad = config.Read(nil)
	assert.NotNil(t, bad)
}
