package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// goodFiles are all documents that must be accepted.
func goodFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"testdata/samples/*.yaml", "testdata/good/*"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.Greater(t, len(files), 15)
	return files
}

func parseFile(t *testing.T, file string) *policy.Document {
	t.Helper()
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	doc, err := policy.Parse(file, src)
	require.NoError(t, err)
	return doc
}

// one parses a policy body and fails the test when it is not accepted.
func one(t *testing.T, body string) *policy.Policy {
	t.Helper()
	p, err := policy.ParseOne("body.yaml", []byte(body))
	require.NoError(t, err)
	return p
}

func TestGoodDocumentsCompile(t *testing.T) {
	for _, file := range goodFiles(t) {
		for _, p := range parseFile(t, file).Policies {
			_, err := pipeline.Compile(p.Policy)
			assert.NoError(t, err, "%s: %s", file, p.Name)
			assert.Len(t, p.Extras, len(p.Steps))
			assert.Positive(t, p.Line)
		}
	}
}

func TestVendorSample(t *testing.T) {
	vendor := parseFile(t, "testdata/samples/vendor.yaml").Lookup("vendor")
	require.NotNil(t, vendor)
	assert.Equal(t, pipeline.Policy{
		Name: "vendor",
		Steps: []pipeline.Step{
			{Name: "timeout", Config: timeout.Config{After: 30 * time.Second}},
			{Name: "retry", Config: retry.Config{Attempts: 3, Backoff: backoff.Config{
				Kind: backoff.Exponential, Base: 500 * time.Millisecond, Factor: 2_000_000, Max: time.Minute,
			}}},
			{Name: "breaker", Config: breaker.Config{
				Window: breaker.Calls, Count: 10, Minimum: 4, FailureRate: reducer.Percent(50),
				SlowOver: 2 * time.Second, SlowRate: reducer.Percent(80),
				Open:   backoff.Config{Kind: backoff.Constant, Base: 10 * time.Second},
				Probes: 2,
			}},
			{Name: "limit", Config: limiter.Config{
				Count: 50, Period: time.Minute, Burst: 10, Wait: 3 * time.Second, Queue: 100,
			}},
			{Name: "bulkhead", Config: bulkhead.Config{Concurrent: 5, Queue: 100, Wait: 5 * time.Second}},
			{Name: "timeout-2", Config: timeout.Config{After: 10 * time.Second}},
		},
		Fallback: &fallback.Config{Status: 503, Body: "try later"},
	}, vendor.Policy)
	assert.Equal(t, policy.Extra{Line: 7, Column: 9}, vendor.Extras[1])
}

func TestDefaultsEqualTheirExplicitForm(t *testing.T) {
	least := parseFile(t, "testdata/good/defaults.yaml").Policies[0]
	explicit := parseFile(t, "testdata/good/explicit.yaml").Policies[0]
	assert.Equal(t, explicit.Policy, least.Policy)
	assert.Equal(t, explicit.Outcomes, least.Outcomes)
	assert.Equal(t, explicit.Methods, least.Methods)
}

// TestDefaultsOfGo compares the defaults of configurations in Go with the defaults of
// documents.
func TestDefaultsOfGo(t *testing.T) {
	for body, want := range map[string]any{
		"retry: {}": retry.Config{}.WithDefaults(),
		"retry: {backoff: {exponential: 1s}, budget: 20%}": retry.Config{
			Backoff:  backoff.Config{Kind: backoff.Exponential, Base: time.Second, Max: time.Minute, Jitter: backoff.Full},
			Budgeted: true, Budget: budget.Config{Ratio: reducer.Percent(20)},
		}.WithDefaults(),
		"breaker: {}":                                     breaker.Config{}.WithDefaults(),
		"breaker: {window: {calls: 5}}":                   breaker.Config{Count: 5}.WithDefaults(),
		"breaker: {window: {time: 1m}, failure_rate: 5%}": breaker.Config{Window: breaker.Time, Span: time.Minute, FailureRate: reducer.Percent(5)}.WithDefaults(),
		"breaker: {window: {consecutive: 3}, probes: 2}":  breaker.Config{Window: breaker.Consecutive, Count: 3, Probes: 2}.WithDefaults(),
		"limit: 5/s":                          limiter.Config{Count: 5, Period: time.Second}.WithDefaults(),
		"limit: {rate: 5/s, wait: 1s}":        limiter.Config{Count: 5, Period: time.Second, Wait: time.Second}.WithDefaults(),
		"bulkhead: 5":                         bulkhead.Config{Concurrent: 5}.WithDefaults(),
		"bulkhead: {concurrent: 5, wait: 1s}": bulkhead.Config{Concurrent: 5, Wait: time.Second}.WithDefaults(),
		"hedge: {after: p95}":                 hedge.Config{Percentile: reducer.Percent(95)}.WithDefaults(),
		"hedge: {parallel: true, budget: 5%}": hedge.Config{Parallel: true, Budgeted: true, Budget: budget.Config{Ratio: reducer.Percent(5)}}.WithDefaults(),
	} {
		s := one(t, "steps: [{"+body+"}]").Steps[0]
		assert.Equal(t, want, s.Config, body)
		_, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Config: s.Config}}})
		assert.NoError(t, err, body)
	}
	// Zeros that are legal values stay.
	none := retry.Config{Attempts: 2}
	assert.Equal(t, none, none.WithDefaults())
	never := budget.Config{MinimumPeriod: time.Minute, Window: time.Minute}
	assert.Equal(t, never, never.WithDefaults())
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Config: retry.Config{}}, {Config: breaker.Config{}}}})
	require.NoError(t, err)
	assert.Equal(t, retry.Default(), plan.Step(0).Config)
	assert.Equal(t, breaker.Config{}.WithDefaults(), plan.Step(1).Config)
}

func TestDefaults(t *testing.T) {
	full := backoff.Config{Kind: backoff.Constant, Base: time.Second, Jitter: backoff.Full}
	for body, want := range map[string]any{
		"retry: {backoff: {constant: 1s}}":                   full,
		"retry: {backoff: none}":                             backoff.Config{},
		"retry: {backoff: {decorrelated: 1s}}":               backoff.Config{Kind: backoff.Decorrelated, Base: time.Second},
		"retry: {backoff: {linear: 1s}, jitter: 0.5%}":       backoff.Config{Kind: backoff.Linear, Base: time.Second, Jitter: backoff.Fraction, Share: reducer.Millionths(5_000)},
		"retry: {backoff: {fibonacci: 1s}, jitter: none}":    backoff.Config{Kind: backoff.Fibonacci, Base: time.Second},
		"retry: {backoff: {delays: [0s, 1s]}}":               backoff.Config{Kind: backoff.Listed, Delays: backoff.Delays(0, time.Second), Jitter: backoff.Full},
		"breaker: {open: {delays: [1s, 5s]}}":                backoff.Config{Kind: backoff.Listed, Delays: backoff.Delays(time.Second, 5*time.Second)},
		"retry: {backoff: {exponential: 1m}, jitter: equal}": backoff.Config{Kind: backoff.Exponential, Base: time.Minute, Factor: 2_000_000, Max: time.Minute, Jitter: backoff.Equal},
		"retry: {budget: 20%}":                               budget.Config{Ratio: reducer.Percent(20), MinimumCount: 10, MinimumPeriod: time.Second, Window: 10 * time.Second},
		"retry: {budget: {ratio: 1000%, minimum: 0/m}}":      budget.Config{Ratio: reducer.Percent(1000), MinimumPeriod: time.Minute, Window: 10 * time.Second},
		"breaker: {open: {exponential: 1s}}":                 backoff.Config{Kind: backoff.Exponential, Base: time.Second, Factor: 2_000_000, Max: time.Minute},
		"breaker: {open: {linear: 1s, jitter: full}}":        backoff.Config{Kind: backoff.Linear, Base: time.Second, Jitter: backoff.Full},
		"breaker: {}":                                           uint32(100),
		"breaker: {window: {calls: 7}}":                         uint32(7),
		"breaker: {window: {calls: 200}}":                       uint32(100),
		"breaker: {window: {time: 5s}}":                         uint32(100),
		"breaker: {window: {consecutive: 5}}":                   uint32(0),
		"limit: 5/s":                                            limiter.Config{Count: 5, Period: time.Second},
		"limit: {rate: 5/s, wait: 1s}":                          limiter.Config{Count: 5, Period: time.Second, Wait: time.Second, Queue: 100},
		"bulkhead: {concurrent: 5, queue: 3}":                   bulkhead.Config{Concurrent: 5, Queue: 3},
		"bulkhead: {concurrent: 5, wait: 1s, order: newest}":    bulkhead.Config{Concurrent: 5, Wait: time.Second, Queue: 100, Order: limiter.Newest},
		"bulkhead: {concurrent: 5, wait: 0s, lease: 1d}":        bulkhead.Config{Concurrent: 5, Lease: 24 * time.Hour},
		"timeout: {after: 1d12h, soft: 1.5h}":                   timeout.Config{After: 36 * time.Hour, Soft: 90 * time.Minute},
		"limit: {rate: 5/s, algorithm: sliding-counter}":        limiter.Config{Algorithm: limiter.SlidingCounter, Count: 5, Period: time.Second},
		"limit: {rate: 5/s, algorithm: sliding-log}":            limiter.Config{Algorithm: limiter.SlidingLog, Count: 5, Period: time.Second},
		"limit: {rate: 5/s, algorithm: leaky-bucket}":           limiter.Config{Algorithm: limiter.LeakyBucket, Count: 5, Period: time.Second},
		"hedge: {after: 200ms}":                                 hedge.Config{After: 200 * time.Millisecond, Max: 1},
		"hedge: {after: p99.9}":                                 hedge.Config{Percentile: reducer.Millionths(999_000), Max: 1, Samples: 100, Minimum: 20},
		"hedge: {after: p95, samples: 7}":                       hedge.Config{Percentile: reducer.Percent(95), Max: 1, Samples: 7, Minimum: 7},
		"hedge: {parallel: true, max: 2, budget: none}":         hedge.Config{Parallel: true, Max: 2, Unbudgeted: true},
		"hedge: {after: 1s, budget: 20%}":                       hedge.Config{After: time.Second, Max: 1, Budgeted: true, Budget: budget.Config{Ratio: reducer.Percent(20), MinimumCount: 10, MinimumPeriod: time.Second, Window: 10 * time.Second}},
		"retry: {backoff: {exponential: 1s, factor: 1.000001}}": backoff.Config{Kind: backoff.Exponential, Base: time.Second, Factor: 1_000_001, Max: time.Minute, Jitter: backoff.Full},
	} {
		s := one(t, "steps: [{"+body+"}]").Steps[0]
		var got any
		switch want.(type) {
		case backoff.Config:
			if got = pipeline.ConfigOf[retry.Config](s).Backoff; s.Kind() == mechanism.Breaker {
				got = pipeline.ConfigOf[breaker.Config](s).Open
			}
		case budget.Config:
			got = pipeline.ConfigOf[retry.Config](s).Budget
		case uint32:
			got = pipeline.ConfigOf[breaker.Config](s).Minimum
		case limiter.Config:
			got = pipeline.ConfigOf[limiter.Config](s)
		case bulkhead.Config:
			got = pipeline.ConfigOf[bulkhead.Config](s)
		case hedge.Config:
			got = pipeline.ConfigOf[hedge.Config](s)
		case timeout.Config:
			got = pipeline.ConfigOf[timeout.Config](s)
		}
		assert.Equal(t, want, got, body)
	}
}

// TestKeyed reads the settings of cells for many keys. A setting that the document
// leaves out stays 0, the default.
func TestKeyed(t *testing.T) {
	for body, want := range map[string]pipeline.Step{
		"{rate: 5/s, per: ip}":                                            {Per: []string{"ip"}},
		"{rate: 5/s, per: ip, keys: 7, when_full: evict}":                 {Per: []string{"ip"}, Keys: 7},
		"{rate: 5/s, per: ip, when_full: share, missing: deny}":           {Per: []string{"ip"}, WhenFull: pipeline.FullShare, Missing: pipeline.MissingDeny},
		"{rate: 5/s, per: ip, keys: 10000000, missing: skip}":             {Per: []string{"ip"}, Keys: pipeline.MaxKeys, Missing: pipeline.MissingSkip},
		"{rate: 5/s, per: ip, keys: 1, when_full: evict, missing: share}": {Per: []string{"ip"}, Keys: 1},
	} {
		want.Name, want.Config = "limit", limiter.Config{Count: 5, Period: time.Second}
		assert.Equal(t, want, one(t, "steps: [limit: "+body+"]").Steps[0], body)
	}
}

func TestHedgeMethods(t *testing.T) {
	p := one(t, "steps: [retry: {methods: POST}, hedge: {after: 1s}]")
	assert.Equal(t, []string{"POST"}, p.Methods)
	assert.Equal(t, document.DefaultMethods(), p.HedgeMethods)
	p = one(t, "steps: [hedge: {after: 1s, methods: [GET, POST]}]")
	assert.Empty(t, p.Methods)
	assert.Equal(t, []string{"GET", "POST"}, p.HedgeMethods)
}

// TestSections reads http and proxy, and the settings of a route that replace settings of http.
func TestSections(t *testing.T) {
	none := parseFile(t, "testdata/good/names.yaml")
	rate := policy.ByteRate{Bytes: 1024, Period: time.Second}
	assert.Equal(t, policy.HTTP{BodyTimeout: 30 * time.Second, BodyRate: rate, StreamIdle: 5 * time.Minute}, none.HTTP)
	assert.Equal(t, policy.Proxy{Slots: pipeline.DefaultKeys, RateLimitedHeader: true, IPv4Prefix: 32, IPv6Prefix: 64}, none.Proxy)

	doc := parseFile(t, "testdata/good/sections.yaml")
	http := policy.HTTP{
		BodyTimeout: 10 * time.Second, BodyRate: policy.ByteRate{Bytes: 64 << 10, Period: 10 * time.Second}, Lifetime: time.Hour,
		Paths: document.PathsExactBytes, Unmatched: document.UnmatchedPolicy, Default: "api", Stated: true,
	}
	assert.Equal(t, http, doc.HTTP)
	assert.Equal(t, policy.Proxy{
		State: document.WorkerState, Slots: 4096, Headers: document.HeadersAll, LegacyHeaders: true,
		TrustedProxies: []keyed.Prefix{
			{Address: keyed.Address{5: 0xffff, 6: 10 << 8}, Bits: 96 + 8},
			{Address: keyed.Address{0: 0x2001, 1: 0xdb8}, Bits: 32},
			{Address: keyed.Address{7: 1}, Bits: 128},
		},
		IPv4Prefix: 24, IPv6Prefix: 56,
		Key: "header:x-api-key", Cost: "property:metadata/filter_metadata/cost/n", Trace: document.TraceSample, Stated: true,
	}, doc.Proxy)
	upload, all := http, http
	upload.BodyTimeout, upload.BodyRate, upload.Lifetime = 0, policy.ByteRate{}, 0
	all.BodyRate, all.StreamIdle, all.Paths = policy.ByteRate{Bytes: 1, Period: time.Minute}, time.Minute, document.PathsStrict
	assert.Equal(t, upload, doc.Routes[0].HTTP)
	assert.Equal(t, all, doc.Routes[2].HTTP)
	assert.Equal(t, []string{"api", "", "api"}, []string{doc.Routes[0].Policy, doc.Routes[1].Policy, doc.Routes[2].Policy})

	// The words keep their meaning, also where a policy has that name.
	doc, err := policy.Parse("p.yaml", []byte("version: 1\npolicies: {deny: {steps: [timeout: 1s]}, pass: {steps: [timeout: 1s]}}\nhttp: {default: deny, paths: strict}\nroutes: [{path: /, policy: pass}, {path: /b, policy: deny}]\n"))
	require.NoError(t, err)
	assert.Equal(t, document.UnmatchedDeny, doc.HTTP.Unmatched)
	assert.Empty(t, doc.HTTP.Default)
	assert.Equal(t, "strict", doc.HTTP.Paths.String())
	assert.Equal(t, []string{"", "deny"}, []string{doc.Routes[0].Policy, doc.Routes[1].Policy})
}

func TestNames(t *testing.T) {
	doc := parseFile(t, "testdata/good/names.yaml")
	assert.NotNil(t, doc.Lookup("404"))
	assert.Nil(t, doc.Lookup("vendor"))
	var names []string
	var named []bool
	for i, s := range doc.Lookup("a-").Steps {
		names = append(names, s.Name)
		named = append(named, doc.Lookup("a-").Extras[i].Named)
	}
	assert.Equal(t, []string{"limit-2", "bulkhead", "timeout", "limit-3"}, names)
	assert.Equal(t, []bool{true, false, true, false}, named)
}

func TestParseOneIsStrict(t *testing.T) {
	p := one(t, `{"steps":[{"limit":"5/s"}]}`)
	assert.Empty(t, p.Name)
	for body, want := range map[string]string{
		`{"steps":[{"limit":5}]}`:    "e:1:20: steps[0].limit: found the number 5; ",
		`{"steps":[]}`:               "e:1:10: steps: found an empty list; ",
		`{"version":1,"steps":[{}]}`: "e:1:2: version: found the unknown name \"version\"; ",
		`{"steps":[{"retry":3},]}`:   "e:1:23: found ']'; allowed a JSON value",
		`[]`:                         "e:1:1: found an empty list; ",
		``:                           "e:1:1: found an empty document; ",
	} {
		p, err := policy.ParseOne("e", []byte(body))
		assert.Nil(t, p)
		require.Error(t, err, body)
		assert.Contains(t, err.Error(), want)
	}
}

func TestErrorsAreSeparate(t *testing.T) {
	doc, err := policy.Parse("p.yaml", []byte("version: 1\npolicies:\n  a: {steps: [{limit: 5}, {timeout: 5}]}\n"))
	assert.Nil(t, doc)
	var all policy.Errors
	require.ErrorAs(t, err, &all)
	require.Len(t, all, 2)
	var first *policy.Error
	require.True(t, errors.As(err, &first))
	assert.Same(t, all[0], first)
	assert.Equal(t, "policies.a.steps[0].limit", first.Path)
	assert.Equal(t, 2, strings.Count(err.Error(), "p.yaml:3:"))
}

// TestFormats reads one document in every way in which it may come.
func TestFormats(t *testing.T) {
	const text = `{"version": 1, "policies": {"a": {"steps": [{"timeout": "1s"}]}}}`
	yaml := "version: 1\npolicies:\n  a:\n    steps:\n      - timeout: 1s\n"
	for _, c := range []struct{ file, src string }{
		{"a.json", text}, {"a.yaml", text}, {"-", text}, {"a.JSON", "\ufeff" + text},
		{"a.json", "\t\r\n" + strings.ReplaceAll(text, " ", "\t")}, {"a.yaml", strings.ReplaceAll(text, " ", "\t")},
		{"a.yaml", yaml}, {"-", yaml}, {"a.yml", "\ufeff" + yaml}, {"a.yaml", strings.ReplaceAll(yaml, "\n", "\r\n")},
		{"a.yaml", "---\n" + yaml + "...\n"}, {"-", "{version: 1, policies: {a: {steps: [timeout: 1s]}}}"},
		{"a.yaml", strings.ReplaceAll(text, "timeout", `\u0074imeout`)},
	} {
		doc, err := policy.Parse(c.file, []byte(c.src))
		require.NoError(t, err, c)
		assert.Equal(t, time.Second, pipeline.ConfigOf[timeout.Config](doc.Policies[0].Steps[0]).After)
	}
	_, err := policy.Parse("a.json", []byte(yaml))
	assert.EqualError(t, err, "a.json:1:1: found 'v'; allowed a JSON value")
	_, err = policy.Parse("-", []byte(`{"version": 1,, }`))
	assert.EqualError(t, err, "-:1:15: found ','; allowed a name in double quotes")
}

// TestScalars reads plain scalars of YAML by the core schema of version 1.2.
func TestScalars(t *testing.T) {
	for kind, texts := range map[tree.Kind][]string{
		tree.Null:   {"", "~", "null", "Null", "NULL"},
		tree.Bool:   {"true", "True", "TRUE", "false", "False", "FALSE"},
		tree.Number: {"0", "1", "-1", "+1", "010", "1.5", "1.", ".5", "1e5", "1E-5", "-1.5e+5", "0x1F", "0o17", ".inf", "-.INF", ".nan"},
		tree.Text: {
			"yes", "No", "on", "y", "1_000", "12:30", "2020-01-01", "0b1", "0x", "0o8", "1e", "e5", "1e+", "--1", "1.5.5", "nan", "-inf",
			"5/s", "20%", "+", "TrUe", "'1'", "\"\"", "\"true\"", "|\n 1",
		},
	} {
		for _, text := range texts {
			root, whole := policy.ReadTree("p.yaml", []byte("a: "+text+"\n"))
			require.True(t, whole, text)
			assert.Equal(t, kind, root.Items[0].Kind, text)
		}
	}
}
