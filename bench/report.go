package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"
)

var heads = [...]string{"case", "sluice ns/op", "B/op", "allocs", "peer", "ns/op", "B/op", "allocs", "ratio", "target"}

// cells returns the rows as text: one line for each peer.
func cells(rows []row) [][]string {
	var lines [][]string
	for _, r := range rows {
		own := []string{r.name, nanoseconds(r.own.ns), fmt.Sprint(r.own.bytes), fmt.Sprint(r.own.allocs)}
		if len(r.others) == 0 {
			lines = append(lines, append(own, "-", "-", "-", "-", "-", target(r.task, peer{}, r.own, 0)))
		}
		for i, other := range r.others {
			ratio := other.ns / r.own.ns
			line := append(own[:4:4], r.peers[i].name, nanoseconds(other.ns), fmt.Sprint(other.bytes), fmt.Sprint(other.allocs),
				fmt.Sprintf("%.2fx", ratio), target(r.task, r.peers[i], r.own, ratio))
			lines = append(lines, line)
		}
	}
	return lines
}

// target says what is wished for, and whether this run shows it.
func target(t task, p peer, own figure, ratio float64) string {
	var wishes []string
	met := true
	if p.target > 0 {
		wishes = append(wishes, fmt.Sprintf(">= %gx", p.target))
		met = ratio >= p.target
	}
	if t.allocs >= 0 {
		wishes = append(wishes, fmt.Sprintf("allocs <= %d", t.allocs))
		met = met && own.allocs <= t.allocs
	}
	if len(wishes) == 0 {
		return "-"
	}
	text := strings.Join(wishes, ", ")
	if !met {
		text += " (missed)"
	}
	return text
}

func nanoseconds(ns float64) string {
	if ns < 100 {
		return fmt.Sprintf("%.1f", ns)
	}
	return fmt.Sprintf("%.0f", ns)
}

// table returns the rows in columns, for a terminal.
func table(rows []row) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(heads[:], "\t"))
	for _, line := range cells(rows) {
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	w.Flush()
	return text.String()
}

// results returns the rows as a page, with what is needed to judge and to
// repeat them.
func results(rows []row, o options, command string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Results\n\nWritten by `%s`. Do not edit.\n\n", command)
	fmt.Fprintf(&text, "- Date: %s\n- Machine: %s\n- Versions: %s\n", time.Now().UTC().Format(time.DateOnly), machine(), versions())
	kind := "Wall time"
	if o.cpu {
		kind = "Processor time of all threads, because the machine had other work"
	}
	fmt.Fprintf(&text, "- Method: %s; medians of %d repetitions of %s each, the contenders of a case taking turns.\n", kind, o.repeat, o.each)
	text.WriteString("- Ratio: the peer's time over Sluice's; above 1 Sluice is faster. Times depend on the machine, ratios much less.\n\n")
	fmt.Fprintf(&text, "| %s |\n|%s\n", strings.Join(heads[:], " | "), strings.Repeat("---|", len(heads)))
	for _, line := range cells(rows) {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(line, " | "))
	}
	return text.String()
}

func machine() string {
	text := fmt.Sprintf("%s/%s, %d CPUs, GOMAXPROCS %d", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.GOMAXPROCS(0))
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return text
	}
	for line := range strings.Lines(string(info)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return text + ", " + strings.TrimSpace(value)
		}
	}
	return text
}

// versions names Go and the peers as they were built in.
func versions() string {
	names := []string{runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return names[0]
	}
	for _, m := range info.Deps {
		if strings.HasPrefix(m.Path, "github.com/sluice-go/") {
			continue
		}
		for _, p := range [...]string{"golang.org/x/time", "github.com/failsafe-go/failsafe-go", "github.com/sony/gobreaker/v2"} {
			if m.Path == p {
				names = append(names, m.Path+" "+m.Version)
			}
		}
	}
	return strings.Join(names, ", ")
}
