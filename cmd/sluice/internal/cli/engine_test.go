package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
)

// both runs eval by both engines, compares all that they print, and returns it.
func both(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	args = append([]string{"eval"}, args...)
	var out, errs bytes.Buffer
	code = Run(args, strings.NewReader(stdin), &out, &errs)
	stdout, stderr = out.String(), errs.String()
	out.Reset()
	errs.Reset()
	if other := Run(append(args, "--engine", "wasm"), strings.NewReader(stdin), &out, &errs); other != code || out.String() != stdout || errs.String() != stderr {
		t.Fatalf("%q\n%s\nnative: code %d, stderr %q, stdout:\n%s\nwasm: code %d, stderr %q, stdout:\n%s", args, stdin, code, stderr, stdout, other, errs.String(), out.String())
	}
	return code, stdout, stderr
}

// TestEngines decides the logs beside documents by both engines.
func TestEngines(t *testing.T) {
	for _, folder := range []string{samples, "../../../../eval/testdata"} {
		logs, err := filepath.Glob(folder + "/*.events.ndjson")
		if err != nil || len(logs) == 0 {
			t.Fatalf("no logs in %s: %v", folder, err)
		}
		for _, log := range logs {
			base := strings.TrimSuffix(log, ".events.ndjson")
			code, stdout, stderr := both(t, "", "--policy", base+".yaml", "--seed", "7", "--follow", log)
			if code != ExitOK || stdout == "" || stderr != "" {
				t.Errorf("%s: code %d, stdout %q, stderr %q", base, code, stdout, stderr)
			}
		}
	}
}

// TestEnginesAtRandom decides random logs by both engines, with policies that
// are replaced by right ones and by wrong ones. Package hosttest has many more
// of the right ones.
func TestEnginesAtRandom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.json")
	for d := range testenv.Draws(t, 12) {
		seed, i := d.Seed, uint64(d.Case)
		r := rand.New(rand.NewPCG(seed, i))
		p, events := generate.GenerateFor(r, i)
		if err := os.WriteFile(file, generate.PolicyJSON(p), 0o600); err != nil {
			t.Fatal(err)
		}
		log := string(generate.EventsJSON(events))
		if code, _, stderr := both(t, log, "--policy", file, "--seed", fmt.Sprint(i)); code != ExitOK {
			t.Fatalf("code %d, %s", code, stderr)
		}
	}
}

// TestEnginesOfAll is TestEnginesAtRandom for policies that share mechanisms.
func TestEnginesOfAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.json")
	decided, cases := 0, 0
	for d := range testenv.Draws(t, 12) {
		seed, i := d.Seed, uint64(d.Case)
		cases++
		r := rand.New(rand.NewPCG(seed, i))
		one, log := generate.GenerateFor(r, i)
		policies, events := generate.Spread(r, one, log)
		if err := os.WriteFile(file, generate.SetJSON(policies), 0o600); err != nil {
			t.Fatal(err)
		}
		// Two calls of one policy may have one id, which is an error of both.
		if code, _, _ := both(t, string(generate.EventsJSON(events)), "--policy", file, "--all", "--seed", fmt.Sprint(i)); code == ExitOK {
			decided++
		}
	}
	if decided < cases/2 {
		t.Errorf("%d of %d logs were decided", decided, cases)
	}
}

// TestEnginesShareUses decides by a mechanism that enforces for a share of the calls, and is in
// shadow in one of the policies.
func TestEnginesShareUses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	const src = `
version: 1
mechanisms:
  m: {limit: {rate: 2/1m, enforce: 50%}}
policies:
  a: {steps: [{use: m}]}
  b: {steps: [{use: {mechanism: m, shadow: true}}]}
`
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for i := range 40 {
		fmt.Fprintf(&log, `{"at":"%ds","op":"call","id":"%c/%d"}`+"\n", i, 'a'+i%2, i)
	}
	code, stdout, _ := both(t, log.String(), "--policy", file, "--all")
	if code != ExitOK || !strings.Contains(stdout, `"reject"`) || !strings.Contains(stdout, `"id":"a/38","decision":"admit"`) {
		t.Errorf("code %d, stdout %s", code, stdout)
	}
	log.WriteString(`{"at":"40s","op":"configure","id":"b","policy":{"steps":[{"limit":"1/1h"}]}}` + "\n" + `{"at":"41s","op":"call","id":"c/1"}`)
	code, stdout, stderr := both(t, log.String(), "--policy", file, "--all", "--summary")
	if code != ExitBad || stderr != "line 42: id: found \"c/1\"; allowed: one that begins with the name of its policy and a slash: a, b\n" || !strings.Contains(stdout, "configured") {
		t.Errorf("code %d, stdout %s, stderr %q", code, stdout, stderr)
	}
}

// TestEnginesBadLines compares the errors of lines that cannot be read, errors of
// policies above all.
func TestEnginesBadLines(t *testing.T) {
	for line, want := range map[string]string{
		`{"at":"1s","op":"call","id":1}`:                       "line 2: id: a call 1 is not over\n",
		`{"at":"1s","op":"jump"}`:                              `line 2: op: found "jump"; allowed: call, done, renew, cancel, tick, configure` + "\n",
		`{"at":"1s","op":"configure","policy":[]}`:             "line 2: policy: ",
		`{"at":"1s","op":"configure","policy":"no"}`:           "line 2: policy: ",
		`{"at":"1s","op":"configure","policy":{}}`:             "line 2: policy: ",
		`{"at":"1s","op":"configure","policy":{"a":"\u0000"}}`: "line 2: policy: ",
		`{"at":"1s","op":"configure","policy":{"steps":[{"limit":"50"},{"retr":3},{"breaker":{"open":"ü"}},{"retry":{"attempts":0,"shadow":1}}],"extra":1}}`:                          "line 2: policy: steps[0].limit: found ",
		`{"at":"1s","op":"configure","policy":{"steps":[{"limit":{"rate":"1/s","name":"x"}},{"bulkhead":{"concurrent":1,"name":"x"}},{"timeout":{"after":"1s","name":"deadline"}}]}}`: "line 2: policy: steps[1]",
	} {
		log := `{"at":"0s","op":"call","id":1}` + "\n" + line + "\n" + `{"at":"3s","op":"tick"}` + "\n"
		code, stdout, stderr := both(t, log, "--policy", samples+"/short.yaml")
		if code != ExitBad || !strings.HasPrefix(stderr, want) || strings.Count(stdout, "\n") != 1 {
			t.Errorf("%s: code %d, stdout %q, stderr %q", line, code, stdout, stderr)
		}
	}
}

// TestEngineOfDocuments checks that what the module is given of a document in
// YAML means the same.
func TestEngineOfDocuments(t *testing.T) {
	documents, err := filepath.Glob(samples + "/*.yaml")
	if err != nil || len(documents) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, name := range documents {
		doc, err := policy.Parse(name, []byte(read(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range doc.Policies {
			again, err := policy.Parse("again.json", generate.PolicyJSON(one.Policy))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, want := again.Policies[0].Policy, one.Policy
			got.Name = want.Name
			for i := range want.Steps {
				pipeline.Edit(&want.Steps[i], func(c *timeout.Config) { c.Soft = 0 }) // prints nothing
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, not %+v", name, got, want)
			}
		}
	}
}

// TestEngineFlag checks what --engine takes.
func TestEngineFlag(t *testing.T) {
	for args, want := range map[string]string{
		"--engine wasm --steps x": "sluice: --engine wasm has no --state and no --steps: the module does not report states (see sluice eval --help)\n",
		"--engine wasm --state":   "sluice: --engine wasm has no --state and no --steps: the module does not report states (see sluice eval --help)\n",
		"--all --name x":          "sluice: --all decides by all policies; --name does not go with it\n",
		"--engine go":             "sluice: there is no --engine go; choose one of: native, wasm (see sluice eval --help)\n",
	} {
		code, stdout, stderr := run("", "eval --policy "+samples+"/short.yaml "+args)
		if code != ExitBad || stdout != "" || stderr != want {
			t.Errorf("%s: code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
