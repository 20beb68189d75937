package report

import (
	_ "embed" // for sweep.css
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/sim/sweep"
)

//go:embed sweep.css
var sweepCSS string

// SweepSVG writes a sweep as a picture like SVG's, with a lane for each figure: over
// one setting the means and their confidence intervals, over two a map whose cells have
// the means. The lanes of the options are not used. The error comes from the writer.
func SweepSVG(w io.Writer, t *sweep.Table, o SVGOptions) error {
	p := newPicture(&o)
	for i, figure := range t.Figures {
		p.y += 16
		p.text("name", edge, p.y, "start", figure)
		p.y += 8
		if len(t.Axes) == 1 {
			p.means(t, i)
		} else {
			p.table(t, i)
		}
	}
	p.y += 14
	across := &t.Axes[len(t.Axes)-1]
	if len(t.Axes) == 1 {
		p.columns(across)
		p.y += 14
	}
	name := across.Path + " across"
	if len(t.Axes) == 2 {
		name += ", " + t.Axes[0].Path + " down"
	}
	name += ". Times are seconds."
	p.text("small", edge, p.y, "start", name)
	p.y += 10
	label := o.Title
	if label == "" {
		label = "A sweep"
	}
	return p.write(w, label+": "+name, sweepCSS)
}

// column returns the left edge of one of n columns of equal widths.
func (p *picture) column(i, n int) tenths {
	return edge + tenths(10*(p.width-marginLeft-marginRight)*i/n)
}

// columns writes the values of an axis below their columns, as many as have room.
func (p *picture) columns(a *sweep.Axis) {
	n, longest := len(a.Values), 1
	for _, value := range a.Values {
		longest = max(longest, len([]rune(value)))
	}
	each := 1 + (7*longest+10)*n/(p.width-marginLeft-marginRight)
	for i := 0; i < n; i += each {
		p.text("small", (p.column(i, n)+p.column(i+1, n))/2, p.y, "middle", a.Values[i])
	}
}

// means draws a figure over one setting.
func (p *picture) means(t *sweep.Table, figure int) {
	n, greatest := len(t.Points), 0.0
	for _, point := range t.Points {
		if e := point.Figures[figure]; e.N > 0 {
			greatest = max(greatest, e.Mean+e.Half)
		}
	}
	top, step := scale(greatest)
	place := func(v float64) tenths {
		return tenths(10*(p.y+p.height)) - tenths(min(max(v, 0), top)/top*float64(10*p.height))
	}
	for i := 0; float64(i)*step <= top; i++ {
		p.rule(place(float64(i)*step), mark(float64(i)*step, ""))
	}
	var line, dots strings.Builder
	pen := "M"
	for i, point := range t.Points {
		e := point.Figures[figure]
		if e.N == 0 {
			pen = "M"
			continue
		}
		x := (p.column(i, n) + p.column(i+1, n)) / 2
		fmt.Fprintf(&line, "%s%s %s", pen, x, place(e.Mean))
		pen = "L"
		if e.Half > 0 {
			fmt.Fprintf(&p.out, `<path class="spread" d="M%s %sV%s"/>`+"\n", x, place(e.Mean-e.Half), place(e.Mean+e.Half))
		}
		fmt.Fprintf(&dots, `<circle class="dot" cx="%s" cy="%s" r="2.5"><title>%s</title></circle>`+"\n",
			x, place(e.Mean), escape(point.Values[0]+": "+Figure(e.Mean)+" ± "+Figure(e.Half)))
	}
	fmt.Fprintf(&p.out, `<path class="line mean" d="%s"/>`+"\n%s", line.String(), dots.String())
	p.y += p.height + 4
}

// table draws a figure over two settings.
func (p *picture) table(t *sweep.Table, figure int) {
	const height = 22
	columns := len(t.Axes[1].Values)
	least, most := math.Inf(1), math.Inf(-1)
	for _, point := range t.Points {
		if e := point.Figures[figure]; e.N > 0 {
			least, most = min(least, e.Mean), max(most, e.Mean)
		}
	}
	p.y += 8
	p.columns(&t.Axes[1])
	p.y += 5
	for i, value := range t.Axes[0].Values {
		for k, point := range t.Points[i*columns : (i+1)*columns] {
			x, to := p.column(k, columns), p.column(k+1, columns)
			text := "none"
			if e := point.Figures[figure]; e.N > 0 {
				text = Figure(e.Mean)
				fmt.Fprintf(&p.out, `<rect class="heat h%d" x="%s" y="%d" width="%s" height="%d"/>`+"\n",
					shadeOf(e.Mean, least, most), x, p.y, to-x-10, height-1)
			}
			if to-x > tenths(10*(7*len(text)+4)) {
				p.text("cell", (x+to)/2-5, p.y+15, "middle", text)
			}
		}
		p.text("small", edge-60, p.y+15, "end", short(value))
		p.y += height
	}
	p.y += 4
}

// darkest is the darkest shade on which the text of a cell is readable.
const darkest = 5

// shadeOf returns the shade of a value between the least and the greatest one.
func shadeOf(x, least, most float64) int {
	if most <= least {
		return 0
	}
	return min(int((x-least)/(most-least)*(darkest+1)), darkest)
}

// Figure writes a figure of a result with four digits.
func Figure(x float64) string {
	text := strconv.FormatFloat(x, 'g', 4, 64)
	if strings.Contains(text, "e") {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return text
}
