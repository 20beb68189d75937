package lint_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// changed are the changes between two documents, without guarantees.
func changed(t *testing.T, before, after string) []string {
	t.Helper()
	docs := [2]*policy.Document{}
	for i, src := range []string{before, after} {
		var err error
		if docs[i], err = policy.Parse("p.yaml", []byte("version: 1\n"+src)); err != nil {
			t.Fatalf("%s\n%v", src, err)
		}
	}
	list := []string{}
	for _, c := range lint.Compare(docs[0], docs[1]) {
		if !strings.HasPrefix(c.Setting, "guarantee: ") {
			list = append(list, fmt.Sprintf("%s %s %s: %s -> %s", c.Effect, c.Step, c.Setting, c.From, c.To))
		}
	}
	return list
}

// TestCompareSteps has a change of each setting, in both directions.
func TestCompareSteps(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{`limit: 50/1m`, `limit: 100/2m`, "other limit rate: 50/1m -> 100/2m|looser limit burst: 50 -> 100"},
		{`limit: {rate: 50/1m, burst: 5}`, `limit: {rate: 60/1m, burst: 5}`, "looser limit rate: 50/1m -> 60/1m"},
		{`limit: {rate: 5/s, wait: 1s}`, `limit: {rate: 5/s, wait: 2s, queue: 7}`, "looser limit wait: 1s -> 2s|tighter limit queue: 100 -> 7"},
		{`limit: {rate: 5/s}`, `limit: {rate: 5/s, algorithm: sliding-log}`, "other limit algorithm: token-bucket -> sliding-log|other limit burst: 5 -> none"},
		{`limit: {rate: 5/s, per: ip}`, `limit: {rate: 5/s}`, "tighter limit per: ip -> "},
		{`limit: {rate: 5/s, per: ip}`, `limit: {rate: 5/s, per: key}`, "other limit per: ip -> key"},
		{`limit: {rate: 5/s, per: ip}`, `limit: {rate: 5/s, per: ip, missing: skip, keys: 7, when_full: share}`, "other limit keys:  -> 7|other limit when_full: evict -> share|looser limit missing: share -> skip"},
		{`limit: {rate: 5/s, shadow: true}`, `limit: {rate: 5/s}`, "tighter limit shadow: true -> false"},
		{`bulkhead: 5`, `bulkhead: {concurrent: 6, queue: 7}`, "looser bulkhead concurrent: 5 -> 6|looser bulkhead queue: 0 -> 7|looser bulkhead wait: 0s -> as long as the caller does"},
		{`bulkhead: 5`, `bulkhead: {concurrent: 5, cost: 2}`, "tighter bulkhead cost: 1 -> 2"},
		{`bulkhead: {concurrent: 5, cost: "header:x-size"}`, `bulkhead: 5`, "other bulkhead cost: {attribute: header:x-size, default: 1} -> 1"},
		{`bulkhead: {concurrent: 5, lease: 1m}`, `bulkhead: 5`, "other bulkhead lease: 1m -> none"},
		{`timeout: 5s`, `timeout: {after: 4s, soft: 1s}`, "tighter timeout after: 5s -> 4s|other timeout soft: none -> 1s"},
		{`breaker: {}`, `breaker: {failure_rate: 60%, slow: {over: 1s, rate: 50%}, open: 2m}`,
			"looser breaker failure_rate: 50% -> 60%|tighter breaker slow.over: none -> 1s|tighter breaker slow.rate: none -> 50%|tighter breaker open: constant 1m without jitter -> constant 2m without jitter"},
		{`breaker: {window: {calls: 50}}`, `breaker: {window: {time: 10s}}`, "other breaker window: {calls: 50} -> {time: 10s, buckets: 10}|looser breaker minimum: 50 -> 100"},
		{`retry: 3`, `retry: {attempts: 4, backoff: {exponential: 1s}, budget: 20%, methods: [GET, POST]}`,
			"looser retry attempts: 3 -> 4|tighter retry backoff: exponential 500ms factor 2 max 1m with full jitter -> exponential 1s factor 2 max 1m with full jitter|" +
				"tighter retry budget: none -> budget 20%, 10/1s at least, over 10s|other retry methods: GET, HEAD, PUT, DELETE, OPTIONS, TRACE -> GET, POST"},
		{`retry: {backoff: none}`, `retry: {backoff: {constant: 1s}, methods: GET}`, "tighter retry backoff: none -> constant 1s with full jitter|tighter retry methods: GET, HEAD, PUT, DELETE, OPTIONS, TRACE -> GET"},
		{`retry: {budget: 20%}`, `retry: {budget: 30%}`, "looser retry budget: budget 20%, 10/1s at least, over 10s -> budget 30%, 10/1s at least, over 10s"},
		{`hedge: {after: 200ms}`, `hedge: {after: p95, max: 2}`, "other hedge after: 200ms -> p95|looser hedge max: 1 -> 2|other hedge samples: 0 -> 100|other hedge minimum: 0 -> 20"},
		{`hedge: {after: 200ms}`, `hedge: {after: 300ms}`, "tighter hedge after: 200ms -> 300ms"},
		{`adaptive: {}`, `adaptive: {maximum: 300, decrease: 20%}`, "looser adaptive maximum: 200 -> 300|tighter adaptive decrease: 10% -> 20%"},
		{`timeout: 5s`, `bulkhead: 5`, "tighter bulkhead step:  -> 5 at once, refuses at once|looser timeout step: 5s for the whole call -> "},
		{`retry: {budget: {tokens: 500}}`, `retry: {budget: {tokens: 500, retry: 4}}`, "looser retry budget: budget of 500 tokens, a retry takes 5, after a timeout 10, a first attempt that succeeds returns 1 -> " +
			"budget of 500 tokens, a retry takes 4, after a timeout 10, a first attempt that succeeds returns 1"},
		{`retry: {budget: {max_tokens: 10, token_ratio: 0.1}}`, `retry: {budget: {max_tokens: 9, token_ratio: 0.1}}`,
			"tighter retry budget: budget of 10 tokens, a failure takes 1, a success returns 0.1, none at one half -> budget of 9 tokens, a failure takes 1, a success returns 0.1, none at one half"},
		{`retry: {budget: {max_tokens: 10, token_ratio: 0.1}}`, `retry: {budget: {tokens: 10}}`,
			"other retry budget: budget of 10 tokens, a failure takes 1, a success returns 0.1, none at one half -> budget of 10 tokens, a retry takes 5, after a timeout 10, a first attempt that succeeds returns 1"},
		{`retry: {budget: {adaptive: 10s}}`, `retry: {budget: {adaptive: 10s, wait: 1s}}`,
			"tighter retry budget: budget of retries a call: 1 above 50% of failures, 2 above 20%, over 10s, none after a wait of more than 2s -> " +
				"budget of retries a call: 1 above 50% of failures, 2 above 20%, over 10s, none after a wait of more than 1s"},
		{`timeout: 5s}, {retry: 3`, `timeout: 5s`, "tighter retry step: 3 attempts, backoff exponential 500ms factor 2 max 1m with full jitter, no budget -> "},
		{`timeout: 5s}, {bulkhead: 5`, `bulkhead: 5}, {timeout: 5s`, "other  order: timeout, bulkhead -> bulkhead, timeout"},
	} {
		document := func(step string) string { return "policies: {p: {steps: [{" + step + "}]}}" }
		got := changed(t, document(test.before), document(test.after))
		for i := range got {
			got[i] = strings.TrimSpace(got[i])
		}
		if text := strings.Join(got, "|"); !same(text, test.want) {
			t.Errorf("%s to %s:\n got %s\nwant %s", test.before, test.after, text, test.want)
		}
	}
}

// same compares texts but for the space at the ends of their parts.
func same(a, b string) bool {
	parts := func(text string) []string {
		list := strings.Split(text, "|")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list
	}
	return slices.Equal(parts(a), parts(b))
}

func TestCompareDocuments(t *testing.T) {
	const p = "policies: {a: {steps: [timeout: 1s]}, b: {steps: [timeout: 1s], fallback: {}}}\n"
	for _, test := range []struct{ before, after, want string }{
		{p, "policies: {a: {steps: [timeout: 1s], outcomes: {ignore: [404]}}}", "other  outcomes: fail [5xx, connect, reset], throttle [429], ignore [501, 505, 511, 4xx] -> fail [5xx, connect, reset], throttle [429], ignore [404]|other  policy: timeout -> "},
		{p, p + "http: {default: deny, paths: strict, stream_idle: none, lifetime: 1h, body: {min_rate: 2KiB/s, timeout: 20s}}",
			"tighter  http.body.timeout: 30s -> 20s|tighter  http.body.min_rate: 1024B/1s -> 2048B/1s|looser  http.stream_idle: 5m -> none|tighter  http.lifetime: none -> 1h|tighter  http.paths: clean -> strict|tighter  http.default: pass -> deny"},
		{p + "routes: [{path: /x, policy: a}, {path: /y, policy: a}]", p + "routes: [{path: /y, policy: b}, {path: /x, policy: a}, {path: /z, policy: a}]",
			"other  route /y: a -> b|other  route /z:  -> a|other  order of routes:  -> another route is the first match of some requests"},
		{p + "routes: [{path: /x, policy: a}, {path: /x, policy: b}]", p + "routes: [{path: /x, policy: a, http: {paths: exact_bytes}}]", "looser  route /x http.paths: clean -> exact_bytes"},
		{p + "routes: [{path: /x, method: GET, policy: a}]", p, "other  route GET /x: a -> "},
		{p + "http: {default: deny}", p + "http: {default: a}", "looser  http.default: deny -> a"},
	} {
		if got := strings.Join(changed(t, test.before, test.after), "|"); !same(got, test.want) {
			t.Errorf("%s to %s:\n got %s\nwant %s", test.before, test.after, got, test.want)
		}
	}
}

// TestCompareItself finds no change between a document and itself.
func TestCompareItself(t *testing.T) {
	files, err := filepath.Glob("../policy/testdata/good/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, file := range files {
		doc := load(t, file)
		if got := lint.Compare(doc, doc); len(got) > 0 {
			t.Errorf("%s: %+v", file, got)
		}
	}
}

// TestCompareBack compares random policies both ways: a looser change is tighter in
// the other direction.
func TestCompareBack(t *testing.T) {
	seed := testenv.Seed()
	seen := map[lint.Effect]int{}
	for i := range uint64(testenv.Cases(300)) {
		r := rand.New(rand.NewPCG(seed, i))
		a := &document.Document{Policies: []document.Policy{*randomPolicy(r)}}
		b := &document.Document{Policies: []document.Policy{*randomPolicy(r)}}
		back := map[string]lint.Change{}
		for _, c := range lint.Compare(b, a) {
			back[c.Step+" "+c.Setting] = c
		}
		for _, c := range lint.Compare(a, b) {
			seen[c.Effect]++
			other, ok := back[c.Step+" "+c.Setting]
			if !ok || other.Effect != c.Effect.Inverse() || c.Setting != "step" && (other.From != c.To || other.To != c.From) {
				t.Fatalf("SLUICE_SEED=%d, case %d: %+v, back %+v", seed, i, c, other)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("only %v", seen)
	}
}

// TestTighterBoundsLess makes one setting tighter, and finds no guarantee about
// requests that is looser.
func TestTighterBoundsLess(t *testing.T) {
	seed := testenv.Seed()
	tightened := 0
	for i := range uint64(testenv.Cases(1000)) {
		r := rand.New(rand.NewPCG(seed, i))
		p := randomPolicy(r)
		q := *p
		q.Steps = slices.Clone(p.Steps)
		at := r.IntN(len(q.Steps))
		q.Steps[at].Config = tweaked(r, q.Steps[at].Config)
		list := lint.Compare(&document.Document{Policies: []document.Policy{*p}}, &document.Document{Policies: []document.Policy{q}})
		effects := map[lint.Effect]int{}
		for _, c := range list {
			if c.Step != "" {
				effects[c.Effect]++
			}
		}
		if effects[lint.Looser]+effects[lint.Other] > 0 || effects[lint.Tighter] == 0 {
			continue
		}
		tightened++
		for _, c := range list {
			about := strings.TrimPrefix(c.Setting, "guarantee: ")
			if c.Effect == lint.Looser && (strings.HasPrefix(about, "requests") || strings.HasPrefix(about, "at once") || strings.HasPrefix(about, "attempts")) {
				t.Fatalf("SLUICE_SEED=%d, case %d: %+v\n%s", seed, i, list, show(p))
			}
		}
	}
	if tightened < 100 {
		t.Errorf("only %d", tightened)
	}
}

// tweaked changes one number of a configuration.
func tweaked(r *rand.Rand, config mechanism.Config) mechanism.Config {
	less := func(n uint32) uint32 { return max(1, n-r.Uint32N(2)) }
	switch c := config.(type) {
	case timeout.Config:
		c.After = max(1, c.After-time.Duration(r.IntN(5)))
		return c
	case limiter.Config:
		if r.IntN(2) == 0 && c.Burst > 0 {
			c.Burst = less(c.Burst)
		} else {
			c.Count = less(c.Count)
		}
		return c
	case bulkhead.Config:
		c.Concurrent = less(c.Concurrent)
		return c
	case retry.Config:
		c.Attempts = less(c.Attempts)
		return c
	}
	return config
}

// load reads a document.
func load(t *testing.T, file string) *policy.Document {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := policy.Parse(file, src)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
