package demo

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
)

// Live shows a run in a terminal: two panels that are redrawn in place.
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
	MinHeight = 16
)

// MaxWidth is where panels stop growing.
const maxWidth = 132

// The colours are those of the terminal's own palette, which fits its background.
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
	panel := (width - 1) / 2
	left, right := drawPanel(v, Without, panel), drawPanel(v, With, panel)
	lines := []string{bold.Render("sluice demo") + "   " + title + style.Render(about), timeline(v, width)}
	for i := range left {
		lines = append(lines, left[i]+" "+right[i])
	}
	return lines
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

// drawPanel draws one side within a frame.
func drawPanel(v View, side Side, width int) []string {
	s, log := v.Scenario, &v.Logs[side]
	last := lastSecond(v, side)
	const label, value = 8, 8
	room := width - 4 - label - value - 2
	bins := log.fold(s.Duration, room)
	row := func(name, text string, style lipgloss.Style, top float64, of func(*Bin) float64) string {
		graph := make([]float64, 0, room)
		for i := range bins {
			if bins[i].To <= v.Now {
				graph = append(graph, of(&bins[i])/top)
			}
		}
		return fmt.Sprintf("%-*s %*s %s", label, name, value, text, style.Render(spark(graph))+strings.Repeat(" ", room-len(graph)))
	}
	rate := func(count int) string { return number(last.PerSecond(count)) + "/s" }
	health := green
	switch could := s.could(s.Phase(min(v.Now, s.Duration-1))); {
	case last.PerSecond(last.Good) < could*0.3:
		health = red
	case last.PerSecond(last.Good) < could*0.8:
		health = yellow
	}
	worst := float64(s.Patience) * float64(s.Attempts)
	rows := []string{
		row("goodput", rate(last.Good), health, s.Rate, func(b *Bin) float64 { return b.PerSecond(b.Good) }),
		row("p99", millis(last.P99), cyan, worst, func(b *Bin) float64 { return max(0, float64(b.P99)) }),
		row("retries", rate(last.Retries), yellow, s.Rate*float64(s.Attempts-1), func(b *Bin) float64 { return b.PerSecond(b.Retries) }),
		row("queue", fmt.Sprint(last.Waiting), yellow, float64(s.Queue), func(b *Bin) float64 { return float64(b.Waiting) }),
	}
	if side == With {
		rows = append(rows, row("refused", rate(last.AllRefused()), cyan, s.Rate, func(b *Bin) float64 { return b.PerSecond(b.AllRefused()) }))
		state := breakerAt(log.Changes, v.Now)
		rows = append(rows, fmt.Sprintf("%-*s %*s %s", label, "breaker", value+1, state, band(v, room-1)))
	} else {
		rows = append(rows, fmt.Sprintf("%-*s", width-4, ""), faint.Render(fmt.Sprintf("%-*s", width-4, fmt.Sprintf("%d attempts, with no pause between", s.Attempts))))
	}
	return boxed(side.String(), rows, width)
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

// boxed draws a frame with a title around rows of width-4 cells.
func boxed(title string, rows []string, width int) []string {
	lines := []string{faint.Render("╭─ ") + bold.Render(title) + faint.Render(" "+strings.Repeat("─", width-5-len(title))+"╮")}
	for _, row := range rows {
		lines = append(lines, faint.Render("│ ")+row+faint.Render(" │"))
	}
	return append(lines, faint.Render("╰"+strings.Repeat("─", width-2)+"╯"))
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
