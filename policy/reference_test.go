package policy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/policy"
)

// TestReference parses the documents and the policies in the reference page, and
// looks for every setting of the schema in it. Package eval runs its logs.
func TestReference(t *testing.T) {
	page, err := os.ReadFile("REFERENCE.md")
	require.NoError(t, err)
	documents, bodies, wrong := 0, 0, 0
	promised := ""
	for _, block := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		kind, src := block[1], block[2]
		switch {
		case kind == "text":
			promised = src
		case kind == "bad":
			_, err := policy.Parse("policy.yaml", []byte(src))
			require.Error(t, err)
			assert.Equal(t, promised, err.Error()+"\n")
			wrong++
		case kind == "yaml" && strings.HasPrefix(src, "version:"):
			_, err := policy.Parse("policy.yaml", []byte(src))
			assert.NoError(t, err)
			documents++
		case kind == "yaml":
			_, err := policy.ParseOne("policy.yaml", []byte(src))
			assert.NoError(t, err, src)
			bodies++
		}
	}
	assert.Equal(t, []int{6, 15, 1}, []int{documents, bodies, wrong})

	var walk func(value any)
	walk = func(value any) {
		switch node := value.(type) {
		case []any:
			for _, item := range node {
				walk(item)
			}
		case map[string]any:
			properties, _ := node["properties"].(map[string]any)
			for name := range properties {
				assert.Regexp(t, "[`{ ]"+regexp.QuoteMeta(name)+"[`:,} ]", string(page))
			}
			for _, child := range node {
				walk(child)
			}
		}
	}
	walk(schemaValue(t))
}
