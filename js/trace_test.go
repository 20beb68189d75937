package js_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/trace"
)

// TestTrace gives the events of traces that the npm package records to the evaluator in
// Go, which decides what the trace says, byte by byte.
func TestTrace(t *testing.T) {
	ready(t)
	seed := testenv.Seed()
	t.Logf("seed %d", seed)
	cmd := exec.Command("node", "test/trace.mjs", strconv.FormatUint(seed%(1<<32), 10))
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &failed)
	}
	traces := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(traces) != 9 {
		t.Fatalf("%d traces", len(traces))
	}
	for i, line := range traces {
		var recorded struct {
			Text     string
			Document json.RawMessage
		}
		if err := json.Unmarshal(line, &recorded); err != nil {
			t.Fatal(err)
		}
		headers, events, decisions := linesOf(t, recorded.Text)
		var decided bytes.Buffer
		if recorded.Document == nil {
			p, err := policy.ParseOne("body", headers[0].Body)
			if err != nil {
				t.Fatalf("trace %d: %v", i, err)
			}
			err = eval.Run(p.Policy, eval.Options{Seed: headers[0].Seed}, strings.NewReader(events), &decided)
			if err != nil {
				t.Fatalf("trace %d: %v", i, err)
			}
		} else {
			doc, err := policy.Parse("document.json", recorded.Document)
			if err != nil {
				t.Fatal(err)
			}
			var all []pipeline.Policy
			for _, p := range doc.Policies {
				all = append(all, p.Policy)
			}
			if len(all) != len(headers) {
				t.Errorf("trace %d: %d headers of %d policies", i, len(headers), len(all))
			}
			if err := eval.RunAll(all, eval.Options{}, strings.NewReader(events), &decided); err != nil {
				t.Fatalf("trace %d: %v", i, err)
			}
		}
		if decided.String() != decisions {
			t.Errorf("trace %d: eval decides\n%s\nof\n%s", i, &decided, recorded.Text)
		}
	}
}

// linesOf returns the headers, the events and the decisions of a trace of 60 calls.
func linesOf(t *testing.T, text string) (headers []*trace.Header, events, decisions string) {
	t.Helper()
	lines := strings.SplitAfter(text, "\n")
	r := trace.NewReader(strings.NewReader(text))
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return headers, events, decisions
		}
		if err != nil {
			t.Fatal(err)
		}
		switch text := lines[line.Number-1]; {
		case line.Header != nil:
			if h := line.Header; trace.Digest(h.Body) != h.Digest {
				t.Errorf("digest %s, want that of %s", h.Digest, h.Body)
			}
			headers = append(headers, line.Header)
		case line.End != nil:
			if e := line.End; e.Calls != 60 || int(e.Lines) != strings.Count(events, "\n")+strings.Count(decisions, "\n") {
				t.Errorf("the last line is %s", text)
			}
		case line.Event != nil:
			events += text
		case line.Decision != nil:
			decisions += text
		}
	}
}
