package cli

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	block   = regexp.MustCompile("(?ms)^```(ndjson|yaml|console)\n(.*?)^```")
	console = regexp.MustCompile(`^\$ sluice (.*)\n`)
)

// TestTracePage runs the commands of docs/trace.md on the trace and the policies that the
// page shows, and rewrites what they print with -rewrite.
func TestTracePage(t *testing.T) {
	page, err := filepath.Abs("../../../../docs/trace.md")
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, page)
	blocks := block.FindAllStringSubmatch(text, -1)
	files := map[string]string{}
	for _, b := range blocks {
		switch {
		case b[1] == "ndjson":
			files["trace.ndjson"] = b[2]
		case b[1] == "yaml" && strings.Contains(b[2], "breaker"):
			files["search.yaml"] = b[2]
		case b[1] == "yaml":
			files["stricter.yaml"] = b[2]
		}
	}
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commands, rewritten := 0, text
	for _, b := range blocks {
		if b[1] != "console" {
			continue
		}
		commands++
		line := console.FindStringSubmatch(b[2])
		code, stdout, stderr := run("", line[1])
		want := strings.TrimPrefix(b[2], line[0])
		rewritten = strings.Replace(rewritten, b[2], line[0]+stdout, 1)
		if code != ExitOK || stderr != "" || stdout != want && !*rewrite {
			t.Errorf("%s: code %d, stderr %q, stdout (-rewrite writes it):\n%s\nwant:\n%s", line[1], code, stderr, stdout, want)
		}
	}
	if len(files) != 3 || commands != 3 {
		t.Fatalf("%d files, %d commands", len(files), commands)
	}
	// The events of the trace are what sluice eval reads, and its decisions what it prints.
	var events, decisions string
	for line := range strings.Lines(files["trace.ndjson"]) {
		switch {
		case strings.HasPrefix(line, `{"trace":`):
		case strings.Contains(line, `"op":`):
			events += line
		default:
			decisions += line
		}
	}
	if code, stdout, stderr := run(events, "eval --policy search.yaml --seed 42"); code != ExitOK || stderr != "" || stdout != decisions {
		t.Errorf("eval: code %d, stderr %q, stdout:\n%s\nwant:\n%s", code, stderr, stdout, decisions)
	}
	if *rewrite {
		if err := os.WriteFile(page, []byte(rewritten), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordings compares what replay, diff and explain print of testdata/replay with the
// files there. Read the difference after -rewrite.
func TestRecordings(t *testing.T) {
	golden, err := filepath.Abs("testdata/replay")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(golden)
	for name, line := range map[string]string{
		"combined":         "replay --policy api.yaml combined.log",
		"combined.start":   "replay --policy api.yaml --time start --together --first 3 combined.log",
		"combined.json":    "replay --policy api.yaml --json --first 2 combined.log",
		"common":           "replay --policy api.yaml:steady common.log",
		"nginx":            "replay --policy api.yaml nginx.json",
		"caddy":            "replay --policy api.yaml:steady caddy.json",
		"serve":            "replay --policy api.yaml --assume-duration 1s --assume-outcome fail serve.json",
		"several":          "replay --policy api.yaml:steady common.log combined.log --format common",
		"events":           "replay --policy api.yaml:queued events.ndjson",
		"trace":            "replay trace.ndjson",
		"trace.other":      "replay --policy api.yaml trace.ndjson",
		"diff":             "diff api.yaml:steady api.yaml:queued --trace combined.log --first 4",
		"diff.json":        "diff api.yaml:steady api.yaml:queued --trace trace.ndjson --json",
		"explain.limit":    "explain trace.ndjson --id limited/3",
		"explain.json":     "explain trace.ndjson --id limited/3 --json",
		"explain.waited":   "explain --policy api.yaml --name queued --events events.ndjson --id b",
		"explain.full":     "explain --policy api.yaml --name queued --events events.ndjson --id 4",
		"explain.expired":  "explain --policy api.yaml --name queued --events events.ndjson --id 3",
		"explain.capacity": "explain --policy api.yaml --name steady --events events.ndjson --id 5",
		"explain.line":     "explain --policy api.yaml combined.log --id 5",
		"explain.request":  "explain --policy api.yaml serve.json --id 7d1c",
		"explain.named":    "explain --policy api.yaml --name steady common.log --id 2 --json",
		"summary":          "eval --policy api.yaml --name queued --summary events.ndjson",
		"summary.json":     "eval --policy api.yaml --name queued --summary --json events.ndjson",
		"shared":           "replay --policy shared.yaml shared.ndjson",
		"shared.apart":     "diff shared.yaml apart.yaml --trace shared.ndjson",
		"shared.one":       "replay --policy shared.yaml:search shared.ndjson",
		"shared.explain":   "explain --policy shared.yaml shared.ndjson --id checkout/2",
		"shared.unnamed":   "explain --policy shared.yaml events.ndjson --id 3",
		"explain.running":  "explain --policy api.yaml --name fragile --events events.ndjson --id 4",
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run("", line)
			compare(t, filepath.Join(golden, name+".txt"), exitLine(code)+stderr+stdout)
		})
	}
}

// TestReplayLog checks that the log of a replay is what sluice eval prints.
func TestReplayLog(t *testing.T) {
	events, err := filepath.Abs("testdata/replay/events.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	document, err := filepath.Abs("testdata/replay/api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{"steady", "queued", "fragile"} {
		_, want, _ := run("", "eval --policy "+document+" --name "+name+" "+events)
		if code, _, stderr := run("", "replay --policy "+document+":"+name+" --log log.ndjson "+events); code != ExitOK || stderr != "" {
			t.Errorf("%s: code %d, stderr %q", name, code, stderr)
		}
		if got := read(t, "log.ndjson"); got != want || want == "" {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestReplayLogOfAll is TestReplayLog for policies that share a mechanism.
func TestReplayLogOfAll(t *testing.T) {
	golden, err := filepath.Abs("testdata/replay")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	files := " --policy " + filepath.Join(golden, "shared.yaml") + " " + filepath.Join(golden, "shared.ndjson")
	_, want, _ := run("", "eval --all"+files)
	if code, _, stderr := run("", "replay --log log.ndjson"+files); code != ExitOK || stderr != "" {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	if got := read(t, "log.ndjson"); got != want || want == "" {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestReplayEvents checks that sluice eval decides the events of a replay as the replay did:
// the calls of an access log, of a log of events and of a trace.
func TestReplayEvents(t *testing.T) {
	golden, err := filepath.Abs("testdata/replay")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	document := filepath.Join(golden, "api.yaml")
	for _, name := range []string{"steady", "queued", "fragile"} {
		for _, recording := range []string{"combined.log", "common.log", "nginx.json", "events.ndjson", "trace.ndjson"} {
			line := "replay --seed 3 --log log.ndjson --events events.ndjson --policy " + document + ":" + name + " " + filepath.Join(golden, recording)
			if code, _, stderr := run("", line); code != ExitOK {
				t.Fatalf("%s: code %d, stderr %q", line, code, stderr)
			}
			want := read(t, "log.ndjson")
			code, got, stderr := run("", "eval --seed 3 --policy "+document+" --name "+name+" events.ndjson")
			if code != ExitOK || stderr != "" || got != want || want == "" {
				t.Errorf("%s of %s: code %d, stderr %q, got\n%s\nwant\n%s", recording, name, code, stderr, got, want)
			}
		}
	}
}

// TestReplayCompressed reads a log that is compressed, from standard input.
func TestReplayCompressed(t *testing.T) {
	const folder = "testdata/replay/"
	_, want, _ := run(read(t, folder+"common.log"), "replay --policy "+folder+"api.yaml:steady -")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte(read(t, folder+"common.log"))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	code, got, stderr := run(z.String(), "replay --policy "+folder+"api.yaml:steady -")
	if code != ExitOK || stderr != "" || got != want || !strings.Contains(got, "format common") {
		t.Errorf("code %d, stderr %q, got\n%s\nwant\n%s", code, stderr, got, want)
	}
}

// TestEventsOfSeveral checks that no log of events mixes policies, and that explain says of
// a line without a policy that it has none.
func TestEventsOfSeveral(t *testing.T) {
	golden, err := filepath.Abs("testdata/replay")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	api := filepath.Join(golden, "api.yaml")
	code, _, stderr := run("", "replay --events events.ndjson --policy "+api+" "+filepath.Join(golden, "serve.json"))
	want := "sluice: --events: a log of events has one policy, and these decide the recording: steady, queued; choose one by --policy FILE:NAME (see sluice replay --help)\n"
	if _, err := os.Stat("events.ndjson"); code != ExitBad || stderr != want || !os.IsNotExist(err) {
		t.Errorf("code %d, stderr %q, file %v", code, stderr, err)
	}
	const line = `{"time":"2026-11-22T09:30:00.1Z","method":"GET","path":"/","status":200,"seconds":1}`
	code, _, stderr = run(line, "explain --policy "+api+" --id 1 -")
	if want := "sluice: no policy decides the call 1: it matches no route with a policy\n"; code != ExitBad || stderr != want {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
}

// TestSummaryOfBadLines prints what was decided before a line that cannot be read.
func TestSummaryOfBadLines(t *testing.T) {
	files(t)
	code, stdout, stderr := run(`{"at":"2s","op":"call","id":1}`+"\nno\n", "eval --policy one.yaml --summary")
	const want = "policy only: 1 decisions, the last at 2s\n\ndecision  step  reason  outcome  count\nadmit     -     -       -        1\n"
	if code != ExitBad || stdout != want || !strings.HasPrefix(stderr, "line 2: ") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestRecordingLines are command lines that fail.
func TestRecordingLines(t *testing.T) {
	files(t)
	const call = `{"at":0,"op":"call","id":1}` + "\n"
	for line, want := range map[string]string{
		"replay":                                                                      "sluice: requires at least 1 arg(s), only received 0 (see sluice replay --help)\n",
		"replay log.ndjson":                                                           "sluice: replay needs --policy FILE: log.ndjson has no policy of its own (see sluice replay --help)\n",
		"replay --policy one.yaml none.ndjson":                                        "sluice: cannot read none.ndjson: no such file or directory\n",
		"replay --policy one.yaml:x log.ndjson":                                       "sluice: there is no policy \"x\" in one.yaml; choose one of: only\n",
		"replay --policy wrong.yaml log.ndjson":                                       complaint("wrong.yaml", wrong),
		"replay --policy one.yaml --format x log.ndjson":                              "sluice: there is no format \"x\"; there is auto, trace, events, common, combined, json (see sluice replay --help)\n",
		"replay --policy one.yaml --time x log.ndjson":                                "sluice: there is no --time \"x\"; there is auto, start, end (see sluice replay --help)\n",
		"replay --policy one.yaml --first -1 log.ndjson":                              "sluice: --first is -1; allowed: 0 or more (see sluice replay --help)\n",
		"replay --policy one.yaml --strict -":                                         "standard input: line 2: op: found \"x\"; allowed: call, done, renew, cancel, tick, configure\n",
		"replay --policy one.yaml one.yaml":                                           "sluice: cannot read one.yaml: the format is not known; choose one with --format: trace, events, common, combined, json\n",
		"diff one.yaml two.yaml":                                                      "sluice: diff needs --trace RECORDING or --scenario SCENARIO (see sluice diff --help)\n",
		"diff one.yaml --trace log.ndjson":                                            "sluice: accepts 2 arg(s), received 1 (see sluice diff --help)\n",
		"explain log.ndjson":                                                          "sluice: explain needs --id ID (see sluice explain --help)\n",
		"explain --id 1":                                                              "sluice: explain needs RECORDING, or --policy FILE and --events FILE (see sluice explain --help)\n",
		"explain --id 1 log.ndjson":                                                   "sluice: explain needs --policy FILE: log.ndjson has no policy of its own (see sluice explain --help)\n",
		"explain --id 1 --events log.ndjson":                                          "sluice: --events needs --policy FILE (see sluice explain --help)\n",
		"explain --id 2 --policy one.yaml log.ndjson":                                 "sluice: there is no call 2 among the 1 calls of the recording\n",
		"eval --policy one.yaml --summary --follow log.ndjson":                        "sluice: --summary prints no decisions; --follow and --state do not go with it (see sluice eval --help)\n",
		"eval --policy one.yaml --json log.ndjson":                                    "sluice: --json needs --summary; decisions are JSON already (see sluice eval --help)\n",
		"explain --id 1 --name only log.ndjson":                                       "sluice: --name needs --policy FILE (see sluice explain --help)\n",
		"serve --policy one.yaml --upstream http://x --trace-off":                     "sluice: --trace-off needs --trace FILE (see sluice serve --help)\n",
		"serve --policy one.yaml --upstream http://x --trace t --trace-sample 5":      "sluice: --trace-sample is \"5\"; allowed: a share above 0% and up to 100%, as in 5% (see sluice serve --help)\n",
		"serve --policy one.yaml --upstream http://x --trace t --trace-redact x":      "sluice: there is no --trace-redact \"x\"; there is secrets, all, none (see sluice serve --help)\n",
		"serve --policy one.yaml --upstream http://x --trace t --trace-max-bytes 5":   "sluice: --trace-max-bytes is 5; allowed: 1048576 or more (see sluice serve --help)\n",
		"serve --policy one.yaml --upstream http://x --trace t --trace-off --admin= ": "sluice: --trace-off needs --admin ADDRESS (see sluice serve --help)\n",
		"replay --policy one.yaml --assume-outcome x log.ndjson":                      "sluice: there is no outcome \"x\"; there is ok, fail, throttle, ignore (see sluice replay --help)\n",
	} {
		code, stdout, stderr := run(call+`{"at":0,"op":"x"}`, line)
		if code != ExitBad || stdout != "" || stderr != want {
			t.Errorf("sluice %s: code %d\nstdout %q\nstderr %q\n  want %q", line, code, stdout, stderr, want)
		}
	}
}
