package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// samples are the documents and logs of package policy.
const samples = "../../../../policy/testdata/samples"

// TestSamples decides the logs of the samples, from a file and from standard
// input, at once and with --follow.
func TestSamples(t *testing.T) {
	logs, err := filepath.Glob(samples + "/*.events.ndjson")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs in %s: %v", samples, err)
	}
	for _, log := range logs {
		base := strings.TrimSuffix(log, ".events.ndjson")
		want := read(t, base+".decisions.ndjson")
		for _, args := range [][]string{{log}, {"--follow", log}, {}, {"-"}} {
			var out, errs bytes.Buffer
			args = append([]string{"eval", "--policy", base + ".yaml"}, args...)
			if code := Run(args, strings.NewReader(read(t, log)), &out, &errs); code != ExitOK || errs.Len() > 0 || out.String() != want {
				t.Errorf("%q: code %d, stderr %q, stdout:\n%s\nwant:\n%s", args, code, errs.String(), out.String(), want)
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// TestSeed checks that the seed reaches the jitter, and that none is 0.
func TestSeed(t *testing.T) {
	const log = `{"at":0,"op":"call","id":1}` + "\n" + `{"at":1,"op":"done","id":1,"outcome":"fail"}` + "\n"
	outputs := map[string]string{}
	for _, seed := range []string{"", "--seed 0", "--seed 7", "--seed 18446744073709551615"} {
		code, stdout, stderr := run(log, "eval --policy "+samples+"/short.yaml "+seed)
		if code != ExitOK || stderr != "" || strings.Count(stdout, "\n") != 2 {
			t.Fatalf("%s: code %d, stdout %q, stderr %q", seed, code, stdout, stderr)
		}
		outputs[seed] = stdout
	}
	if outputs[""] != outputs["--seed 0"] || outputs["--seed 0"] == outputs["--seed 7"] ||
		outputs["--seed 7"] == outputs["--seed 18446744073709551615"] {
		t.Errorf("got %q", outputs)
	}
}

// TestState checks the line for people.
func TestState(t *testing.T) {
	code, stdout, _ := run(`{"at":0,"op":"call","id":1}`+"\n"+`{"at":0,"op":"call","id":2}`, "eval --state --policy "+samples+"/queue.yaml")
	if want := `"step":"bulkhead","state":"held 1/1 waiting 1"}` + "\n"; code != ExitOK || !strings.HasSuffix(stdout, want) {
		t.Errorf("code %d, got %q", code, stdout)
	}
}

// TestFollow reads the decisions of a line before the next one is written.
func TestFollow(t *testing.T) {
	events, write := io.Pipe()
	decisions, out := io.Pipe()
	done := make(chan int)
	go func() {
		done <- Run([]string{"eval", "--follow", "--policy", samples + "/bucket.yaml"}, events, out, io.Discard)
		out.Close()
	}()
	lines := bufio.NewReader(decisions)
	for id := 1; id <= 3; id++ {
		fmt.Fprintf(write, `{"at":0,"op":"call","id":%d}`+"\n", id)
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, fmt.Sprintf(`"id":%d,`, id)) {
			t.Fatalf("call %d: got %q, %v", id, line, err)
		}
	}
	write.Close()
	if code := <-done; code != ExitOK {
		t.Errorf("code %d", code)
	}
}

// endless is a log of calls by some tenants, each of which ends. It measures
// the live heap at two of its lines.
type endless struct {
	lines, at int
	rest      []byte
	early     uint64
	late      uint64
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		switch e.at {
		case e.lines:
			return 0, io.EOF
		case e.lines / 10:
			e.early = liveHeap()
		case e.lines - 2:
			e.late = liveHeap()
		}
		ms := e.at * 10
		e.rest = fmt.Appendf(e.rest[:0], `{"at":"%dms","op":"call","id":"call-%d","key":"tenant-%d","attributes":{"header:x-tenant":"t%d"}}`+"\n", ms, e.at, e.at%500, e.at%300)
		e.rest = fmt.Appendf(e.rest, `{"at":"%dms","op":"done","id":"call-%d","outcome":"ok"}`+"\n", ms+9, e.at)
		e.at += 2
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestFlatMemory checks that 200,000 lines leave no more behind than 20,000.
func TestFlatMemory(t *testing.T) {
	const document = `
version: 1
policies:
  vendor:
    steps:
      - timeout: 30s
      - retry: {attempts: 3, budget: 20%}
      - breaker: {window: {calls: 10}, minimum: 4, per: host}
      - limit: {rate: 50/1m, burst: 10, wait: 3s, per: [key, "header:x-tenant"]}
      - bulkhead: {concurrent: 5, queue: 100, wait: 5s, per: key}
`
	file := filepath.Join(t.TempDir(), "vendor.yaml")
	if err := os.WriteFile(file, []byte(document), 0o644); err != nil {
		t.Fatal(err)
	}
	log := &endless{lines: 200_000}
	var errs bytes.Buffer
	if code := Run([]string{"eval", "--policy", file}, log, io.Discard, &errs); code != ExitOK {
		t.Fatalf("code %d, stderr %q", code, errs.String())
	}
	if grown := int64(log.late) - int64(log.early); grown > 1<<20 {
		t.Errorf("live heap grew by %d bytes from %d to %d", grown, log.early, log.late)
	}
}
