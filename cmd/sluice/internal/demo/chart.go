package demo

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Chart is a drawing over the time of the run, laid out in a box of 1000 by 1000
// that the page stretches: the lines are SVG, all text is HTML beside them.
type Chart struct {
	ID, Title, Unit string
	Label           string // describes the chart for users who do not see it
	Lines           []Line
	Ticks           []Tick // of the values
	Band            []Segment
	top             float64
}

// Line is one series of a chart.
type Line struct {
	Name   string
	Class  string
	Path   string     // of the line
	Area   string     // of what is below it; or empty
	Values []*float64 // a bin each; nil where nothing was measured
	Steps  []Step     // drawn instead of the values, where there are any
}

// Step is a level part of a line, from one place to another of 1000.
type Step struct{ From, To, Value float64 }

// Tick is a mark at an axis, in percent of its length.
type Tick struct {
	At   float64
	Text string
}

// Segment is a stretch of time, in percent of the run.
type Segment struct {
	From, Width float64
	Class, Text string
}

// drawing makes the charts of a run.
type drawing struct {
	scenario Scenario
	bins     [Sides][]Bin // by Side
}

// binsFor is how many bins the charts of a run have: one for a third of a second
// where that makes a good number of them.
func binsFor(duration time.Duration) int {
	return min(max(int(3*duration/time.Second), 15), 120)
}

// newChart starts a chart whose values go up to at least top.
func newChart(id, title, unit string, top float64) *Chart {
	return &Chart{ID: id, Title: title, Unit: unit, top: top}
}

// line adds a series; fill is of all that is below it.
func (c *Chart) line(name, class string, fill bool, values []*float64) {
	c.Lines = append(c.Lines, Line{Name: name, Class: class, Values: values, Area: map[bool]string{true: "fill"}[fill]})
	for _, v := range values {
		if v != nil {
			c.top = max(c.top, *v)
		}
	}
}

// finish scales the chart and draws its lines.
func (c *Chart) finish() *Chart {
	c.top, c.Ticks = scale(c.top)
	for i := range c.Lines {
		l := &c.Lines[i]
		if l.Area != "" {
			l.Area = areaPath(nil, l.Values, c.top)
		}
		l.Path = linePath(l.Values, c.top)
		if len(l.Steps) > 0 {
			l.Path = stepPath(l.Steps, c.top)
		}
	}
	return c
}

// finishStacked is finish for series that are stacked.
func (c *Chart) finishStacked() *Chart {
	var below []*float64
	c.top = 1
	stacks := make([][]*float64, len(c.Lines))
	for i := range c.Lines {
		stacks[i] = make([]*float64, len(c.Lines[i].Values))
		for j, v := range c.Lines[i].Values {
			sum := *v
			if i > 0 {
				sum += *stacks[i-1][j]
			}
			stacks[i][j] = &sum
			c.top = max(c.top, sum)
		}
	}
	c.top, c.Ticks = scale(c.top)
	for i := range c.Lines {
		c.Lines[i].Area = areaPath(below, stacks[i], c.top)
		below = stacks[i]
	}
	return c
}

// scale finds a round top for an axis and three or four marks on it.
func scale(most float64) (top float64, ticks []Tick) {
	most = max(most, 1)
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for _, part := range []float64{0.1, 0.2, 0.25, 0.5, 1, 2, 2.5} {
		if most <= 4*part*step {
			step *= part
			break
		}
	}
	step = max(step, 1)
	top = step * math.Ceil(most/step)
	for at := 0.0; at <= top; at += step {
		ticks = append(ticks, Tick{At: at / top * 100, Text: fmt.Sprintf("%g", at)})
	}
	return top, ticks
}

// point is the place of a bin's value, at the middle of the bin.
func point(i, n int, value, top float64) string {
	return fmt.Sprintf("%.1f %.1f", (float64(i)+0.5)/float64(n)*1000, 1000-value/top*1000)
}

// linePath draws through the values, with gaps where there are none.
func linePath(values []*float64, top float64) string {
	var path strings.Builder
	pen := "M"
	for i, v := range values {
		if v == nil {
			pen = "M"
			continue
		}
		path.WriteString(pen + point(i, len(values), *v, top))
		pen = "L"
	}
	return path.String()
}

// stepPath draws level lines, joined by upright ones.
func stepPath(steps []Step, top float64) string {
	var path strings.Builder
	pen := "M"
	for _, s := range steps {
		fmt.Fprintf(&path, "%s%.1f %.1fH%.1f", pen, s.From, 1000-s.Value/top*1000, s.To)
		pen = "L"
	}
	return path.String()
}

// areaPath draws around what lies between two series; without the lower one, down
// to zero. Values that were not measured are zero.
func areaPath(lower, upper []*float64, top float64) string {
	n := len(upper)
	var path strings.Builder
	pen := "M"
	for i, v := range upper {
		path.WriteString(pen + point(i, n, valueOf(v), top))
		pen = "L"
	}
	for i := n - 1; i >= 0; i-- {
		var v *float64
		if lower != nil {
			v = lower[i]
		}
		path.WriteString("L" + point(i, n, valueOf(v), top))
	}
	return path.String() + "Z"
}

func valueOf(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
