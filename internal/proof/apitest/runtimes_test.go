//go:build !race

package apitest_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/proxywasm/config"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of docs/runtimes.md as they are; read the difference")

// TestRuntimes compares the tables of docs/runtimes.md with what the code has.
func TestRuntimes(t *testing.T) {
	const page = "docs/runtimes.md"
	src, err := os.ReadFile(page)
	require.NoError(t, err)
	f := facts{t, map[string]map[string]bool{}}
	text := string(src)
	for _, table := range []struct {
		name  string
		lines []string
	}{{"mechanisms", f.mechanisms()}, {"settings", f.settings()}, {"features", f.features()}} {
		begin, end := "<!-- runtimes "+table.name+" -->\n", "<!-- end -->"
		before, rest, found := strings.Cut(text, begin)
		require.True(t, found, table.name)
		_, after, found := strings.Cut(rest, end)
		require.True(t, found, table.name)
		text = before + begin + strings.Join(table.lines, "\n") + "\n" + end + after
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(page, []byte(text), 0o600))
		return
	}
	require.Equal(t, text, string(src), "go test ./internal/proof/apitest -run TestRuntimes -rewrite")
}

// facts answers what the code has.
type facts struct {
	t        *testing.T
	packages map[string]map[string]bool
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "-"
}

// exported returns the exported functions of a package, methods as Type.Method.
func (f *facts) exported(folder string) map[string]bool {
	if known := f.packages[folder]; known != nil {
		return known
	}
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(f.t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(f.t, err)
		for _, d := range tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				name = receiver(fn.Recv.List[0].Type) + "." + name
			}
			names[name] = true
		}
	}
	require.NotEmpty(f.t, names, folder)
	f.packages[folder] = names
	return names
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// api returns which of some names a package of Go exports.
func (f *facts) api(folder string, names ...string) string {
	var have []string
	for _, name := range names {
		if f.exported(folder)[name] {
			have = append(have, "`"+name+"`")
		}
	}
	if len(have) == 0 {
		return "-"
	}
	return strings.Join(have, ", ")
}

// js returns which of some names a file of js/src declares: functions, classes, methods and
// entries of types.
func (f *facts) js(file string, names ...string) string {
	src, err := os.ReadFile("js/src/" + file)
	require.NoError(f.t, err)
	var have []string
	for _, name := range names {
		if regexp.MustCompile(`(?m)^\s*(export )?(declare )?(readonly |async |static |get |function |const |class |interface |type )*` + regexp.QuoteMeta(name) + `\b\??\s*([(<:={]|extends )`).Match(src) {
			have = append(have, "`"+name+"`")
		}
	}
	if len(have) == 0 {
		return "-"
	}
	return strings.Join(have, ", ")
}

// by returns words that a test holds, which must be there: a function of Go, or the title of
// a test of the npm package.
func (f *facts) by(words, file, test string) string {
	declared := "func " + test + "("
	if strings.HasSuffix(file, ".ts") {
		declared = test
	}
	require.True(f.t, strings.Contains(f.read(file), declared), "%s: %s has no test %s", words, file, test)
	return words
}

// example is a step of each mechanism, for a document.
func example(kind mechanism.Kind) string {
	return fmt.Sprintf(`{%q: %s}`, kind, mechanisms.Docs(kind).Examples[0])
}

func kinds() (all []mechanism.Kind) {
	for k := mechanism.Kind(1); mechanisms.Row(k) != nil; k++ {
		all = append(all, k)
	}
	return all
}

// documented is a document of one step.
func (f *facts) documented(state, step string) *policy.Document {
	text := fmt.Sprintf(`{version: 1, policies: {p: {steps: [%s]}}, proxy: {state: %s}}`, step, state)
	doc, err := policy.Parse("p.yaml", []byte(text))
	require.NoError(f.t, err, text)
	return doc
}

// filter returns whether the filter performs a step, in a state. Check is what it refuses a
// configuration by.
func (f *facts) filter(state, step string) string {
	if wrong := config.Check("p.yaml", f.documented(state, step)); len(wrong) > 0 {
		require.Contains(f.t, wrong.Error(), "allowed", "an error says what is allowed")
		return "error"
	}
	return "yes"
}

// library reports whether the library and eval perform a step.
func (f *facts) library(step string) (library, decides string) {
	doc := f.documented("worker", step)
	p, err := sluice.New(doc.Policies[0].Policy)
	library = yes(err == nil && p != nil)
	var out bytes.Buffer
	err = eval.Run(doc.Policies[0].Policy, eval.Options{}, strings.NewReader(`{"at":"0s","op":"call","id":1}`+"\n"), &out)
	return library, yes(err == nil && strings.Contains(out.String(), `"decision":`))
}

func table(head ...string) []string {
	return []string{row(head...), "|" + strings.Repeat("---|", len(head))}
}

func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |" }

func (f *facts) mechanisms() []string {
	lines := table("mechanism", "Go, in a pipeline", "Go, alone", "Go, alone by key", "eval, replay, simulator", "npm, in a pipeline", "npm, alone", "npm, alone by key",
		"npm, slim entry", "module, alone", "filter, `worker`", "filter, `process`")
	entries, err := os.ReadFile("js/package.json")
	require.NoError(f.t, err)
	rows, err := os.ReadFile("js/src/generated/mechanisms.ts")
	require.NoError(f.t, err)
	titles := map[mechanism.Kind][3]string{ // Go, npm, entry
		mechanism.Limit: {"Limiter", "rateLimiter", "limiter"}, mechanism.Breaker: {"Breaker", "circuitBreaker", "breaker"}, mechanism.Bulkhead: {"Bulkhead", "bulkhead", "bulkhead"},
		mechanism.Retry: {"Retry", "retry", "retry"}, mechanism.Timeout: {"Timeout", "timeout", "timeout"}, mechanism.Hedge: {"Hedge", "hedge", "hedge"},
		mechanism.Adaptive: {"Adaptive", "adaptive", "adaptive"}, mechanism.Chaos: {"Chaos", "chaos", "chaos"},
	}
	for _, k := range kinds() {
		title, known := titles[k]
		require.True(f.t, known, "a mechanism without names: %s", k)
		step := example(k)
		library, decides := f.library(step)
		keyed := map[mechanism.Kind]string{mechanism.Limit: "cells/keyed.ts", mechanism.Breaker: "cells/keyed-breaker.ts", mechanism.Bulkhead: "cells/keyed-bulkhead.ts"}[k]
		by := "-"
		if keyed != "" {
			by = f.js(keyed, "Keyed"+map[mechanism.Kind]string{mechanism.Limit: "RateLimiter", mechanism.Breaker: "CircuitBreaker", mechanism.Bulkhead: "Bulkhead"}[k])
			if by != "-" {
				by = "`" + title[1] + ".keyed`"
			}
		}
		lines = append(lines, row("`"+k.String()+"`", library, f.api(".", "New"+title[0]), f.api(".", "NewKeyed"+title[0]), decides,
			yes(strings.Contains(string(rows), "name: '"+k.String()+"'")), f.jsAlone(title[1]), by,
			yes(strings.Contains(string(entries), `"./`+title[2]+`"`)), f.api("wasm/host", "Module."+title[0]), f.filter("worker", step), f.filter("process", step)))
	}
	return lines
}

// jsAlone returns the function of the package for a mechanism alone.
func (f *facts) jsAlone(name string) string {
	src, err := os.ReadFile("js/src/core.ts")
	require.NoError(f.t, err)
	if regexp.MustCompile(`(?m)^export \{[^}]*\b` + name + `\b`).Match(src) {
		return "`" + name + "`"
	}
	return "-"
}

// settingName finds the names of settings in a step; names of attributes have a colon without a
// space.
var settingName = regexp.MustCompile(`(\w+): `)

// reader returns the reader of documents of the npm package.
func (f *facts) reader() string {
	var all strings.Builder
	for _, pattern := range []string{"js/src/generated/mechanisms.ts", "js/src/reader/*.ts", "js/src/reader/checks/*.ts"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f.t, err)
		for _, file := range files {
			all.WriteString(f.read(file))
		}
	}
	return all.String()
}

// needs are what a setting needs beside its example, or the step in place of it.
var needs = map[string]string{
	"limit": "rate: 5/s", "bulkhead": "concurrent: 2",
}

func (f *facts) settings() []string {
	lines := table("setting", "Go", "eval, replay, simulator", "npm", "filter, `worker`", "filter, `process`")
	reader := f.reader()
	add := func(name, step string, always bool) {
		library, decides := f.library(step)
		npm := true
		for _, word := range settingName.FindAllStringSubmatch(step, -1) {
			npm = npm && regexp.MustCompile(`\b`+word[1]+`\b`).MatchString(reader)
		}
		cells := []string{library, decides, yes(npm), f.filter("worker", step), f.filter("process", step)}
		if always || slices.ContainsFunc(cells, func(cell string) bool { return cell != "yes" }) {
			lines = append(lines, row(append([]string{name}, cells...)...))
		}
	}
	for _, s := range []struct{ name, step string }{
		{"`order: newest` of `limit`", "limit: {rate: 5/s, wait: 1s, order: newest}"},
		{"`order: newest` of `bulkhead`", "bulkhead: {concurrent: 2, queue: 1, order: newest}"},
		{"`lease` below 1 s of `bulkhead`", "bulkhead: {concurrent: 2, lease: 500ms}"},
		{"`wait`, `queue`", "limit: {rate: 5/s, wait: 1s, queue: 3}"},
		{"`algorithm`", "limit: {rate: 5/s, algorithm: sliding-counter}"},
		{"`window` by calls, by time, in a row", "breaker: {window: {time: 10s, buckets: 10}}"},
		{"`slow`, `initial`, `successes`, `half_open_max`", "breaker: {slow: {over: 1s, rate: 50%}, initial: open, successes: 2, half_open_max: 1m}"},
		{"`lease` of `bulkhead`", "bulkhead: {concurrent: 2, lease: 1s}"},
		{"`algorithm: sliding-log` of more than about 130 permits beside `per`", "limit: {rate: 1000/s, algorithm: sliding-log, per: key}"},
		{"`window` of more than about 100 buckets beside `per`", "breaker: {window: {time: 10s, buckets: 500}, per: key}"},
		{"`scope`, `per`, `keys`, `when_full`, `missing`, `when`, `enforce`", "limit: {rate: 5/s, scope: local, keys: 9, when_full: share, per: header:x, missing: deny, when: {key: a}, enforce: 10%}"},
		{"`shadow`", "limit: {rate: 5/s, shadow: true}"},
		{"`cost`, `charge`, `settle_max`, `counts`", "limit: {rate: 5/s, cost: header:n, charge: settle, settle_max: 2, counts: [fail]}"},
		{"`class`", "limit: {rate: 5/s, class: header:plan, rates: {\"pro\": 9/s}}"},
		{"`block`", "limit: {rate: 5/s, block: {for: 1m}}"},
		{"`warm_up`", "limit: {rate: 5/s, warm_up: 1m}"},
		{"rates by the calendar", "limit: {rate: 5/day, zone: \"+01:00\"}"},
		{"`ramp`, `obey_retry_after`", "breaker: {ramp: {over: 10s}, obey_retry_after: 1m}"},
	} {
		add(s.name, s.step, true)
	}
	// The example of each setting of a mechanism that the filter performs: what is not above.
	for _, k := range kinds() {
		if f.filter("worker", example(k)) != "yes" {
			continue
		}
		for _, s := range mechanisms.Row(k).Settings {
			d := mechanisms.Docs(k).Setting(s.Name)
			if d == nil || d.Example == "" {
				continue
			}
			step := k.String() + ": {" + strings.Trim(needs[k.String()]+", "+d.Example, ", ") + "}"
			if s.Name == strings.SplitN(needs[k.String()], ":", 2)[0] {
				step = k.String() + ": {" + d.Example + "}"
			}
			text := fmt.Sprintf(`{version: 1, policies: {p: {steps: [%s]}}}`, "{"+step+"}")
			if _, err := policy.Parse("p.yaml", []byte(text)); err != nil {
				continue // it needs another one, and stands above
			}
			add("`"+d.Example+"` of `"+k.String()+"`", step, false)
		}
	}
	return slices.Compact(lines)
}

func (f *facts) features() []string {
	lines := table("what", "Go", "`nethttp`, `grpc`, `serve`", "npm", "filter", "module for other hosts")
	add := func(cells ...string) { lines = append(lines, row(cells...)) }
	serve := func(words, file, test string) string { return f.by(words, "cmd/sluice/internal/serve/"+file, test) }
	http := func(words, file, test string) string { return f.by(words, "bindings/nethttp/"+file, test) }
	filter := func(words, file, test string) string {
		return f.by(words, "proxywasm/host/filtertest/"+file, test)
	}
	add("events", f.api(".", "Pipeline.Listen", "Set.Listen"), serve("of the admin address", "operate_test.go", "TestEventStream"), f.js("base/observable.ts", "on"), filter("counters alone", "eval_test.go", "TestWorkerAsEval"), f.api("wasm/host", "Pipeline.Batch"))
	add("metrics", f.api(".", "Metrics.Snapshot"), serve("`/metrics`", "observability_test.go", "TestMetricsAreDocumented"), f.js("opentelemetry.ts", "instrument"), filter("counters of Envoy", "eval_test.go", "TestProcessAsEval"), "-")
	add("traces that `replay` reads", f.api(".", "Pipeline.Trace", "Set.Trace"), serve("`--trace`", "trace_test.go", "TestTrace"), f.jsTrace(), f.filterTrace(), "-")
	add("state of a cell", f.api(".", "Pipeline.State", "Handle.State"), serve("`sluice ctl`", "operate_test.go", "TestOperateKeys"), f.js("pipeline/step.ts", "state", "counts", "peek"), filter("`x-sluice-trace`", "trace_test.go", "TestTraceOnRequest"), f.api("wasm/host", "Cell.State"))
	add("snapshots", f.api(".", "Pipeline.Snapshot", "Pipeline.Restore"), serve("`--state`", "state_test.go", "TestStateOutlivesARestart"), f.js("pipeline/pipeline.ts", "snapshot", "restore"), "-", f.api("wasm/host", "Pipeline.Save", "Pipeline.Load"))
	add("another policy while it runs", f.api(".", "Pipeline.Configure", "Set.Reload"), serve("the file, SIGHUP", "serve_test.go", "TestReload"), f.js("pipeline/pipeline.ts", "configure"), filter("a push", "life_test.go", "TestPushWhileItRuns"), f.api("wasm/host", "Pipeline.Configure"))
	add("`configure` of a mechanism alone", f.api(".", "Limiter.Configure", "Breaker.Configure", "Bulkhead.Configure", "Retrier.Configure", "KeyedLimiter.Configure"), "-", f.jsConfigures(), "-", f.api("wasm/host", "Cell.Adopt"))
	add("handles of a step", f.api(".", "Handle.Reset", "Handle.Block", "Handle.Drain", "Handle.Configure", "Handle.Transition"), serve("`sluice ctl`", "operate_test.go", "TestOperateBreaker"), f.js("pipeline/step.ts", "reset", "evict", "transition", "drain", "block", "configure"), "-", f.api("wasm/host", "Cell.Step"))
	add("what an attempt knows", f.api(".", "AttemptOf", "AttemptInfoOf"), f.api("bindings/nethttp", "WithRequest", "Info"), f.js("pipeline/attempt.ts", "attempt", "hedge", "signal", "deadline", "lastError", "elapsed"), "-", "-")
	add("renewal of a lease", f.api(".", "Renew", "Place.Renew"), "-", f.js("pipeline/attempt.ts", "renew"), filter("`process`: by a tick", "wait_test.go", "TestWaitsAndDeadWorker"), f.api("wasm/host", "Pipeline.Renew"))
	add("what a call has used", f.api(".", "Used", "Call.Used"), "by the handler, in Go", f.js("pipeline/attempt.ts", "used"), "-", f.api("wasm/host", "Pipeline.Done"))
	add("soft timeouts told", f.by("yes", "internal/proof/apitest/timeout_test.go", f.find("internal/proof/apitest/timeout_test.go", "Soft")), "as Go", f.jsTests("soft:"), f.filter("process", "timeout: {after: 1s, soft: 500ms}"), "yes")
	add("hedges", f.by("yes", "internal/proof/apitest/hedge_test.go", f.find("internal/proof/apitest/hedge_test.go", "Hedge")), http("requests without a body, or with one that is kept", "hedge_test.go", f.find("bindings/nethttp/hedge_test.go", "Hedge")), f.by("yes", "js/test/hedge.test.ts", "hedge"), f.filter("process", "hedge: {after: 1s}"), "yes")
	add("fallback", f.api(".", "FallbackOf", "Pipeline.Fallback", "OrElse"), http("status and body", "handler_test.go", "TestHandlerFallback"), f.js("pipeline/options.ts", "fallback"), filter("status and body", "exchanges_test.go", "TestExchanges"), "-")
	add("a place is held to the end of the body", f.api(".", "Hold", "Extend"), http("yes", "body_test.go", "TestRequestBodyIsClosedOnce"), f.by("yes", "js/test/body.test.ts", "body"), filter("yes", "wait_test.go", "TestWaitsForPlaces"), "-")
	add("a body is sent again", "-", http("up to 64 KiB", "body_test.go", "TestBodyIsSentAgain"), f.by("yes", "js/test/fetch.test.ts", "body"), "-", "-")
	add("admission in two phases", f.api(".", "Pipeline.Begin"), "-", f.js("pipeline/pipeline.ts", "tryAcquire", "acquire"), "-", f.api("wasm/host", "Pipeline.Begin"))
	add("mechanisms that policies share", f.api(".", "WithMechanisms", "Load"), "as Go", f.by("`policies`", "js/test/policies.test.ts", "policies"), filter("yes", "shared_test.go", "TestSharedMechanism"), f.api("wasm/host", "Pipeline.Join"))
	add("shadow", f.by("yes", "internal/proof/apitest/shadow_test.go", "TestShadowDecidesIdentically"), "as Go", f.by("yes", "js/test/pipeline.test.ts", "shadow"), filter("yes", "eval_test.go", "TestWorkerAsEval"), "yes")
	add("conditions, `allow`, `deny`, `enforce`", f.by("yes", "internal/proof/apitest/conditions_test.go", f.find("internal/proof/apitest/conditions_test.go", "")), http("yes", "conditions_test.go", f.find("bindings/nethttp/conditions_test.go", "")), f.by("yes", "js/test/conditions.test.ts", "when"), filter("yes", "eval_test.go", "TestProcessAsEval"), "yes")
	return lines
}

// jsTests returns yes where a test of the npm package has a word.
func (f *facts) jsTests(word string) string {
	files, err := filepath.Glob("js/test/*.test.ts")
	require.NoError(f.t, err)
	return yes(slices.ContainsFunc(files, func(file string) bool { return strings.Contains(f.read(file), word) }))
}

// find returns the first test of a file whose name has a word.
func (f *facts) find(file, word string) string {
	name := regexp.MustCompile(`(?m)^func (Test\w*` + word + `\w*)\(`).FindStringSubmatch(f.read(file))
	require.NotNil(f.t, name, "%s has no test of %s", file, word)
	return name[1]
}

func (f *facts) read(file string) string {
	src, err := os.ReadFile(file)
	require.NoError(f.t, err)
	return string(src)
}

// sources returns all of js/src.
func (f *facts) sources() string {
	var all strings.Builder
	require.NoError(f.t, filepath.WalkDir("js/src", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".ts") {
			all.WriteString(f.read(file))
		}
		return err
	}))
	return all.String()
}

// jsTrace returns the method of the package that records a trace.
func (f *facts) jsTrace() string {
	if regexp.MustCompile(`(?m)^  (async )?trace\(`).MatchString(f.sources()) {
		return "`trace`"
	}
	return "-"
}

// jsConfigures returns which mechanisms alone can be configured.
func (f *facts) jsConfigures() string {
	var have []string
	for _, one := range []string{"limiter", "breaker", "bulkhead"} {
		if f.js("cells/"+one+".ts", "configure") != "-" {
			have = append(have, one)
		}
	}
	if len(have) == 0 {
		return "-"
	}
	return "`configure` of " + strings.Join(have, ", ")
}

// filterTrace returns the setting by which the filter records a trace.
func (f *facts) filterTrace() string {
	if _, err := policy.Parse("p.yaml", []byte(`{version: 1, policies: {p: {steps: [{limit: 5/s}]}}, proxy: {trace: record}}`)); err != nil {
		return "-"
	}
	return f.by("`proxy: {trace: record}`", "proxywasm/host/filtertest/record_test.go", "TestRecordIsReplayed")
}
