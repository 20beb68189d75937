// Package report prints what package lint says of a document: as text for
// people, and as JSON.
package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lint"
)

// Text writes a report for people.
func Text(w io.Writer, file string, r *lint.Report) error {
	t := &text{file: file}
	for i := range r.Policies {
		t.policy(&r.Policies[i])
	}
	if len(r.Findings) > 0 {
		t.printf("document\n\n")
		t.findings(r.Findings)
		t.printf("\n")
	}
	t.printf("%s: %s, %s, %s\n", file, plural(len(r.Policies), "policy", "policies"),
		plural(r.Count(lint.Warning), "warning", "warnings"), plural(r.Count(lint.Note), "note", "notes"))
	_, err := io.WriteString(w, t.String())
	return err
}

// text is a report in the making.
type text struct {
	strings.Builder
	file string
}

func (t *text) printf(format string, args ...any) { fmt.Fprintf(t, format, args...) }

func (t *text) policy(p *lint.Policy) {
	t.printf("policy %s (%s:%d:%d)\n\n", p.Name, t.file, p.Line, p.Column)
	if p.Description != "" {
		t.described("  ", p.Description)
		t.printf("\n")
	}
	if len(p.Steps) == 0 {
		t.printf("  no steps: every call passes\n")
	} else {
		t.printf("  steps, outermost first\n")
	}
	t.steps(p)
	t.printf("\n  guarantees\n")
	t.requests(&p.Guarantees.Requests)
	for _, line := range guarantees(&p.Guarantees) {
		t.printf("    %-23s %s\n", line[0], line[1])
	}
	if len(p.Findings) > 0 {
		t.printf("\n")
	}
	t.findings(p.Findings)
	t.printf("\n")
}

// described writes the lines of a description.
func (t *text) described(indent, description string) {
	for line := range strings.Lines(description) {
		t.printf("%s%s\n", indent, strings.TrimRight(line, "\n"))
	}
}

// findings writes each finding with its reason, and what would mend it.
func (t *text) findings(list []lint.Finding) {
	for i := range list {
		f := &list[i]
		t.printf("  %s:%d:%d: %s: %s [%s]\n      %s\n", t.file, f.Line, f.Column, f.Severity, f.Message, f.Rule, f.Reason)
		if f.Mended != "" {
			t.printf("      mended: %s\n", f.Mended)
		}
	}
}

// steps writes a line for each step; those that every attempt passes are
// indented.
func (t *text) steps(p *lint.Policy) {
	rows := make([][]string, 0, len(p.Steps)+1)
	for i, s := range p.Steps {
		name := s.Name
		if !strings.HasPrefix(name, s.Mechanism) {
			name += " (" + s.Mechanism + ")"
		}
		if s.EachAttempt {
			name = "  " + name
		}
		settings := s.Settings
		if s.Shared != "" {
			settings += "; mechanism " + s.Shared
		}
		if len(s.SharedWith) > 0 {
			settings += ", shared with " + strings.Join(s.SharedWith, ", ")
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), name, settings})
	}
	if p.Fallback != nil {
		rows = append(rows, []string{"", "fallback", fmt.Sprintf("%d %s", p.Fallback.Status, strconv.Quote(p.Fallback.Body))})
	}
	wide := 0
	for _, row := range rows {
		wide = max(wide, utf8.RuneCountInString(row[1]))
	}
	for i, row := range rows {
		t.printf("    %2s  %-*s  %s\n", row[0], wide, row[1], row[2])
		if i < len(p.Steps) && p.Steps[i].Description != "" {
			t.described(strings.Repeat(" ", 10+wide), p.Steps[i].Description)
		}
	}
}

// requests writes the table of the most requests in any window.
func (t *text) requests(r *lint.Requests) {
	rows := [][]string{{"requests in any", "1s", "1m", "1h"}}
	for _, passed := range r.Limits {
		rows = append(rows, row("  past "+passed.Step+per(passed.Per), passed.Most))
	}
	more := false
	for _, started := range r.Started {
		more = more || later(r, started)
		rows = append(rows, row("  started"+per(started.Per), started.Most))
	}
	wide := [4]int{23, 0, 0, 0}
	for _, row := range rows {
		for i, cell := range row {
			wide[i] = max(wide[i], len(cell))
		}
	}
	for _, row := range rows {
		t.printf("    %-*s  %*s  %*s  %*s\n", wide[0], row[0], wide[1], row[1], wide[2], row[2], wide[3], row[3])
	}
	if more {
		t.printf("      (what passed before may start in a window too: after a wait further down, or as a retry)\n")
	}
}

// later reports whether more may start in a window than pass a limit in it.
func later(r *lint.Requests, started lint.Passed) bool {
	for _, passed := range r.Limits {
		if most := started.Most.Second; most != nil && slices.Equal(passed.Per, started.Per) && *most > *passed.Most.Second {
			return true
		}
	}
	return false
}

func row(name string, most lint.Windows) []string {
	return []string{name, count(most.Second), count(most.Minute), count(most.Hour)}
}

// guarantees returns the other guarantees, name and text.
func guarantees(g *lint.Guarantees) [][2]string {
	var lines [][2]string
	for _, c := range g.Concurrent {
		text := count(c.Most) + named(c.Step) + per(c.Per)
		if c.Most == nil {
			text = count(nil) + named(c.Step+", whose lease may run out")
		}
		lines = append(lines, [2]string{"running at once", text})
	}
	if len(g.Concurrent) == 0 {
		lines = append(lines, [2]string{"running at once", count(nil)})
	}
	lines = append(lines,
		[2]string{"attempts of a call", attempts(&g.Attempts)},
		[2]string{"wait before an attempt", longest(&g.WaitBeforeAttempt)},
		[2]string{"waits of a call", longest(&g.WaitInAll)},
		[2]string{"call held", longest(&g.Held)},
	)
	for i := range g.Breakers {
		b := &g.Breakers[i]
		lines = append(lines, [2]string{b.Step, opens(b)})
	}
	return lines
}

func attempts(a *lint.Attempts) string {
	if a.Most == 1 {
		return "1, never more load than calls"
	}
	text := fmt.Sprintf("%d, at worst %d times the load", a.Most, a.Most)
	if b := a.Budget; b != nil && b.Tokens > 0 {
		text += fmt.Sprintf("; at most %s while no attempt succeeds%s", plural(int(b.UntilSpent), "retry", "retries"), per(b.Per))
	} else if b != nil && b.OneAbove != "" {
		text += fmt.Sprintf("; 1 retry while more than %s of the attempts of the last %s failed, 2 while more than %s%s", b.OneAbove,
			b.Window, b.TwoAbove, per(b.Per))
	} else if b != nil {
		text += fmt.Sprintf("; a retry only while those of the last %s are at most %d and %s of the first attempts%s", b.Window,
			b.Always, b.Ratio, per(b.Per))
	}
	return text
}

func longest(t *lint.Time) string {
	switch {
	case t.Longest == nil:
		return "no bound"
	case t.RetryAfter:
		return t.Longest.String() + ", and what answers ask for by retry_after"
	}
	return t.Longest.String() + named(t.Timeout)
}

func opens(b *lint.Breaker) string {
	text := fmt.Sprintf("opens after %s at the earliest", plural(int(b.Failures), "failure", "failures"))
	if b.FailuresAfterGood != nil && *b.FailuresAfterGood != b.Failures {
		text += fmt.Sprintf(", %d once the window is full of good calls", *b.FailuresAfterGood)
	}
	if b.SlowAfterGood != nil {
		text += fmt.Sprintf(", or %d slow ones", *b.SlowAfterGood)
	}
	text += ", for "
	switch {
	case b.Open != nil && b.OpenLongest != nil && *b.Open == *b.OpenLongest:
		text += b.Open.String()
	case b.Open != nil && b.OpenLongest != nil:
		text += fmt.Sprintf("%s at first and %s at most", b.Open, b.OpenLongest)
	case b.Open != nil:
		text += fmt.Sprintf("%s at first and longer each time", b.Open)
	default:
		text += "ever"
	}
	return text + per(b.Per)
}

func count(n *uint64) string {
	if n == nil {
		return "no bound"
	}
	return strconv.FormatUint(*n, 10)
}

func named(step string) string {
	if step == "" {
		return ""
	}
	return " (" + step + ")"
}

func per(attributes []string) string {
	if len(attributes) == 0 {
		return ""
	}
	return " for each " + strings.Join(attributes, " and ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
