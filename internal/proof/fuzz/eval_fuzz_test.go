package fuzz

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/policy"
)

// evalPolicy has every mechanism, so that a log can reach all of them.
const evalPolicy = `
version: 1
policies:
  all:
    steps:
      - timeout: 5s
      - limit: {name: outer, algorithm: sliding-counter, rate: 5/1s, per: key}
      - retry: {attempts: 3, backoff: {exponential: 10ms}, budget: 50%}
      - breaker: {window: {calls: 4}, minimum: 2, open: 1s, probes: 1, half_open_max: 3s}
      - limit: {rate: 10/1s, burst: 2, wait: 1s, queue: 3, order: newest}
      - limit: {name: window, algorithm: fixed-window, rate: 4/1s, wait: 2s, shadow: true}
      - bulkhead: {concurrent: 2, queue: 2, wait: 500ms, lease: 2s}
      - timeout: 1s
    fallback: {status: 503}
`

// FuzzEval decides logs of any bytes: no panic, the same bytes twice, every line
// a JSON object, and an error only for a line that cannot be read.
func FuzzEval(f *testing.F) {
	doc, err := policy.Parse("fuzz.yaml", []byte(evalPolicy))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"breaker", "bucket", "queue", "retry"} {
		src, err := os.ReadFile("../../../policy/testdata/samples/" + name + ".events.ndjson")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, uint64(0))
	}
	f.Add([]byte(`{"at":9223372036854775807,"op":"call","id":"x","cost":4294967296,"deadline":0}`), uint64(7))
	f.Add([]byte(`{"at":0,"op":"configure","policy":{"steps":[{"bulkhead":1}]}}`), uint64(1))
	f.Fuzz(func(t *testing.T, log []byte, seed uint64) {
		var first, second bytes.Buffer
		err := eval.Run(doc.Policies[0].Policy, eval.Options{Seed: seed, State: true}, bytes.NewReader(log), &first)
		var bad *eval.LineError
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("%v", err)
		}
		if again := eval.Run(doc.Policies[0].Policy, eval.Options{Seed: seed, State: true}, bytes.NewReader(log), &second); (again == nil) != (err == nil) {
			t.Fatalf("first %v, then %v", err, again)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("first\n%s\nthen\n%s", &first, &second)
		}
		for line := range bytes.Lines(first.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("not JSON: %s", line)
			}
		}
	})
}
