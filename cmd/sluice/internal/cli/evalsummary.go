package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/trace"
)

// tallied is what the decisions of one row of a summary have in common. What a decision
// does not have is empty.
type tallied struct {
	Decision string `json:"decision"`
	Shadow   bool   `json:"shadow,omitempty"`
	Step     string `json:"step,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Outcome  string `json:"outcome,omitempty"`
}

// row is a line of a summary.
type row struct {
	tallied
	Count int `json:"count"`
}

// tally counts the lines of decisions that are written to it.
type tally struct {
	rest   []byte // a line that has no end yet
	counts map[tallied]int
	total  int
	last   time.Duration
}

// Write implements io.Writer.
func (t *tally) Write(p []byte) (int, error) {
	text := append(t.rest, p...)
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			t.rest = append(t.rest[:0], line...)
			return len(p), nil
		}
		d, err := trace.ReadDecision(line)
		if err != nil {
			return 0, err
		}
		t.counts[tallied{d.Decision, d.Shadow, d.Step, d.Reason, d.Outcome}]++
		t.total, t.last, text = t.total+1, d.At, rest
	}
}

// rank is the place of a kind of decisions in a summary: the place of decision.Kind, and the
// last one for "stale", which is none.
func rank(name string) int {
	const unknown = decision.Kind(0)
	k := decision.Admit
	for k.String() != name && k.String() != unknown.String() {
		k++
	}
	return int(k)
}

// rows are the counts in a fixed order.
func (t *tally) rows() []row {
	rows := []row{}
	for _, of := range slices.SortedFunc(maps.Keys(t.counts), func(a, b tallied) int {
		return cmp.Or(
			cmp.Compare(rank(a.Decision), rank(b.Decision)), cmp.Compare(number(a.Shadow), number(b.Shadow)),
			cmp.Compare(a.Step, b.Step), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Outcome, b.Outcome),
		)
	}) {
		rows = append(rows, row{of, t.counts[of]})
	}
	return rows
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// text returns the counts of a policy for people, or as JSON.
func (t *tally) text(policy string, asJSON bool) []byte {
	var w bytes.Buffer
	if asJSON {
		must(indented(&w, map[string]any{"policy": policy, "decisions": t.total, "last": t.last.String(), "counts": t.rows()}))
		return w.Bytes()
	}
	fmt.Fprintf(&w, "policy %s: %d decisions, the last at %s\n\n", policy, t.total, t.last)
	table := tabwriter.NewWriter(&w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "decision\tstep\treason\toutcome\tcount")
	for _, r := range t.rows() {
		name := r.Decision
		if r.Shadow {
			name += " (shadow)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\n", name, dash(r.Step), dash(r.Reason), dash(r.Outcome), r.Count)
	}
	must(table.Flush())
	return w.Bytes()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
