package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sluice-go/sluice/bench/internal/machine"
)

var heads = [...]string{"case", "sluice", "B/op", "allocs", "peer", "peer's", "B/op", "allocs", "ratio", "target"}

// cells returns the rows as text: one line for each peer.
func cells(rows []row) [][]string {
	var lines [][]string
	for _, r := range rows {
		own := append([]string{r.name}, r.columns(r.own)...)
		if len(r.others) == 0 {
			lines = append(lines, append(own, "-", "-", "-", "-", "-", target(r, peer{}, 0)))
		}
		for i, other := range r.others {
			ratio := other.value / r.own.value
			line := append(append(own[:4:4], r.peers[i].name), r.columns(other)...)
			lines = append(lines, append(line, fmt.Sprintf("%.2fx", ratio), target(r, r.peers[i], ratio)))
		}
	}
	return lines
}

// columns returns the columns of a contender. Only times have allocations.
func (t task) columns(f figure) []string {
	precision := 0
	if f.value < 100 {
		precision = 1
	}
	value := fmt.Sprintf("%.*f ", precision, f.value)
	if t.unit != "" {
		return []string{value + t.unit, "-", "-"}
	}
	return []string{value + "ns", fmt.Sprint(f.bytes), fmt.Sprint(f.allocs)}
}

const missed = " (missed)"

// target describes the target, and whether this run reaches it.
func target(r row, p peer, ratio float64) string {
	var wishes []string
	met := true
	if p.target > 0 {
		wishes = append(wishes, fmt.Sprintf(">= %gx", p.target))
		met = ratio >= p.target
	}
	if r.most > 0 {
		wishes = append(wishes, fmt.Sprintf("<= %g %s", r.most, cmp.Or(r.unit, "ns")))
		met = met && r.own.value <= r.most
	}
	if r.allocs >= 0 {
		wishes = append(wishes, fmt.Sprintf("allocs <= %d", r.allocs))
		met = met && r.own.allocs <= r.allocs
	}
	if len(wishes) == 0 {
		return "-"
	}
	text := strings.Join(wishes, ", ")
	if !met {
		text += missed
	}
	return text
}

// table returns the rows in columns, for a terminal, and then the missed targets.
func table(all []measured) string {
	var text, misses strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(heads[:], "\t"))
	for _, m := range all {
		for _, line := range cells(m.rows) {
			fmt.Fprintln(w, strings.Join(line, "\t"))
			if wish, ok := strings.CutSuffix(line[len(line)-1], missed); ok {
				fmt.Fprintf(&misses, "missed: %s: %s (allocs %s) beside %s: %s, ratio %s, target %s\n", line[0], line[1], line[3], line[4], line[5], line[8], wish)
			}
		}
	}
	w.Flush()
	if misses.Len() == 0 {
		misses.WriteString("every target is met\n")
	}
	return text.String() + "\n" + misses.String()
}

// results returns the rows as a page, with the facts that a reader needs to judge and
// to repeat them.
func results(all []measured, o options, command string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Results\n\nWritten by `%s`. Do not edit.\n\n", command)
	fmt.Fprintf(&text, "- Date: %s\n- Machine: %s\n- Versions: %s\n", time.Now().UTC().Format(time.DateOnly), machine.Text(), versions())
	kind := "Wall time"
	if o.cpu {
		kind = "Processor time of all threads, because the machine had other work"
	}
	fmt.Fprintf(&text, "- Method: %s of one call; medians of %d repetitions of %s each, the contenders of a case taking turns.\n", kind, o.repeat, o.each)
	text.WriteString("- Ratio: the peer's figure over Sluice's; above 1 Sluice is better. Times depend on the machine, ratios much less.\n")
	for _, m := range all {
		fmt.Fprintf(&text, "\n## %s\n\n%s\n\n| %s |\n|%s\n", m.title, m.about, strings.Join(heads[:], " | "), strings.Repeat("---|", len(heads)))
		for _, line := range cells(m.rows) {
			fmt.Fprintf(&text, "| %s |\n", strings.Join(line, " | "))
		}
	}
	return text.String()
}

// README has the highlights between two comments.
const blockBegin, blockEnd = "<!-- bench:begin -->\n", "<!-- bench:end -->"

// highlighted returns a README with the highlights of a page of results.
func highlighted(readme, page string) (string, error) {
	before, rest, found := strings.Cut(readme, blockBegin)
	_, after, ended := strings.Cut(rest, blockEnd)
	if !found || !ended {
		return "", fmt.Errorf("there is no block between %q and %q", blockBegin, blockEnd)
	}
	block := "| case | Sluice | allocs | peer | peer's | allocs | ratio |\n|---|---|---|---|---|---|---|\n"
	for _, h := range highlights {
		line := find(page, h)
		if line == nil {
			return "", fmt.Errorf("there is no row of %s beside %s", h[0], h[1])
		}
		block += "| " + strings.Join(slices.Concat(line[:2], line[3:6], line[7:9]), " | ") + " |\n"
	}
	return before + blockBegin + block + blockEnd + after, nil
}

// find returns the cells of a case and a peer, nil for none.
func find(page string, which [2]string) []string {
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) == len(heads) && cells[0] == which[0] && cells[4] == which[1] {
			return cells
		}
	}
	return nil
}

// versions names Go and the peers as they were built in.
func versions() string {
	names := []string{runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return names[0]
	}
	for _, m := range info.Deps {
		if slices.Contains(libraries[:], m.Path) {
			names = append(names, m.Path+" "+m.Version)
		}
	}
	return strings.Join(names, ", ")
}
