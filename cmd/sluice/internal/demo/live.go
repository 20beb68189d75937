package demo

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
)

// Live shows a run in a terminal, redrawn in place: for each measure the
// sides one below the other, on one axis of time.
type Live struct {
	// Out takes colours and the movements of the cursor.
	Out io.Writer
	// Width of the terminal, asked for each frame.
	Width func() int
	lines int // of the last frame
}

// The least terminal for Live.
const (
	MinWidth  = 76
	MinHeight = 18
)

// maxWidth is where the lines stop growing.
const maxWidth = 132

// The colours come from the terminal's own palette, which fits its background.
var (
	bold   = lipgloss.NewStyle().Bold(true)
	faint  = lipgloss.NewStyle().Foreground(lipgloss.BrightBlack)
	green  = lipgloss.NewStyle().Foreground(lipgloss.Green)
	yellow = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	red    = lipgloss.NewStyle().Foreground(lipgloss.Red)
	cyan   = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

// Bold returns a text in bold.
func Bold(text string) string { return bold.Render(text) }

// Every implements Display.
func (*Live) Every() time.Duration { return 100 * time.Millisecond }

// Show implements Display.
func (l *Live) Show(v View) error {
	width := min(max(l.Width()-1, MinWidth-1), maxWidth)
	lines := frame(v, width)
	var out strings.Builder
	if l.lines == 0 {
		out.WriteString("\x1b[?25l") // the cursor only distracts
	} else {
		fmt.Fprintf(&out, "\x1b[%dA\r", l.lines)
	}
	for _, line := range lines {
		out.WriteString(line + "\x1b[K\n")
	}
	l.lines = len(lines)
	_, err := io.WriteString(l.Out, out.String())
	return err
}

// Close shows the cursor again.
func (l *Live) Close() error {
	if l.lines == 0 {
		return nil
	}
	_, err := io.WriteString(l.Out, "\x1b[?25h")
	return err
}

// frame draws a view, all lines of the width.
func frame(v View, width int) []string {
	s := v.Scenario
	at := min(v.Now, s.Duration-1)
	about := map[Phase]string{
		Healthy: "the service is healthy",
		Failing: "brown-out: all requests fail",
		Slow:    fmt.Sprintf("brown-out: it can do %.0f/s", s.Capacity(Slow)),
		Healed:  "the brown-out is over",
	}[s.Phase(at)]
	style := green
	if brownOut(s.Phase(at)) {
		style = yellow
	}
	title := fmt.Sprintf("%s of %s   %.0f calls/s   ", seconds(v.Now), seconds(s.Duration), s.Rate)
	lines := []string{bold.Render("sluice demo") + "   " + title + style.Render(about), timeline(v, width)}
	for _, m := range measures(s) {
		for _, side := range m.sides {
			lines = append(lines, measured(v, m, side, width))
		}
	}
	name := fmt.Sprintf("%s %-*s %*s ", bold.Render("breaker"), sideWidth, With, valueWidth, breakerAt(v.Logs[With].Changes, v.Now))
	return append(lines, name+band(v, width-before))
}

// The widths of what is left of the graphs.
const (
	labelWidth = 7
	sideWidth  = 10
	valueWidth = 9
	before     = labelWidth + sideWidth + valueWidth + 3
)

// measure is what is shown of each side: a value of the last second, and a graph
// of the run, in parts of the top.
type measure struct {
	name  string
	sides []Side
	top   float64
	style lipgloss.Style
	text  func(*Bin) string
	of    func(*Bin) float64
}

func measures(s Scenario) []measure {
	rate := func(count func(*Bin) int) (func(*Bin) string, func(*Bin) float64) {
		of := func(b *Bin) float64 { return b.PerSecond(count(b)) }
		return func(b *Bin) string { return number(of(b)) + "/s" }, of
	}
	all := []Side{Without, ByHand, With}
	good, goods := rate(func(b *Bin) int { return b.Good })
	retries, retried := rate(func(b *Bin) int { return b.Retries })
	refused, refusals := rate((*Bin).AllRefused)
	return []measure{
		{"goodput", all, s.Rate, green, good, goods},
		{"p99", all, float64(s.Patience) * float64(s.Attempts), cyan, func(b *Bin) string { return millis(b.P99) }, func(b *Bin) float64 { return max(0, float64(b.P99)) }},
		{"retries", all, s.Rate * float64(s.Attempts-1), yellow, retries, retried},
		{"queue", all, float64(s.Queue), yellow, func(b *Bin) string { return fmt.Sprint(b.Waiting) }, func(b *Bin) float64 { return float64(b.Waiting) }},
		{"refused", []Side{With}, s.Rate, cyan, refused, refusals},
	}
}

// measured draws a measure of a side as a line.
func measured(v View, m measure, side Side, width int) string {
	s := v.Scenario
	last := lastSecond(v, side)
	style := m.style
	if m.name == "goodput" {
		switch could := s.could(s.Phase(min(v.Now, s.Duration-1))); {
		case last.PerSecond(last.Good) < could*0.3:
			style = red
		case last.PerSecond(last.Good) < could*0.8:
			style = yellow
		}
	}
	bins := v.Logs[side].fold(s.Duration, width-before)
	graph := make([]float64, 0, len(bins))
	for i := range bins {
		if bins[i].To <= v.Now {
			graph = append(graph, m.of(&bins[i])/m.top)
		}
	}
	name := strings.Repeat(" ", labelWidth)
	if side == m.sides[0] {
		name = bold.Render(fmt.Sprintf("%-*s", labelWidth, m.name))
	}
	return fmt.Sprintf("%s %-*s %*s %s", name, sideWidth, side, valueWidth, m.text(&last), style.Render(spark(graph)))
}

func brownOut(p Phase) bool { return p == Failing || p == Slow }

// timeline draws how far the run is, and when the brown-out is.
func timeline(v View, width int) string {
	return cells(width, v.Scenario.Duration, func(from time.Duration) (string, lipgloss.Style) {
		brown, past := brownOut(v.Scenario.Phase(from)), from < v.Now
		switch {
		case brown && past:
			return "▓", yellow
		case brown:
			return "░", yellow
		case past:
			return "━", green
		}
		return "─", faint
	})
}

// cells draws n cells, each by when it begins.
func cells(n int, end time.Duration, draw func(from time.Duration) (string, lipgloss.Style)) string {
	var out, run strings.Builder
	var last lipgloss.Style
	flush := func() {
		if run.Len() > 0 {
			out.WriteString(last.Render(run.String()))
			run.Reset()
		}
	}
	for i := range n {
		glyph, style := draw(end * time.Duration(i) / time.Duration(n))
		if style.GetForeground() != last.GetForeground() {
			flush()
		}
		last = style
		run.WriteString(glyph)
	}
	flush()
	return out.String()
}

// band draws the states of the breaker so far.
func band(v View, width int) string {
	all := spans(v.Logs[With].Changes, v.Scenario.Duration)
	step := v.Scenario.Duration / time.Duration(width)
	return cells(width, v.Scenario.Duration, func(from time.Duration) (string, lipgloss.Style) {
		if from >= v.Now {
			return " ", faint
		}
		states := map[string]string{}
		for _, span := range all {
			if span.From < from+step && from < span.To {
				states[span.State] = span.State
			}
		}
		switch strictest(states) {
		case open:
			return "█", red
		case halfOpen:
			return "▒", yellow
		}
		return "─", green
	})
}

// spark draws shares of a whole as a line of blocks.
func spark(shares []float64) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	line := make([]rune, len(shares))
	for i, x := range shares {
		level := int(math.Round(x * float64(len(blocks)-1)))
		line[i] = blocks[min(max(level, 0), len(blocks)-1)]
	}
	return string(line)
}
