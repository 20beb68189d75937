package demo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Row is a line of the table of results.
type Row struct {
	Name  string
	Part  bool          // of the row above
	Cells [Sides]string // by Side
}

// Rows lays out the summaries of all sides.
func Rows(s Scenario, sums *[Sides]Summary) []Row {
	var rows []Row
	add := func(part bool, name string, cell func(*Summary) string) {
		row := Row{Name: name, Part: part}
		for i := range sums {
			row.Cells[i] = cell(&sums[i])
		}
		rows = append(rows, row)
	}
	add(false, "calls offered", func(m *Summary) string { return strconv.Itoa(m.Offered) })
	add(false, "good answers (goodput)", func(m *Summary) string { return m.part(m.Good) })
	for _, p := range []Phase{Healthy, Slow, Healed} {
		name := fmt.Sprintf("while %s, of %.0f/s", p, s.could(p))
		add(true, name, func(m *Summary) string { return number(m.Goodput[p]) + "/s" })
	}
	add(false, "p50 of good answers", func(m *Summary) string { return millis(m.GoodP50) })
	add(false, "p99 of good answers", func(m *Summary) string { return millis(m.GoodP99) })
	add(false, "p99 of all calls", func(m *Summary) string { return millis(m.AllP99) })
	add(false, "failed calls", func(m *Summary) string { return m.part(m.Failed) })
	add(false, "refused by the policy", func(m *Summary) string { return m.part(m.Refused) })
	for _, reason := range reasons(sums) {
		add(true, reason, func(m *Summary) string { return m.times(reason) })
	}
	add(false, "retries", func(m *Summary) string { return strconv.Itoa(m.Retries) })
	add(false, "attempts per call", func(m *Summary) string { return fmt.Sprintf("%.2f", m.PerCall) })
	add(false, "longest queue at the service", func(m *Summary) string { return strconv.Itoa(m.Queue) })
	add(false, "work for callers who had left", func(m *Summary) string { return percent(m.Wasted) })
	add(false, "time to recover", func(m *Summary) string { return recovered(s, m) })
	return rows
}

// Busy says that the machine had other things to do, if it had, and else nothing.
func Busy(sums *[Sides]Summary) string {
	late := None
	for i := range sums {
		late = max(late, sums[i].Late)
	}
	if late < 100*time.Millisecond {
		return ""
	}
	return fmt.Sprintf("This machine was busy: 1 of 100 calls began %s late or more. The numbers say as much of that as of the callers.", millis(late))
}

// reasons returns the names of the policy's reasons, reasons of most refusals
// first.
func reasons(sums *[Sides]Summary) []string {
	var names []string
	for _, c := range sums[With].Reasons {
		names = append(names, c.Name)
	}
	return names
}

func (m *Summary) part(n int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", n, percent(share(n, m.Offered)))
}

func (m *Summary) times(reason string) string {
	for _, c := range m.Reasons {
		if c.Name == reason {
			return strconv.Itoa(c.Times)
		}
	}
	return "0"
}

// recovered writes the time to recover.
func recovered(s Scenario, m *Summary) string {
	switch {
	case !m.Recovered:
		return "not in " + seconds(s.Duration-s.HealAt)
	case m.Recovery < 100*time.Millisecond:
		return "<0.1s"
	}
	return seconds(m.Recovery)
}

// Table writes the rows as text. heading styles the first line, which may be
// left as it is.
func Table(rows []Row, heading func(string) string) string {
	head := Row{Cells: sideNames}
	width := [1 + Sides]int{}
	name := func(r Row) string {
		if r.Part {
			return "  " + r.Name
		}
		return r.Name
	}
	for _, r := range append([]Row{head}, rows...) {
		for i, text := range append([]string{name(r)}, r.Cells[:]...) {
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	line := func(r Row) string {
		text := fmt.Sprintf("%-*s", width[0], name(r))
		for i, cell := range r.Cells {
			text += fmt.Sprintf("   %*s", width[1+i], cell)
		}
		return text
	}
	var out strings.Builder
	out.WriteString(heading(line(head)) + "\n")
	for _, r := range rows {
		out.WriteString(line(r) + "\n")
	}
	return out.String()
}

// percent writes a share, with a place behind the point below one percent.
func percent(x float64) string {
	if x > 0 && x < 0.0095 {
		return fmt.Sprintf("%.1f%%", x*100)
	}
	return fmt.Sprintf("%.0f%%", x*100)
}
