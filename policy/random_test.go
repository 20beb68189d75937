package policy_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/randompolicy"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// beyond are the errors that a schema cannot find, in the words of the parser.
var beyond = []string{
	"less than after", "at most the window's calls", "a second step of the name", "at most one permit a nanosecond",
	"at most 53375d23h", "a nanosecond for each of the", "one for each bucket",
	"at least the base", "at most the default max", "at most the samples", "a retry above the hedge",
	"at least the minimum", "at most the maximum",
}

// TestSchemaAgrees compares parser, schema and core on random policies: the schema
// accepts and the core compiles what the parser accepts; the parser refuses what the
// schema accepts only for rules that a schema cannot express.
func TestSchemaAgrees(t *testing.T) {
	schema := compileSchema(t)
	random := rand.New(rand.NewPCG(7, 8))
	accepted, refused := 0, 0
	for range 6_000 {
		src := `{"version":1,"policies":{"a":{"steps":` + randompolicy.Steps(random) + `}}}`
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(src))
		require.NoError(t, err, src)
		doc, err := policy.Parse("p.json", []byte(src))
		invalid := schema.Validate(value)
		if err == nil {
			accepted++
			require.NoError(t, invalid, src)
			_, err = pipeline.Compile(doc.Policies[0].Policy)
			require.NoError(t, err, src)
			continue
		}
		refused++
		if invalid == nil {
			for _, one := range err.(policy.Errors) {
				require.True(t, slices.ContainsFunc(beyond, func(text string) bool {
					return strings.Contains(one.Found+"; "+one.Allowed, text)
				}), "%s\n%s", src, one)
			}
		}
	}
	assert.Greater(t, accepted, 900)
	assert.Greater(t, refused, 900)
}

// TestYAMLIsJSON reads every good document as YAML and, translated, as JSON: except
// for the places they are the same.
func TestYAMLIsJSON(t *testing.T) {
	for _, file := range goodFiles(t) {
		doc := parseFile(t, file)
		yaml, err := os.ReadFile(file)
		require.NoError(t, err)
		src, err := policy.ToJSON(file, yaml)
		require.NoError(t, err)
		again, err := policy.ToJSON("p.json", src)
		require.NoError(t, err)
		assert.Equal(t, string(src), string(again))
		translated, err := document.ParseJSON("p.json", src)
		require.NoError(t, err, file)
		require.Len(t, translated.Policies, len(doc.Policies))
		for i := range doc.Policies {
			want := &doc.Policies[i]
			got := translated.Lookup(want.Name)
			assert.Equal(t, want.Policy, got.Policy)
			assert.Equal(t, want.Outcomes, got.Outcomes)
			assert.Equal(t, want.Methods, got.Methods)
			assert.Equal(t, want.HedgeMethods, got.HedgeMethods)
		}
		assert.Equal(t, doc.HTTP, translated.HTTP)
		assert.Equal(t, doc.Proxy, translated.Proxy)
		require.Len(t, translated.Routes, len(doc.Routes))
		for i, want := range doc.Routes {
			got := translated.Routes[i]
			got.Line, got.Column = want.Line, want.Column
			assert.Equal(t, want, got)
		}
	}
}
