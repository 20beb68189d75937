package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/report/lanes"
)

// TextOptions are the options of Text.
type TextOptions struct {
	// Title is the name of what ran, empty for none.
	Title string
	// Width in columns, 0 for 80. Below 40 it counts as 40, above 160 as 160.
	Width int
	// Colour writes ANSI escape sequences.
	Colour bool
}

// Text writes a result as a table with lines over time. Its error comes from the
// writer.
func Text(w io.Writer, r *engine.Result, o TextOptions) error {
	if o.Width == 0 {
		o.Width = 80
	}
	t := &text{w: bufio.NewWriter(w), r: r, o: o, width: min(max(o.Width, 40), 160)}
	t.head()
	for i, g := range lanes.Of(r) {
		t.line("")
		if g.Service {
			t.service(&g, &r.Services[i-len(r.Clients)])
		} else {
			t.client(&g, &r.Clients[i])
		}
	}
	t.line("")
	t.wrap("", "A column is "+duration(t.r.Duration/time.Duration(t.columns()))+". Breakers: · closed, ▒ half-open, █ open.")
	return t.w.Flush()
}

// text writes a report. A bufio.Writer keeps its first error.
type text struct {
	w     *bufio.Writer
	r     *engine.Result
	o     TextOptions
	width int
}

// The colours, as parameters of ANSI escape sequences.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
)

func (t *text) paint(colour, s string) string {
	if !t.o.Colour || colour == "" || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

func (t *text) line(s string) {
	_, _ = t.w.WriteString(strings.TrimRight(s, " ") + "\n")
}

var verdicts = map[engine.Verdict]struct{ colour, text string }{
	engine.Steady:     {green, "goodput was never low: at least nine tenths of that of the beginning, and half of what the services could do"},
	engine.Recovered:  {green, "goodput was low, below nine tenths of that of the beginning or half of what the services could do, and came back"},
	engine.Degraded:   {yellow, "goodput is low, and its cause goes on: a fault, more calls, or a policy that refuses most of what the services could do"},
	engine.Metastable: {red, "goodput is below nine tenths of that of the beginning, though nothing that could cause it goes on"},
}

func (t *text) head() {
	v := verdicts[t.r.Verdict]
	name := ""
	if t.o.Title != "" {
		name = t.o.Title + ": "
	}
	t.line(t.paint(bold, name) + t.paint(bold+";"+v.colour, string(t.r.Verdict)))
	t.wrap("", v.text)
	counted := ""
	if t.r.Counted < t.r.Duration {
		counted = ", of which the last " + duration(t.r.Counted) + " count"
	}
	t.wrap("", fmt.Sprintf("%s of virtual time%s; seed %d", duration(t.r.Duration), counted, t.r.Seed))
}

// wrap writes words in as many lines as they need, all but the first indented.
func (t *text) wrap(before, words string) {
	line := before
	for _, word := range strings.Fields(words) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > t.width && strings.TrimSpace(line) != "" {
			t.line(line)
			line = strings.Repeat(" ", len(before))
		}
		if strings.TrimSpace(line) != "" && !strings.HasSuffix(line, "  ") {
			line += " "
		}
		line += word
	}
	t.line(line)
}

// nameWidth is the width of the names of rows with their indent.
const nameWidth = 17

func (t *text) row(name, words string) { t.wrap(fmt.Sprintf("  %-*s", nameWidth-2, name), words) }

// number writes a count with more about it.
func (t *text) number(name string, n uint64, more string) {
	t.wrap(fmt.Sprintf("  %-*s%9s  ", nameWidth-2, name, count(n)), more)
}

func (t *text) client(g *lanes.Group, c *engine.ClientResult) {
	t.line(t.paint(bold, "client "+c.Name) + " calls " + g.To + ": " + t.paint(verdicts[c.Verdict].colour, string(c.Verdict)))
	seconds := t.r.Counted.Seconds()
	t.number("calls", c.Calls, digits(float64(c.Calls)/seconds)+"/s")
	t.number("ok", c.OK, percent(c.OK, c.Calls)+", goodput "+digits(c.Goodput)+"/s")
	for _, one := range []struct {
		name string
		n    uint64
	}{{"failed", c.Failed}, {"unfinished", c.Unfinished}, {"refused", c.Refused}} {
		if one.n > 0 {
			t.number(one.name, one.n, percent(one.n, c.Calls))
		}
	}
	for i := range c.Refusals {
		one := &c.Refusals[i]
		t.line(fmt.Sprintf("  %*s  %s  %s", nameWidth-2+9, count(one.Calls), percent(one.Calls, c.Calls), one.Step+": "+one.Reason))
	}
	t.number("attempts", c.Attempts, digits(c.Amplification)+" a call")
	if c.Repeats > 0 {
		t.number("repeats", c.Repeats, "calls that the client made again")
	}
	if c.OK > 0 {
		t.row("latency", latency(&c.Latency))
	}
	if c.Fairness < fair {
		t.row("fairness", digits(c.Fairness)+" between keys (Jain's index)")
	}
	for i := range c.Breakers {
		t.row(c.Breakers[i].Step, breaker(&c.Breakers[i]))
	}
	if c.Recovery >= 0 && len(g.Bands) > 0 {
		t.row("recovery", duration(c.Recovery)+" after the last fault")
	}
	calls := g.Lane("calls")
	top := 0.0
	for _, s := range calls.Series {
		top = max(top, lanes.Most(s.Values))
	}
	t.line("")
	t.spark(calls, lanes.Offered, "offered", dim, top, mean)
	t.spark(calls, lanes.Attempts, "attempts", blue, top, mean)
	t.spark(calls, lanes.Good, "goodput", green, top, mean)
	t.spark(calls, lanes.Failed, "failed", red, top, mean)
	t.spark(calls, lanes.Wasted, "wasted", red, top, mean)
	if l := g.Lane("refusals"); l != nil {
		t.values("refused", yellow, l.Unit, sum(l), top, mean)
	}
	if l := g.Lane("latency"); l != nil {
		t.spark(l, lanes.Middle, "p90", blue, 0, most)
		t.spark(l, lanes.High, "p99", blue, 0, most)
	}
	t.state(g)
}

func (t *text) service(g *lanes.Group, s *engine.ServiceResult) {
	t.line(t.paint(bold, "service "+s.Name))
	t.number("arrived", s.Arrived, digits(float64(s.Arrived)/t.r.Counted.Seconds())+"/s")
	t.number("served", s.Served, percent(s.Served, s.Arrived))
	for _, one := range []struct {
		name string
		n    uint64
		more string
	}{{"dropped", s.Dropped, "the queue was full"}, {"refused", s.Refused, "by the policy of the service"},
		{"wasted", s.Wasted, "served when the caller had given up"}} {
		if one.n > 0 {
			t.number(one.name, one.n, percent(one.n, s.Arrived)+", "+one.more)
		}
	}
	t.row("busy", percent(uint64(s.Utilization*1e6), 1e6)+" of the servers; "+digits(s.InSystem)+" requests at a time")
	if s.Wait.Max > 0 {
		t.row("wait", latency(&s.Wait))
	}
	t.line("")
	system := g.Lane("system")
	t.spark(system, lanes.Used, "busy", green, 0, mean)
	t.spark(system, lanes.Waiting, "queue", yellow, 0, mean)
	t.spark(g.Lane("requests"), lanes.Wasted, "wasted", red, 0, mean)
	t.state(g)
}

func latency(l *engine.Latency) string {
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, p99.9 %s, max %s",
		duration(l.P50), duration(l.P90), duration(l.P99), duration(l.P999), duration(l.Max))
}

// fair is a fairness that is written as 1.
const fair = 0.9995

// breaker says what a breaker did.
func breaker(b *engine.BreakerResult) string {
	if b.Opened == 0 {
		return "never opened"
	}
	words := fmt.Sprintf("opened %s times, first at %s", count(b.Opened), duration(b.First))
	if b.Opened == 1 {
		words = "opened once, at " + duration(b.First)
	}
	if b.Delay >= 0 {
		words += " (" + duration(b.Delay) + " after the first fault began)"
	}
	if b.Open > 0 {
		words += "; open or half-open for " + duration(b.Open)
	}
	return words
}

// state writes the states of steps and breakers, the faults and the axis.
func (t *text) state(g *lanes.Group) {
	for i := range g.Lanes {
		l := &g.Lanes[i]
		switch {
		case l.ID == "breakers":
			for _, row := range l.Rows {
				t.cells(row.Name, func(from, to time.Duration) (colour, cell string) { return state(&row, from, to) })
			}
		case strings.HasPrefix(l.ID, "step "):
			for _, s := range l.Series {
				if s.Role == lanes.Used || s.Role == lanes.Limit && len(l.Series) == 2 {
					t.values(strings.TrimPrefix(l.ID, "step ")+" "+s.Name, "", l.Unit, s.Values, 0, mean)
				}
			}
		}
	}
	if len(g.Bands) > 0 {
		t.cells("faults", func(from, to time.Duration) (colour, cell string) {
			for _, b := range g.Bands {
				if b.From < to && b.To > from || b.From == b.To && from <= b.From && b.From < to {
					return red, "▄"
				}
			}
			return dim, "·"
		})
	}
	t.axis()
	if !g.Service {
		return
	}
	for _, b := range g.Bands[:min(len(g.Bands), mostBands)] {
		words := "at " + duration(b.From)
		if b.To > b.From {
			words = duration(b.From) + " to " + duration(b.To)
		}
		t.row("", words+": "+b.Text)
	}
	if more := len(g.Bands) - mostBands; more > 0 {
		t.row("", fmt.Sprintf("and %d more", more))
	}
}

// mostBands is how many faults are described.
const mostBands = 6

// state returns how a breaker is drawn that is open, or half-open, for a part of a
// column.
func state(row *lanes.Row, from, to time.Duration) (colour, cell string) {
	colour, cell = dim, "·"
	for _, s := range row.Spans {
		if s.To <= from || s.From >= to {
			continue
		}
		switch s.State {
		case "open":
			return red, "█"
		case "half-open":
			colour, cell = yellow, "▒"
		}
	}
	return colour, cell
}

// columns is how many columns the lines over time have.
func (t *text) columns() int {
	return min(t.width-nameWidth-noteWidth, t.r.Timeline.Parts)
}

// noteWidth is the width of what is behind a line.
const noteWidth = 14

// part returns the parts of the timeline in a column.
func (t *text) part(column int) (from, to int) {
	n, parts := t.columns(), t.r.Timeline.Parts
	from = column * parts / n
	return from, max((column+1)*parts/n, from+1)
}

// cells writes a row with a cell for each column.
func (t *text) cells(name string, cell func(from, to time.Duration) (colour, cell string)) {
	var out strings.Builder
	last, run := "", ""
	for i := range t.columns() {
		from, to := t.part(i)
		colour, one := cell(time.Duration(from)*t.r.Timeline.Width, time.Duration(to)*t.r.Timeline.Width)
		if colour != last {
			out.WriteString(t.paint(last, run))
			last, run = colour, ""
		}
		run += one
	}
	out.WriteString(t.paint(last, run))
	t.line(label(name) + out.String())
}

// label fits a name into its width.
func label(name string) string {
	const most = nameWidth - 3
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most-1]) + "…"
	}
	return fmt.Sprintf("  %-*s", nameWidth-2, name)
}

// spark writes the series of a role.
func (t *text) spark(l *lanes.Lane, role lanes.Role, name, colour string, top float64, fold func([]float64) float64) {
	for _, s := range l.Series {
		if s.Role == role && lanes.Most(s.Values) > 0 {
			t.values(name, colour, l.Unit, s.Values, top, fold)
		}
	}
}

// values writes a line of values up to top, or up to the greatest one where top is 0.
func (t *text) values(name, colour string, unit lanes.Unit, values []float64, top float64, fold func([]float64) float64) {
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	greatest := lanes.Most(values)
	if top == 0 {
		top = greatest
	}
	var out strings.Builder
	for i := range t.columns() {
		from, to := t.part(i)
		v := fold(values[from:to])
		block := ' '
		if v > 0 && top > 0 {
			block = blocks[min(1+int(v/top*7.999), 8)]
		}
		out.WriteRune(block)
	}
	note := digits(greatest)
	if unit == lanes.Seconds {
		note = duration(time.Duration(greatest * 1e9))
	} else {
		note += string(unit)
	}
	t.line(label(name) + t.paint(colour, out.String()) + t.paint(dim, "  max "+note))
}

// axis writes the times of the columns.
func (t *text) axis() {
	columns := t.columns()
	line := []rune(strings.Repeat(" ", columns+8))
	end := []rune(duration(t.r.Duration))
	last := max(columns-len(end), 0)
	copy(line[last:], end)
	for free, quarter := 0, 0; quarter < 4; quarter++ {
		at := columns * quarter / 4
		from, _ := t.part(at)
		text := []rune(duration(time.Duration(from) * t.r.Timeline.Width))
		if at < free || at+len(text) >= last {
			continue
		}
		copy(line[at:], text)
		free = at + len(text) + 1
	}
	t.line(strings.Repeat(" ", nameWidth) + t.paint(dim, strings.TrimRight(string(line), " ")))
}

// sum adds the series of a stack up.
func sum(l *lanes.Lane) []float64 {
	all := make([]float64, len(l.Series[0].Values))
	for _, s := range l.Series {
		for i, v := range s.Values {
			all[i] += v
		}
	}
	return all
}

// mean and most fold values, of which some may be none.
func mean(values []float64) float64 {
	total, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			total += v
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return total / float64(n)
}

func most(values []float64) float64 { return lanes.Most(values) }
