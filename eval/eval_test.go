package eval_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/policy"
)

const samples = "../policy/testdata/samples"

// TestSamples decides the logs beside documents: the samples, and the logs of defects that were
// mended.
func TestSamples(t *testing.T) {
	for _, folder := range []string{samples, "testdata"} {
		logs, err := filepath.Glob(filepath.Join(folder, "*.events.ndjson"))
		if err != nil || len(logs) == 0 {
			t.Fatalf("no logs in %s: %v", folder, err)
		}
		for _, log := range logs {
			name := strings.TrimSuffix(log, ".events.ndjson")
			t.Run(filepath.Base(name), func(t *testing.T) {
				got := decide(t, load(t, name+".yaml"), load(t, log), eval.Options{})
				if want := string(load(t, name+".decisions.ndjson")); got != want {
					t.Errorf("got:\n%s\nwant:\n%s", got, want)
				}
			})
		}
	}
}

func load(t *testing.T, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func decide(t *testing.T, document, events []byte, o eval.Options) string {
	t.Helper()
	doc, err := policy.Parse("test.yaml", document)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := eval.Run(doc.Policies[0].Policy, o, bytes.NewReader(events), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestBadLines checks the error of a line that cannot be read, and that what
// was decided before it stays.
func TestBadLines(t *testing.T) {
	doc, err := policy.Parse("test.yaml", load(t, filepath.Join(samples, "short.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ line, want string }{
		{`{"at":"1s","op":"call","id":1}`, `line 2: id: a call 1 is not over`},
		{`{"at":"1s","op":"cal","id":1}`, `line 2: op: found "cal"; allowed: call, done, renew, cancel, tick, configure`},
		{`{"at":"1s","id":1}`, `line 2: op: missing; allowed: call, done, renew, cancel, tick, configure`},
		{`{"op":"tick"}`, `line 2: at: missing; allowed: a duration such as "1.5s", or whole nanoseconds`},
		{`{"at":"soon","op":"tick"}`, `line 2: at: found "soon"; allowed: a duration such as "1.5s", or whole nanoseconds`},
		{`{"at":1.5,"op":"tick"}`, `line 2: at: found 1.5; allowed: a duration such as "1.5s", or whole nanoseconds`},
		{`{"at":"1s","op":"call"}`, `line 2: id: missing; allowed: a number or a string`},
		{`{"at":"1s","op":"call","id":[1]}`, `line 2: id: found [1]; allowed: a number or a string`},
		// No text is one of encoding/json.
		{`{"at":"1s","op":"call","id":2,"cost":"many"}`, `line 2: cost: found "many"; allowed: a whole number, 0 or more`},
		{`{"at":"1s","op":"call","id":2,"cost":[1]}`, `line 2: cost: found [1]; allowed: a whole number, 0 or more`},
		{`{"at":"1s","op":"done","id":2,"outcome":"ok","attempt":"x"}`, `line 2: attempt: found "x"; allowed: a whole number, 1 or more`},
		{`{"at":"1s","op":"done","id":2,"outcome":"ok","used":true}`, `line 2: used: found true; allowed: a whole number, 0 or more`},
		{`{"at":"1s","op":"call","id":2,"attributes":{"a":1}}`, `line 2: attributes: found a value of the kind number; allowed: an object of strings`},
		{`{"at":"1s","op":7,"id":2}`, `line 2: op: found a value of the kind number; allowed: a string`},
		{`[]`, `line 2: found a value of the kind array; allowed: a JSON object`},
		{`{"at":"1s",cost:1}`, `line 2: found 'c' at byte 12; allowed: a JSON object`},
		{`{"at":"1s","op":"call","id":2,"cost":-1}`, `line 2: cost: found -1; allowed: a whole number, 0 or more`},
		{`{"at":"1s","op":"call","id":2,"deadline":"-1s"}`, `line 2: deadline: found -1s; allowed: 0 or more`},
		{`{"at":"1s","op":"done","id":1,"outcome":"good"}`, `line 2: outcome: found "good"; allowed: ok, fail, throttle, ignore`},
		{`{"at":"1s","op":"done","id":1,"outcom":"ok"}`, `line 2: unknown field "outcom"`},
		{`{"at":"1s","op":"tick"} {}`, `line 2: more than one JSON value`},
		{`{"at":"1s"`, `line 2: a JSON object that does not end`},
		{`{"at":"1s","op":"configure"}`, `line 2: policy: missing; allowed: an object with steps`},
		{`{"at":"1s","at":"2s","op":"tick"}`, `line 2: at: found twice; allowed: once`},
		{`{"at":"1s","op":"call","id":2,"attributes":{"ip":"a","ip":"b"}}`, `line 2: ip: found twice; allowed: once`},
		{"{\"at\":\"1s\",\"op\":\"call\",\"id\":\"\xff\"}", `line 2: found bytes that are not UTF-8; allowed: UTF-8`},
		{`{"at":"1s","op":"renew","id":1,"attempt":0}`, `line 2: attempt: found 0; allowed: a whole number, 1 or more`},
	} {
		in := `{"at":"0s","op":"call","id":1}` + "\n" + test.line + "\n"
		var out bytes.Buffer
		err := eval.Run(doc.Policies[0].Policy, eval.Options{}, strings.NewReader(in), &out)
		var bad *eval.LineError
		if !errors.As(err, &bad) || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.line, err, test.want)
		}
		if want := `{"at":"0s","id":1,"decision":"admit","attempt":1}` + "\n"; out.String() != want {
			t.Errorf("%s: got %s, want %s", test.line, out.String(), want)
		}
	}
}

// A byte order mark before the first line is no part of it, as in a document.
func TestByteOrderMark(t *testing.T) {
	doc, err := policy.Parse("policy.yaml", []byte("version: 1\npolicies: {p: {steps: [{timeout: 1s}]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	in := "\ufeff" + `{"at":"0s","op":"call","id":1}` + "\n"
	if err := eval.Run(doc.Policies[0].Policy, eval.Options{}, strings.NewReader(in), &out); err != nil {
		t.Error(err)
	}
	if want := `{"at":"0s","id":1,"decision":"admit","attempt":1}` + "\n"; out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}
