package policy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/tree"
)

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("schema.json", schemaValue(t)))
	schema, err := c.Compile("schema.json")
	require.NoError(t, err)
	return schema
}

func schemaValue(t testing.TB) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(policy.Schema()))
	require.NoError(t, err)
	return value
}

func TestSchemaAcceptsGoodDocuments(t *testing.T) {
	schema := compileSchema(t)
	for _, file := range goodFiles(t) {
		assert.NoError(t, schema.Validate(policy.Plain(readTree(t, file))), file)
	}
}

// readTree returns the tree of a document that can be read.
func readTree(t *testing.T, file string) *tree.Node {
	t.Helper()
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	root, whole := policy.ReadTree(file, src)
	require.True(t, whole, file)
	return root
}

// TestSchemaExplains walks over the schema: every setting has a description, and
// every default and example is one that the schema itself accepts.
func TestSchemaExplains(t *testing.T) {
	root := schemaValue(t)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("schema.json", root))
	defs := root.(map[string]any)["$defs"].(map[string]any)
	explained := 0
	var walk func(pointer string, value any)
	walk = func(pointer string, value any) {
		switch node := value.(type) {
		case []any:
			for i, item := range node {
				walk(pointer+"/"+string(rune('0'+i)), item)
			}
		case map[string]any:
			values, _ := node["examples"].([]any)
			if def, ok := node["default"]; ok {
				values = append(slices.Clone(values), def)
			}
			if len(values) > 0 {
				schema, err := compiler.Compile("schema.json#" + pointer)
				require.NoError(t, err, pointer)
				for _, v := range values {
					assert.NoError(t, schema.Validate(v), pointer)
				}
			}
			properties, _ := node["properties"].(map[string]any)
			for name, property := range properties {
				if _, whole := node["additionalProperties"]; !whole {
					continue // a condition, not a definition
				}
				described := property.(map[string]any)
				if ref, ok := described["$ref"].(string); ok && described["description"] == nil {
					described = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
				}
				assert.NotEmpty(t, described["description"], pointer+"/properties/"+name)
				explained++
			}
			for name, child := range node {
				if name != "examples" && name != "default" {
					walk(pointer+"/"+strings.ReplaceAll(name, "/", "~1"), child)
				}
			}
		}
	}
	walk("", root)
	assert.Greater(t, explained, 60)
}

// TestSchemaExamplesParse parses the whole documents among the examples.
func TestSchemaExamplesParse(t *testing.T) {
	for _, example := range schemaValue(t).(map[string]any)["examples"].([]any) {
		src, err := json.Marshal(example)
		require.NoError(t, err)
		_, err = policy.Parse("example.json", src)
		assert.NoError(t, err)
	}
}

// FuzzSchema compares the schema with the parser: the schema refuses nothing that the
// parser accepts.
func FuzzSchema(f *testing.F) {
	schema := compileSchema(f)
	for _, pattern := range []string{"testdata/samples/*.yaml", "testdata/good/*", "testdata/bad/*.[jy]*"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if _, err := policy.Parse("fuzz", src); err != nil {
			return
		}
		root, _ := policy.ReadTree("fuzz", src)
		if err := schema.Validate(policy.Plain(root)); err != nil {
			t.Fatal(err)
		}
	})
}
