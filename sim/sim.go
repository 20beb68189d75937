package sim

import (
	"bytes"
	_ "embed" // for schema.json
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/scenario"
)

// The document, and what a run returns. See packages scenario and engine.
type (
	Scenario      = scenario.Scenario
	Options       = engine.Options
	Result        = engine.Result
	ClientResult  = engine.ClientResult
	ServiceResult = engine.ServiceResult
	Verdict       = engine.Verdict
	Timeline      = engine.Timeline
	StepLine      = engine.StepLine
	Sample        = engine.Sample
	LogError      = engine.LogError
)

// The verdicts of a run.
const (
	Steady     = engine.Steady
	Recovered  = engine.Recovered
	Degraded   = engine.Degraded
	Metastable = engine.Metastable
)

// Load reads the scenario of a file, and the policy document that it names, which is
// in the same directory unless its name says otherwise. The error comes from Parse or
// of the file.
func Load(file string) (*Scenario, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, src, Beside(file))
}

// Beside returns what reads the policy_file of a scenario from the directory of the
// scenario's file.
func Beside(file string) scenario.Open {
	return func(name string) ([]policy.Policy, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		doc, err := policy.Parse(name, src)
		if err != nil {
			return nil, err
		}
		return doc.Policies, nil
	}
}

// Parse reads a scenario in YAML or JSON. The file names it in errors and determines
// the format, as for policy.Parse. Open reads its policy_file; nil is for scenarios
// without one. The error is a policy.Errors with everything that is wrong.
func Parse(file string, src []byte, open scenario.Open) (*Scenario, error) {
	root, before := policy.Tree(file, src)
	if root == nil {
		return nil, before
	}
	return scenario.Read(file, root, before, open)
}

// Run simulates a scenario. The error is a LogError, or comes from a writer of the
// options.
func Run(s *Scenario, o Options) (*Result, error) { return engine.Run(s, o) }

// PolicySeed returns the seed of the policy of the client whose decisions the options
// name: eval prints the same decisions with it.
func PolicySeed(s *Scenario, o Options) uint64 { return engine.PolicySeed(s, o) }

//go:embed schema.json
var own []byte

// Schema returns the JSON Schema (draft 2020-12) of the document, with the schema of the
// policies inside. Parse also checks what the schema cannot express.
func Schema() []byte { return slices.Clone(schema()) }

// schema adds the definitions of the policy document's schema to the definitions of the
// scenario's, in the order of both.
var schema = sync.OnceValue(func() []byte {
	const begin = `"$defs": {`
	var policies struct {
		Definitions json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(policy.Schema(), &policies); err != nil {
		panic(err) // the file is part of the program
	}
	inside := policies.Definitions[1 : len(policies.Definitions)-1]
	at := bytes.Index(own, []byte(begin)) + len(begin)
	var whole, out bytes.Buffer
	whole.Write(own[:at])
	whole.Write(inside)
	whole.WriteByte(',')
	whole.Write(own[at:])
	if err := json.Indent(&out, whole.Bytes(), "", "  "); err != nil {
		panic(err)
	}
	return out.Bytes()
})
