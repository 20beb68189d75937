package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Plain shows a run as lines, one a second.
type Plain struct {
	Out    io.Writer
	headed bool
	last   time.Duration
}

// Every implements Display.
func (*Plain) Every() time.Duration { return time.Second }

// Show implements Display.
func (p *Plain) Show(v View) error {
	text := ""
	if !p.headed {
		p.headed = true
		text = plainHead()
	}
	// The last view comes when the run is over, mostly a moment after a line.
	if p.last > 0 && v.Now-p.last < time.Second/2 {
		return nil
	}
	p.last = v.Now
	_, err := io.WriteString(p.Out, text+plainLine(v)+"\n")
	return err
}

// plainHead is the two lines above the others.
func plainHead() string {
	above, head := "                 ", "  time  service  "
	for _, name := range sideNames {
		above += fmt.Sprintf("  | %-29s", name)
		head += fmt.Sprintf("  | %6s %6s %9s %5s", "good/s", "p99", "retries/s", "queue")
	}
	return strings.TrimRight(above, " ") + "\n" + head + " refused/s breaker\n"
}

// plainLine is the second before now in a line.
func plainLine(v View) string {
	line := fmt.Sprintf("%6s  %-9s", seconds(v.Now), v.Scenario.Phase(max(0, v.Now-time.Second/2)))
	for side := range v.Logs {
		b := lastSecond(v, Side(side))
		line += fmt.Sprintf("  | %6s %6s %9s %5d", number(b.PerSecond(b.Good)), millis(b.P99), number(b.PerSecond(b.Retries)), b.Waiting)
	}
	with := lastSecond(v, With)
	return fmt.Sprintf("%s %9s %s", line, number(with.PerSecond(with.AllRefused())), breakerAt(v.Logs[With].Changes, v.Now))
}

// lastSecond returns what happened in the second before now.
func lastSecond(v View, s Side) Bin {
	return v.Logs[s].window(max(0, v.Now-time.Second), max(v.Now, 1), 1)[0]
}

// millis writes a latency.
func millis(d time.Duration) string {
	if d == None {
		return "-"
	}
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1fms", float64(d)/1e6)
	}
	return fmt.Sprintf("%dms", d.Round(time.Millisecond)/time.Millisecond)
}

// seconds writes a time since the start.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// number writes a rate.
func number(x float64) string { return fmt.Sprintf("%.0f", x) }
