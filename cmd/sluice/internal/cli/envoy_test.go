package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
	"github.com/sluice-go/sluice/policy"
)

// limited is a document that the filter for Envoy performs.
const limited = `version: 1
policies:
  api: {steps: [limit: {rate: 2/1h}]} # a comment
routes: [{path: /**, policy: api}]
`

// TestEnvoy prints a document in JSON, and refuses steps that a proxy does not perform.
func TestEnvoy(t *testing.T) {
	const want = "{\n  \"version\": 1,\n  \"policies\": {\n    \"api\": {\n      \"steps\": [\n        {\n          \"limit\": {\n            \"rate\": \"2/1h\"\n          }\n        }\n      ]\n    }\n  },\n  \"routes\": [\n    {\n      \"path\": \"/**\",\n      \"policy\": \"api\"\n    }\n  ]\n}\n"
	if code, stdout, stderr := run(limited, "envoy -"); code != ExitOK || stdout != want || stderr != "" {
		t.Errorf("code %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	const refused = "stdin:3:19: policies.only.steps[0].timeout: found a step that the filter of a proxy does not perform; " +
		"allowed breaker, limit and bulkhead; timeout of an Envoy route bounds requests, per_try_timeout of its retry_policy each attempt\n"
	for command, want := range map[string]string{
		"envoy -":                         refused,
		"envoy --bootstrap -u http://x -": refused,
	} {
		if code, stdout, stderr := run(one, command); code != ExitBad || stdout != "" || stderr != want {
			t.Errorf("%s: code %d, stdout %q, stderr %q", command, code, stdout, stderr)
		}
	}
	if code, stdout, stderr := run(wrong, "envoy -"); code != ExitBad || stdout != "" || stderr != complaint("stdin", wrong) {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestEnvoyFlags refuses flags that cannot be, each with what is allowed.
func TestEnvoyFlags(t *testing.T) {
	const address = "allowed: an IP address and a port, as in 0.0.0.0:8080"
	const target = "allowed: a URL of http, https or h2c without a path, as in http://127.0.0.1:9000"
	for command, want := range map[string]string{
		"envoy":                                    "envoy needs one FILE, found 0",
		"envoy -u http://x -":                      "--upstream needs --bootstrap",
		"envoy --wasm x -":                         "--wasm needs --bootstrap",
		"envoy -b -":                               `--upstream is ""; ` + target,
		"envoy -b -u ftp://x -":                    `--upstream is "ftp://x"; ` + target,
		"envoy -b -u http://x/path -":              `--upstream is "http://x/path"; ` + target,
		"envoy -b -u http://x:0 -":                 `--upstream is "http://x:0"; ` + target,
		"envoy -b -u http://x -l localhost:80 -":   `--listen is "localhost:80"; ` + address,
		"envoy -b -u http://x --admin 127.0.0.1 -": `--admin is "127.0.0.1"; ` + address,
		"envoy --trusted-hops 1 -":                 "--trusted-hops needs --bootstrap",
		"envoy --worker 1 -":                       "--worker needs --trace",
		"envoy --trace x -b -":                     "--bootstrap does not go with --trace",
		"envoy -b -u http://x --trusted-hops -1 -": "--trusted-hops is -1; allowed: 0 to 100",
	} {
		if code, stdout, stderr := run(limited, command); code != ExitBad || stdout != "" || stderr != "sluice: "+want+" (see sluice envoy --help)\n" {
			t.Errorf("%s: code %d, stdout %q, stderr %q", command, code, stdout, stderr)
		}
	}
}

// TestEnvoyBootstrap compares the whole configuration with testdata/envoy.yaml, and the
// parts that differ with the upstream.
func TestEnvoyBootstrap(t *testing.T) {
	module := filepath.Join(t.TempDir(), "m.wasm")
	_, stdout, _ := run(limited, "envoy --bootstrap --upstream http://127.0.0.1:9000 -")
	compare(t, "testdata/envoy.yaml", stdout)
	for flags, want := range map[string]string{
		"--upstream https://api.example.com":                            `{address: "api.example.com", port_value: 443}`,
		"--upstream https://a.test":                                     `sni: "a.test"`,
		"--upstream https://[2001:db8::1]":                              `{san_type: IP_ADDRESS, matcher: {exact: "2001:db8::1"}}`,
		"--upstream http://a --write-wasm " + module + " ":              `filename: "` + module + `"`,
		"--upstream http://a --wasm /etc/x.wasm --write-wasm " + module: `filename: "/etc/x.wasm"`,
		"--upstream h2c://a:81":                                         "explicit_http_config: {http2_protocol_options: {}}",
		"--upstream http://a --admin= ":                                 `{address: "a", port_value: 80}`,
		"--upstream http://a --trusted-hops 2":                          "use_remote_address: true\n                # So many proxies in front of this one each add an address to X-Forwarded-For.\n                xff_num_trusted_hops: 2\n",
	} {
		if _, stdout, stderr := run(limited, "envoy -b "+flags+" -"); !strings.Contains(stdout, want) || strings.Contains(stdout, "admin:") == strings.Contains(flags, "--admin=") {
			t.Errorf("%s: stdout %s, stderr %s", flags, stdout, stderr)
		}
	}
}

// TestEnvoyRuns starts Envoy with what the command writes: the whole configuration, and
// the module. What the filter records in its log is replayed to the same decisions.
func TestEnvoyRuns(t *testing.T) {
	envoytest.Need(t)
	upstream := envoytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "from upstream") })
	for _, scheme := range []string{"http", "h2c"} {
		folder := t.TempDir()
		recorded := limited + "proxy: {trace: record}\n"
		code, stdout, stderr := run(recorded, "envoy -b -l 127.0.0.1:0 --admin 127.0.0.1:0 -u "+scheme+"://"+upstream.Address()+" --write-wasm "+folder+"/filter.wasm -")
		if code != ExitOK {
			t.Fatalf("code %d, stderr %s", code, stderr)
		}
		file := filepath.Join(folder, "envoy.yaml")
		if err := os.WriteFile(file, []byte(stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := envoy.StartFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := envoytest.Clients(t, e)
		if a := c.Get("/"); a.Status != 200 || a.Body != "from upstream" {
			t.Errorf("%s: got %+v", scheme, a)
		}
		for _, want := range []int{200, 429} {
			if a := c.Get("/"); a.Status != want {
				t.Errorf("%s: got %d, want %d", scheme, a.Status, want)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		log, recording := filepath.Join(folder, "envoy.log"), filepath.Join(folder, "trace.ndjson")
		if err := os.WriteFile(log, []byte(e.Log()), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, stdout, stderr = run(recorded, "envoy --trace "+log+" -"); code != ExitOK {
			t.Fatalf("code %d, stderr %s", code, stderr)
		}
		if err := os.WriteFile(recording, []byte(stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, stdout, stderr = run("", "replay "+recording); code != ExitOK || !strings.Contains(stdout, "3 calls") || !strings.Contains(stdout, "the same                                       3") {
			t.Errorf("code %d, stdout %s, stderr %s", code, stdout, stderr)
		}
	}
	code, stdout, stderr := run(limited, "envoy --write-wasm "+t.TempDir()+" -")
	if code != ExitFailed || stdout != "" || !strings.HasPrefix(stderr, "sluice: cannot write ") {
		t.Errorf("code %d, stdout %s, stderr %s", code, stdout, stderr)
	}
}

// TestEnvoyTrace makes a trace of a log of Envoy that has other lines, too, and replays it to the
// same decisions.
func TestEnvoyTrace(t *testing.T) {
	folder := t.TempDir()
	document, log, recording := filepath.Join(folder, "p.yaml"), filepath.Join(folder, "envoy.log"), filepath.Join(folder, "trace.ndjson")
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(document, limited)
	const head = "[2026-11-24 10:00:00.000][7][info][wasm] wasm log sluice sluice: "
	lines := []string{"starting main dispatch loop", head + "sluice: record: 1 began 1000000000", head + "sluice: record: 2 began 1000000000"}
	for i, one := range []string{
		`{"at":"1h0m0s","id":"api/1.1","op":"call"}`, `{"at":"1h0m0s","id":"api/1.1","decision":"admit","attempt":1}`, `{"at":"1h0m1s","id":"api/1.1","op":"done","outcome":"ok"}`,
		`{"at":"1h0m2s","id":"api/2.1","op":"call"}`, `{"at":"1h0m2s","id":"api/2.1","decision":"admit","attempt":1}`, `{"at":"1h0m2s","id":"api/2.1","op":"done","outcome":"fail"}`,
		`{"at":"1h0m3s","id":"api/1.2","op":"call"}`, `{"at":"1h0m3s","id":"api/1.2","decision":"reject","step":"limit","reason":"rate","retry_after":"29m57s"}`,
	} {
		lines = append(lines, head+"sluice: record: "+[]string{"1", "1", "1", "2", "2", "2", "1", "1"}[i]+" "+one)
	}
	lines = append(lines, head+"sluice: record: 1 lost 3")
	write(log, strings.Join(lines, "\n")+"\n")
	code, stdout, stderr := run("", "envoy --trace "+log+" "+document)
	if code != ExitOK || !strings.Contains(stdout, `"began":"1970-01-01T00:00:01Z","seed":"1"`) {
		t.Fatalf("code %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	write(recording, stdout)
	code, stdout, stderr = run("", "replay "+recording)
	if code != ExitOK || !strings.Contains(stdout, "3 calls") || !strings.Contains(stdout, "the same                                       3") {
		t.Errorf("code %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	if code, stdout, _ = run("", "envoy --worker 2 --trace "+log+" "+document); code != ExitOK || strings.Contains(stdout, "api/1.") || !strings.Contains(stdout, "api/2.1") {
		t.Errorf("code %d, stdout %s", code, stdout)
	}
	for text, want := range map[string]string{
		"nothing":                        "found no line of a trace; allowed a log of Envoy whose filter has proxy: {trace: record}",
		"sluice: record: x {}":           `line 1: found the worker "x"; allowed a number`,
		"sluice: record: 1 began soon":   `line 1: found began "soon"; allowed a number of nanoseconds`,
		"sluice: record: 1 other things": `line 1: found "other things"; allowed a line of a trace`,
	} {
		write(log, text+"\n")
		if code, stdout, stderr := run("", "envoy --trace "+log+" "+document); code != ExitBad || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d, stdout %s, stderr %s", text, code, stdout, stderr)
		}
	}
}

// TestEnvoyExpandsAliases makes sure that what is printed is the document that was read.
func TestEnvoyExpandsAliases(t *testing.T) {
	_, stdout, _ := run("version: 1\npolicies: {a: &a {steps: [bulkhead: 5]}, b: *a}\n", "envoy -")
	doc, err := policy.Parse("sluice.json", []byte(stdout))
	if err != nil || len(doc.Policies) != 2 {
		t.Errorf("%v: %s", err, stdout)
	}
}
