package proptest

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rewrite writes the page, as the same flag does for the scripts of the mechanisms.
var rewrite = flag.Bool("rewrite", false, "write GUARANTEES.md from the table")

const pagePath = "../../../GUARANTEES.md"

// TestGuarantees compares the page with the table.
func TestGuarantees(t *testing.T) {
	want := page(table())
	if *rewrite {
		if err := os.WriteFile(pagePath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s differs from the table; go test ./internal/proof/proptest -run TestGuarantees -rewrite writes it", pagePath)
	}
}

// guarantee is an invariant of the page: all rows of one name.
type guarantee struct {
	name  string
	lines []row
}

// guarantees gathers the rows of each name of a group, in the order of the
// numbers, words last.
func guarantees(letter string, all []row) (rows []guarantee) {
	for _, l := range all {
		if letterOf(l.name) != letter {
			continue
		}
		i := slices.IndexFunc(rows, func(g guarantee) bool { return g.name == l.name })
		if i < 0 {
			i = len(rows)
			rows = append(rows, guarantee{name: l.name})
		}
		rows[i].lines = append(rows[i].lines, l)
	}
	slices.SortStableFunc(rows, func(a, b guarantee) int { return number(a.name) - number(b.name) })
	return rows
}

// letterOf is the group of an invariant. Those that have a word for a name are
// about every mechanism.
func letterOf(name string) string {
	for _, g := range groups {
		if g.letter == name[:1] && (number(name) < last || strings.HasSuffix(name, "*")) {
			return g.letter
		}
	}
	return "G"
}

// last is the number of an invariant without one.
const last = 1_000

func number(name string) int {
	if n, err := strconv.Atoi(name[1:]); err == nil {
		return n
	}
	return last
}

// page is GUARANTEES.md.
func page(all []row) string {
	var text strings.Builder
	names, kinds := map[string]bool{}, map[how]int{}
	for _, l := range all {
		names[l.name] = true
		kinds[l.how]++
	}
	fmt.Fprintf(&text, introduction, len(names), len(all), kinds[byProperty], kinds[byDifference], kinds[byScript], kinds[byExploration])
	for _, g := range groups {
		rows := guarantees(g.letter, all)
		fmt.Fprintf(&text, "\n## %s. %s (%d)\n\n%s\n\n", g.letter, g.title, len(rows), g.about)
		text.WriteString("| | what holds | on | how | fails on | reported in |\n|---|---|---|---|---|---|\n")
		for _, row := range rows {
			text.WriteString(row.text())
		}
	}
	text.WriteString("\n## Explored\n\nEvery history of these machines, with every step at every mark that matters.\n\n")
	for _, e := range explorations {
		fmt.Fprintf(&text, "- %s\n", e.machine)
	}
	text.WriteString("\n## Elsewhere\n\nThe [conformance vectors](vectors) check G1 on other runtimes: over 200,000 steps of every cell and of whole policies give the same results, " +
		"byte for byte the same natively, in wazero, in wasmtime, in V8 in Node and in V8 in Chromium. Each finds a planted difference of one bit.\n")
	text.WriteString("\n## Not yet\n\nInvariants of these groups that do not apply yet, and why.\n\n")
	for _, a := range absent {
		fmt.Fprintf(&text, "- **%s** %s\n", a.name, a.why)
	}
	return text.String()
}

// check is a line of the page: a row of the table, or several rows of explorations
// with the same statement about several machines.
type check struct {
	statement, on, fails string
	how                  how
}

// text is the rows of a guarantee, one for each check.
func (g guarantee) text() string {
	var checks []check
	for _, l := range g.lines {
		c := check{l.statement, machinesOf(l), l.mutant.name, l.how}
		if l.how == byExploration {
			explored := l.machines[0].name
			c.on = inShort(explored)
			c.fails = c.on + strings.TrimPrefix(l.mutant.name, explored)
		}
		i := slices.IndexFunc(checks, func(o check) bool {
			return o.how == byExploration && c.how == byExploration && o.statement == c.statement
		})
		if i < 0 {
			checks = append(checks, c)
			continue
		}
		checks[i].on += ", " + c.on
		if defect := strings.TrimPrefix(c.fails, c.on); strings.HasSuffix(checks[i].fails, defect) {
			checks[i].fails = strings.TrimSuffix(checks[i].fails, defect) + ", " + c.fails
		} else {
			checks[i].fails += "; " + c.fails
		}
	}
	var text strings.Builder
	head, tail := "**"+strings.ReplaceAll(g.name, "*", `\*`)+"**", reports[g.name]
	for _, c := range checks {
		row := "| " + strings.Join([]string{head, c.statement, c.on, string(c.how), c.fails, tail}, " | ") + " |\n"
		text.WriteString(strings.ReplaceAll(row, "  ", " "))
		head, tail = "", ""
	}
	return text.String()
}

// inShort is the name of an explored machine without its size.
func inShort(name string) string {
	short := name
	for _, end := range [...]string{" of ", " with "} {
		short, _, _ = strings.Cut(short, end)
	}
	if short == "token bucket" && strings.Contains(name, "queue") {
		short += " with a queue"
	}
	return short
}

// crowds are names for groups of machines.
var crowds = []struct {
	name string
	all  []machine
}{
	{"every cell", cells},
	{"every cell without a calendar", undated},
	{"every limiter", join(algorithms, queued)},
	{"every algorithm of limiters", algorithms},
	{"every limiter with a queue", queued},
	{"every breaker", breakers},
}

// machinesOf names the machines of a row, groups of them by one name.
func machinesOf(l row) string {
	var rest, named []string
	for _, m := range l.machines {
		rest = append(rest, m.name)
	}
	for _, crowd := range crowds {
		outside := func(m machine) bool { return !slices.Contains(rest, m.name) }
		if slices.ContainsFunc(crowd.all, outside) {
			continue
		}
		named = append(named, crowd.name)
		rest = slices.DeleteFunc(rest, func(name string) bool {
			return slices.ContainsFunc(crowd.all, func(m machine) bool { return m.name == name })
		})
	}
	return strings.Join(append(named, rest...), ", ")
}
