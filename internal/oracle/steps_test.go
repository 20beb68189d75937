package oracle_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// TestSteps decides random logs with and without their steps, which changes no
// decision. Replay takes them again, with the same effects and states.
func TestSteps(t *testing.T) {
	n, seed := testenv.Cases(2_000), testenv.Seed()
	if testing.Short() {
		n /= 20
	}
	t.Logf("SLUICE_SEED=%d, %d cases", seed, n)
	taken := 0
	for i := range n {
		p, events := generate.GenerateFor(rand.New(rand.NewPCG(seed, uint64(i))), seed)
		// Cells adopt other configurations without a step, and a trace does not say which cells were evicted.
		if slices.ContainsFunc(events, func(e oracle.Event) bool { return e.Op == "configure" }) ||
			slices.ContainsFunc(p.Steps, func(s pipeline.Step) bool { return s.Keys != 0 }) {
			continue
		}
		log := generate.EventsJSON(events)
		var steps, with, without bytes.Buffer
		for _, err := range []error{
			eval.Run(p, eval.Options{Seed: seed, Steps: &steps}, bytes.NewReader(log), &with),
			eval.Run(p, eval.Options{Seed: seed}, bytes.NewReader(log), &without),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if with.String() != without.String() {
			t.Fatalf("SLUICE_SEED=%d, case %d: other decisions with steps:\n%s\n%s\n%s", seed, i, generate.PolicyJSON(p), log, &with)
		}
		done, err := eval.Replay([]pipeline.Policy{p}, eval.Options{}, bytes.NewReader(steps.Bytes()))
		if err != nil || done.Anew > 0 || done.Steps != uint64(strings.Count(steps.String(), "\n")) {
			t.Fatalf("SLUICE_SEED=%d, case %d: %+v, %v\n%s\n%s\n%s", seed, i, done, err, generate.PolicyJSON(p), log, &steps)
		}
		damaged(t, p, steps.String(), rand.New(rand.NewPCG(seed, uint64(i))))
		taken += strings.Count(steps.String(), "\n")
	}
	if taken < n {
		t.Errorf("%d steps in %d cases", taken, n)
	}
}

// damaged changes the hash or the cost of one step, which Replay finds in its line.
func damaged(t *testing.T, p pipeline.Policy, steps string, r *rand.Rand) {
	t.Helper()
	lines := strings.SplitAfter(steps, "\n")
	lines = lines[:len(lines)-1]
	if len(lines) == 0 {
		return
	}
	n := r.IntN(len(lines))
	e, err := reducer.ParseTrace(lines[n])
	if err != nil {
		t.Fatal(err)
	}
	e.Digest ^= 1 << r.IntN(64)
	lines[n] = string(reducer.AppendTrace(nil, e))
	done, err := eval.Replay([]pipeline.Policy{p}, eval.Options{}, strings.NewReader(strings.Join(lines, "")))
	var line *eval.LineError
	var difference *eval.Difference
	if !errors.As(err, &line) || line.Line != n+1 || !errors.As(err, &difference) || difference.Recorded.N != e.N || done.Steps != uint64(n) {
		t.Fatalf("line %d with another hash: %+v, %v", n+1, done, err)
	}
}

// TestReplaySeveral replays the steps of several policies that share a mechanism, and the steps
// of keys whose cells were evicted.
func TestReplaySeveral(t *testing.T) {
	document := `
version: 1
mechanisms:
  pool: {bulkhead: {concurrent: 1}}
policies:
  a:
    steps:
      - limit: {name: rate, rate: 1/10s, per: key, keys: 1}
      - use: pool
  b:
    steps:
      - limit: {name: rate, rate: 2/10s}
      - use: pool
`
	doc, err := policy.Parse("p.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	var policies []pipeline.Policy
	for _, p := range doc.Policies {
		policies = append(policies, p.Policy)
	}
	const log = `{"at":"0s","op":"call","id":"a/1","key":"red"}
{"at":"1s","op":"done","id":"a/1","outcome":"ok"}
{"at":"1s","op":"call","id":"b/1"}
{"at":"2s","op":"done","id":"b/1","outcome":"ok"}
{"at":"2s","op":"call","id":"a/2","key":"blue"}
{"at":"3s","op":"done","id":"a/2","outcome":"ok"}
{"at":"4s","op":"call","id":"a/3","key":"red"}
{"at":"5s","op":"done","id":"a/3","outcome":"ok"}
`
	var steps bytes.Buffer
	if err := eval.RunAll(policies, eval.Options{Steps: &steps}, strings.NewReader(log), io.Discard); err != nil {
		t.Fatal(err)
	}
	done, err := eval.Replay(policies, eval.Options{}, bytes.NewReader(steps.Bytes()))
	if err != nil || done != (eval.Replayed{Steps: uint64(strings.Count(steps.String(), "\n")), Cells: 4, Anew: 1}) {
		t.Errorf("%+v, %v\n%s", done, err, &steps)
	}
	// The steps of one cell are enough.
	var pool []string
	for line := range strings.Lines(steps.String()) {
		if strings.Contains(line, `"cell":"pool"`) {
			pool = append(pool, line)
		}
	}
	if done, err := eval.Replay(policies, eval.Options{}, strings.NewReader(strings.Join(pool, ""))); err != nil || done.Cells != 1 || done.Steps != 8 {
		t.Errorf("of the pool alone: %+v, %v", done, err)
	}
}

// TestReplayErrors: what is no step of a policy, or another step, is named with its line.
func TestReplayErrors(t *testing.T) {
	doc, err := policy.Parse("p.yaml", []byte("version: 1\npolicies: {p: {steps: [{limit: {rate: 1/10s, burst: 2}}]}}"))
	if err != nil {
		t.Fatal(err)
	}
	const first = `{"n":1,"at":"1s","cell":"limit","key":"","action":"acquire cost=1","effects":"admit gen=1 id=11000000000 mark=1s changed","digest":"8a38aa2799e2d7d2"}`
	for _, c := range []struct{ steps, want string }{
		{first, ""},
		{"", ""},
		{strings.Replace(first, "8a38", "8b38", 1), "line 1: limit at 1s, acquire cost=1: recorded the state 8b38aa2799e2d7d2; replayed 8a38aa2799e2d7d2, free 1/2"},
		{strings.Replace(first, "cost=1", "cost=3", 1), "line 1: limit at 1s, acquire cost=3: recorded admit gen=1 id=11000000000 mark=1s changed; replayed reject capacity retry=never"},
		{strings.Replace(first, `"limit"`, `"limits"`, 1), `line 1: cell: found "limits"; allowed: limit`},
		{strings.Replace(first, `"key":""`, `"key":"red"`, 1), `line 1: key: found "red"; allowed: none, all calls have one cell`},
		{first + "\n" + first, "line 2: n: found 1; allowed: more than 1, the step before"},
		{first + "\n{}", "line 2: "},
	} {
		_, err := eval.Replay([]pipeline.Policy{doc.Policies[0].Policy}, eval.Options{}, strings.NewReader(c.steps))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %s", c.steps, err, c.want)
		}
	}
	if _, err := eval.Replay(nil, eval.Options{}, strings.NewReader("")); !errors.Is(err, eval.ErrNoPolicies) {
		t.Error(err)
	}
}
