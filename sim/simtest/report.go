package simtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/report"
)

// A message has at most so many of the first and of the last lines of a log.
const shownFirst, shownLast = 20, 40

// failure shrinks a scenario that fails and returns the message of the test.
func (r *Runs) failure(q requirement, one *run, f *finding) string {
	s := r.shrink(q, one, f)
	whole := &Report{
		Required: q.what, Found: f.text, Scenario: r.scenario.name, Seed: one.result.Seed,
		Result:   json.RawMessage(one.result.AppendJSON(nil)),
		Shrunken: asYAML(seeded(s.root, one.result.Seed)), ShrunkenFound: s.finding.text,
		ShrunkenResult: json.RawMessage(s.best.result.AppendJSON(nil)),
		Events:         r.view(s.best).lines(),
	}
	var b strings.Builder
	fmt.Fprintf(&b, "simtest: required: %s\n", whole.Required)
	fmt.Fprintf(&b, "found:    %s\n", whole.Found)
	fmt.Fprintf(&b, "scenario: %s, seed %d\n", whole.Scenario, whole.Seed)
	fmt.Fprintf(&b, "\nThe scenario with the fewest events that fails in this way, of %d that were tried:\n%s\n", s.tries+1, indented(whole.Shrunken))
	fmt.Fprintf(&b, "It has %s, of %d before. Found: %s\n%s\n", plural(s.best.events, "event"), one.events, whole.ShrunkenFound, indented(excerpt(whole.Events)))
	dir, err := r.directory()
	if err == nil {
		err = whole.write(dir, r.page(one, whole))
	}
	if err != nil {
		fmt.Fprintf(&b, "The report cannot be written: %v\n", err)
		return b.String()
	}
	if again := filepath.Join(dir, scenarioFile); r.recorded {
		fmt.Fprintf(&b, "Run it again: simtest.Load(t, %q) in this test\n", again)
	} else {
		fmt.Fprintf(&b, "Run it again: sluice simulate %s --seed %d\n", again, whole.Seed)
	}
	fmt.Fprintf(&b, "Report: %s, and a page of the whole run: %s\n", filepath.Join(dir, reportFile), pageFile)
	return b.String()
}

// seeded returns a document with the seed of a run.
func seeded(root *tree.Node, seed uint64) *tree.Node {
	one := copyWithout(root, child(root, "seed"))
	node := &tree.Node{Kind: tree.Number, Text: fmt.Sprint(seed), Key: "seed"}
	one.Items = append(one.Items[:1:1], append([]*tree.Node{node}, one.Items[1:]...)...)
	return one
}

// excerpt returns the first and the last lines of a log.
func excerpt(lines []string) string {
	if left := len(lines) - shownFirst - shownLast; left > 0 {
		middle := fmt.Sprintf("%14s  %s, in the report", "...", plural(left, "event"))
		lines = append(append(append([]string(nil), lines[:shownFirst]...), middle), lines[len(lines)-shownLast:]...)
	}
	return strings.Join(lines, "\n")
}

// The files of a report.
const (
	scenarioFile = "scenario.yaml"
	reportFile   = "report.json"
	eventsFile   = "events.txt"
	pageFile     = "report.html"
)

// Report is what the file report.json has about a requirement that is not met.
type Report struct {
	// Required and Found are sentences.
	Required string `json:"required"`
	Found    string `json:"found"`
	// Scenario is the file of the scenario.
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	// Result of the run, as sluice simulate --json prints it.
	Result json.RawMessage `json:"result"`
	// Shrunken is the scenario with the fewest events that fails in the same way, in
	// YAML.
	Shrunken       string          `json:"shrunken"`
	ShrunkenFound  string          `json:"shrunken_found"`
	ShrunkenResult json.RawMessage `json:"shrunken_result"`
	// Events of the shrunken scenario, one a line, at most 100,000.
	Events []string `json:"events"`
}

// page returns the page of the whole run: a simulated one with samples of its decisions.
func (r *Runs) page(one *run, text *Report) *report.Page {
	p := &report.Page{
		Title: text.Required, Scenario: one.scenario, Result: one.result,
		Sources: []report.Source{{Name: text.Scenario, Text: asYAML(r.scenario.root)}},
	}
	if r.recorded {
		return p
	}
	o := sim.Options{Seed: text.Seed, Seeded: true, Sample: report.Samples}
	if result, err := sim.Run(one.scenario, o); err == nil { // it has run before
		p.Result = result
	}
	return p
}

// write writes the files of a report: it is the one place that knows them.
func (r *Report) write(dir string, page *report.Page) error {
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	var html bytes.Buffer
	if err := report.HTML(&html, page); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		reportFile:   append(out, '\n'),
		scenarioFile: []byte(r.Shrunken),
		eventsFile:   []byte(strings.Join(r.Events, "\n") + "\n"),
		pageFile:     html.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// directory returns the directory of the report.
func (r *Runs) directory() (string, error) {
	if dir := r.settings.reports; dir != "" {
		dir = filepath.Join(dir, filepath.FromSlash(r.t.Name()))
		return dir, os.MkdirAll(dir, 0o755)
	}
	if t, ok := r.t.(interface{ ArtifactDir() string }); ok {
		return t.ArtifactDir(), nil
	}
	return r.t.TempDir(), nil
}
