package sim_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/sluice-go/sluice/sim"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the errors of bad scenarios")

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(sim.Schema()))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", value))
	compiled, err := c.Compile("schema.json")
	require.NoError(t, err)
	return compiled
}

// plain returns a document as the schema's library has it.
func plain(t *testing.T, src []byte) (value any) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal(src, &value))
	return value
}

func TestGoodScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		s, err := sim.Load(file)
		require.NoError(t, err, file)
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NoError(t, schema(t).Validate(plain(t, src)), file)
		_, err = sim.Run(s, sim.Options{})
		assert.NoError(t, err, file)
	}
}

// TestPoliciesOfScenarios: policies of a scenario may pass and extend one another.
func TestPoliciesOfScenarios(t *testing.T) {
	src := []byte(`version: 1
duration: 1s
policies:
  b: {extends: a, add: [{limit: 1/1h}]}
  a: {steps: [{timeout: 5s}]}
  none: {pass: true}
clients:
  - {name: limited, to: api, arrivals: {constant: 5/s}, policy: b}
  - {name: free, to: api, arrivals: {constant: 5/s}, policy: none}
services: [{name: api, time: 1ms}]
`)
	s, err := sim.Parse("s.yaml", src, nil)
	require.NoError(t, err)
	assert.NoError(t, schema(t).Validate(plain(t, src)))
	assert.Len(t, s.Clients[0].Policy.Steps, 2)
	r, err := sim.Run(s, sim.Options{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, r.Clients[0].OK)
	assert.EqualValues(t, r.Clients[1].Calls, r.Clients[1].OK)
}

// TestBadScenarios compares all errors of a document with a file beside it.
func TestBadScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		_, err := sim.Load(file)
		require.Error(t, err, file)
		golden := strings.TrimSuffix(file, ".yaml") + ".txt"
		if *rewrite {
			require.NoError(t, os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644))
		}
		want, readErr := os.ReadFile(golden)
		require.NoError(t, readErr)
		assert.Equal(t, string(want), err.Error()+"\n", file)
		src, readErr := os.ReadFile(file)
		require.NoError(t, readErr)
		assert.Error(t, schema(t).Validate(plain(t, src)), file)
	}
}

// TestSchemaHasEachNameOnce: definitions of the scenario and of the policy document are
// in one map.
func TestSchemaHasEachNameOnce(t *testing.T) {
	decoder := yaml.NewDecoder(bytes.NewReader(sim.Schema())) // which refuses a key that is there twice
	var value any
	assert.NoError(t, decoder.Decode(&value))
}

// TestPolicyFile: the policies of a file are added to the policies of the scenario. A file is
// beside the scenario, and what is wrong with it is an error of the setting.
func TestPolicyFile(t *testing.T) {
	s, err := sim.Load("testdata/files/scenario.yaml")
	require.NoError(t, err)
	require.Len(t, s.Policies, 3)
	assert.Equal(t, "vendor", s.Clients[0].Policy.Name)
	r, err := sim.Run(s, sim.Options{})
	require.NoError(t, err)
	assert.InDelta(t, 50*10+10, r.Client("web").OK, 10)

	src, err := os.ReadFile("testdata/files/scenario.yaml")
	require.NoError(t, err)
	for change, want := range map[string]string{
		"policies.yaml|nothing.yaml":  "policy_file: found the text \"nothing.yaml\"; allowed a policy document that can be read: open testdata/files/nothing.yaml: no such file or directory",
		"policies.yaml|scenario.yaml": "allowed a policy document that can be read: testdata/files/scenario.yaml:2:1: duration: found the unknown name",
		"own: {|vendor: {":            "allowed a document without the policy vendor, which the scenario has itself",
	} {
		from, to, _ := strings.Cut(change, "|")
		_, err := sim.Parse("testdata/files/s.yaml", bytes.Replace(src, []byte(from), []byte(to), 1), sim.Beside("testdata/files/s.yaml"))
		assert.ErrorContains(t, err, want)
	}
	_, err = sim.Parse("s.yaml", src, nil)
	assert.ErrorContains(t, err, "files cannot be read here")
}
