package js_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/testenv"
)

// runtime is a process that runs programs through the npm package.
type runtime struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// started starts the process. It ends with the test.
func started(t *testing.T) *runtime {
	t.Helper()
	prepared(t, tools) // it runs the sources
	cmd := exec.Command("node", "test/differential.mjs")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &runtime{in, bufio.NewReaderSize(out, 1<<20)}
}

// run runs a program and reads what happened.
func (r *runtime) run(t *testing.T, program, answer any) {
	t.Helper()
	text, err := json.Marshal(program)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.in.Write(append(text, '\n')); err != nil {
		t.Fatal(err)
	}
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(line, answer); err != nil {
		t.Fatal(err)
	}
}

// TestDriverAgreesWithEval runs random policies and logs through execute in virtual time,
// and compares each decision with what eval decides, in their order. A runtime with one
// thread leaves no order open.
func TestDriverAgreesWithEval(t *testing.T) {
	cases := 600
	node := started(t)
	for d := range testenv.Draws(t, cases) {
		rng := rand.New(rand.NewPCG(d.Seed, uint64(d.Case)))
		draw := generate.GenerateFor
		if d.Case%40 == 0 {
			draw = generate.GeneratePassing
		}
		p, events := draw(rng, 0)
		p, events = generate.Followable(rng, p, events, d.Case%2 == 0)
		if differs(t, node, p, events) == "" {
			continue
		}
		p, events = generate.Shrink(0, p, events, func(p pipeline.Policy, events []oracle.Event) bool {
			// The key says which call a decision is about.
			unnamed := func(e oracle.Event) bool { return e.Op == "call" && e.Key != e.ID }
			return !slices.ContainsFunc(events, unnamed) && differs(t, node, p, events) != ""
		})
		t.Fatalf("SLUICE_SEED=%d, case %d:\n%s\n%s\n%s", d.Seed, d.Case, generate.PolicyJSON(p), generate.EventsJSON(events), differs(t, node, p, events))
	}
}

// differs returns how JavaScript's driver and eval differ on a log, or nothing.
func differs(t *testing.T, node *runtime, p pipeline.Policy, events []oracle.Event) string {
	t.Helper()
	log := generate.EventsJSON(events)
	var out bytes.Buffer
	// The virtual clock begins in 1970.
	if err := eval.Run(p, eval.Options{}, bytes.NewReader(log), &out); err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(out.String()) {
		if text := comparable(t, []byte(line)); text != "" {
			want = append(want, text)
		}
	}
	program := struct {
		Policy json.RawMessage   `json:"policy"`
		Events []json.RawMessage `json:"events"`
	}{generate.PolicyJSON(p), []json.RawMessage{}}
	for line := range bytes.Lines(log) {
		program.Events = append(program.Events, bytes.TrimSpace(line))
	}
	var answer struct {
		Lines []string
		Left  int
		Error string
	}
	node.run(t, program, &answer)
	if answer.Error != "" || answer.Left != 0 {
		return fmt.Sprintf("%d calls are left; %s", answer.Left, answer.Error)
	}
	var got []string
	for _, line := range answer.Lines {
		if text := comparable(t, []byte(line)); text != "" {
			got = append(got, text)
		}
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			return fmt.Sprintf("line %d, JavaScript:\n%s\neval:\n%s", i+1, strings.Join(got[min(i, len(got)):], "\n"), strings.Join(want[min(i, len(want)):], "\n"))
		}
	}
	return ""
}

// comparable returns a line of the decision log as both runtimes write it, or nothing for
// one that is no decision about a call.
func comparable(t *testing.T, line []byte) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		t.Fatal(err)
	}
	switch fields["decision"] {
	case "stale", "configured", "change":
		return ""
	}
	if fields["id"] != nil {
		// A key is a text, and an id may be a number.
		fields["id"] = fmt.Sprint(fields["id"])
	}
	if fields["attempt"] == 0. {
		delete(fields, "attempt") // none has started
	}
	delete(fields, "state")
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
