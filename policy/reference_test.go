package policy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
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

// TestDefaultsAreOnThePage looks for every default of a policy that states nothing else: as
// the default of its setting, or of the setting that it is a part of.
func TestDefaultsAreOnThePage(t *testing.T) {
	page, err := os.ReadFile("REFERENCE.md")
	require.NoError(t, err)
	part1, _, _ := strings.Cut(string(page), "# Part 2")
	found := 0
	for _, given := range []string{
		`{"timeout":{"after":"10s"}}`,
		`{"retry":{}}`, `{"retry":{"backoff":{"exponential":"1s"},"budget":"30%"}}`, `{"retry":{"budget":{"tokens":500}}}`, `{"retry":{"budget":{"adaptive":"10s"}}}`,
		`{"hedge":{"after":"p95"}}`, `{"hedge":{"after":"1s"}}`,
		`{"breaker":{"ramp":{"over":"11s"}}}`, `{"breaker":{"window":{"time":"11s"}}}`, `{"breaker":{"window":{"consecutive":5}}}`,
		`{"limit":{"rate":"9/7s","wait":"77ms"}}`, `{"limit":{"rate":"9/7s","block":{"for":{"exponential":"11ms"}},"per":"key"}}`,
		`{"limit":{"rate":"9/7s","warm_up":{"over":"11ms"}}}`, `{"limit":{"rate":"9/day","charge":"settle"}}`,
		`{"bulkhead":{"concurrent":7}}`, `{"bulkhead":{"concurrent":7,"wait":"11ms"}}`,
		`{"adaptive":{}}`,
		`{"chaos":{"slow":{"rate":"7%","by":"11ms"}}}`,
	} {
		p, err := policy.ParseOne("policy.json", []byte(`{"steps":[`+given+`]}`))
		require.NoError(t, err, given)
		var printed struct{ Steps []map[string]any }
		require.NoError(t, json.Unmarshal(policy.BodyJSON(p.Policy), &printed), given)
		var stated map[string]any
		require.NoError(t, json.Unmarshal([]byte(given), &stated), given)
		said := leaves(stated, "")
		for path, value := range leaves(printed.Steps[0], "") {
			if said[path] == value || value == "0%" || strings.HasSuffix(path, ".name") || slices.Contains(derived, path) {
				continue
			}
			found++
			assert.Truef(t, defaultOnPage(part1, path, value), "%s: the page does not say that the default of %s is %s", given, path, value)
		}
	}
	assert.Greater(t, found, 60)
}

// derived are the settings whose default the table describes by other settings.
var derived = []string{"limit.burst", "limit.settle_max", "chaos.slow.to", "retry.budget.ratio"}

// leaves returns the values of a tree by their paths.
func leaves(node any, path string) map[string]string {
	all := map[string]string{}
	fields, ok := node.(map[string]any)
	if !ok {
		all[path] = fmt.Sprint(node)
	}
	for name, child := range fields {
		maps.Copy(all, leaves(child, strings.TrimPrefix(path+"."+name, ".")))
	}
	return all
}

// defaultOnPage reports whether a row of the tables of a mechanism, of backoffs, of budgets
// or of the common settings has the default.
func defaultOnPage(page, path, value string) bool {
	names := strings.Split(path, ".")
	// As people write durations and rates.
	value = strings.NewReplacer("h0m0s", "h", "m0s", "m", "/1s", "/s").Replace(value)
	has := regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(strings.Trim(value, "[]")) + `($|[^\w.%])`)
	for last := len(names); last > 1; last-- {
		for section, name := range map[string]string{
			"### " + names[0]: strings.Join(names[1:last], "."), "#### backoff": names[last-1], "#### budget": names[last-1], "### Common settings": names[last-1],
		} {
			_, text, _ := strings.Cut(page, "\n"+section+"\n")
			text, _, _ = strings.Cut(text, "\n### ")
			for _, row := range strings.Split(text, "\n") {
				cells := strings.Split(row, "|")
				if len(cells) > 4 && cells[1] == " `"+name+"` " && has.MatchString(strings.ReplaceAll(cells[4], ",0", "0")) {
					return true
				}
			}
		}
	}
	return false
}
