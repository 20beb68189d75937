package report

import (
	"bytes"
	_ "embed" // for svg.css
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/internal/webpage"
	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/report/lanes"
)

//go:embed svg.css
var svgCSS string

// SVGOptions are the options of SVG.
type SVGOptions struct {
	// Lanes to draw from top to bottom, each "NAME LANE" with the name of a client or
	// a service and the ID of one of its lanes, as in "web calls" or "vendor system".
	// Empty for the lanes "calls", "refusals", "latency" and "breakers" of the first
	// client.
	Lanes []string
	// Width and Height of a lane with an axis of values in pixels, 0 for 760 and 120.
	Width, Height int
	// Title above the lanes, empty for none.
	Title string
}

// LaneError says that a result has no such lane.
type LaneError struct {
	Lane string
	// Lanes that there are.
	Lanes []string
}

// Error implements error.
func (e *LaneError) Error() string {
	return "lane: found " + e.Lane + "; allowed: " + strings.Join(e.Lanes, ", ")
}

// SVG writes lanes of a result as a picture with the colours of a light or a dark page,
// as the reader's system asks for. A lane of the default that has nothing to show is
// left out. The error is a LaneError or comes from the writer.
func SVG(w io.Writer, r *engine.Result, o SVGOptions) error {
	groups := lanes.Of(r)
	drawn, err := choose(r, groups, o.Lanes)
	if err != nil {
		return err
	}
	p := newPicture(&o)
	p.r = r
	for _, one := range drawn {
		p.lane(one.group, one.lane)
	}
	p.times()
	label := o.Title
	if label == "" {
		label = "A simulation"
	}
	return p.write(w, label+": "+string(r.Verdict), "")
}

// newPicture begins a picture with its title.
func newPicture(o *SVGOptions) *picture {
	p := &picture{width: o.Width, height: o.Height, y: 8}
	if p.width == 0 {
		p.width = 760
	}
	if p.height == 0 {
		p.height = 120
	}
	if o.Title != "" {
		p.y += 20
		p.text("title", edge, p.y-2, "start", o.Title)
	}
	return p
}

// write writes the whole picture. label is what it is called where it is not seen, css
// styles what other pictures do not have.
func (p *picture) write(w io.Writer, label, css string) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		p.width, p.y, p.width, p.y, escape(label))
	out.WriteString("<style>\n" + webpage.Colours() + svgCSS + css + "</style>\n")
	fmt.Fprintf(&out, `<rect class="back" width="%d" height="%d"/>`+"\n", p.width, p.y)
	out.Write(p.out.Bytes())
	out.WriteString("</svg>\n")
	_, err := w.Write(out.Bytes())
	return err
}

// drawnLane is a lane with its group.
type drawnLane struct {
	group *lanes.Group
	lane  *lanes.Lane
}

// choose finds the lanes of names.
func choose(r *engine.Result, groups []lanes.Group, names []string) (drawn []drawnLane, err error) {
	if len(names) == 0 {
		for _, id := range []string{"calls", "refusals", "latency", "breakers"} {
			if l := groups[0].Lane(id); l != nil {
				drawn = append(drawn, drawnLane{&groups[0], l})
			}
		}
		return drawn, nil
	}
	var all []string
	for _, name := range names {
		before := len(drawn)
		for i := range groups {
			for k := range groups[i].Lanes {
				l := &groups[i].Lanes[k]
				full := groups[i].Name + " " + l.ID
				if all = append(all, full); full == name && len(drawn) == before {
					drawn = append(drawn, drawnLane{&groups[i], l})
				}
			}
		}
		if len(drawn) == before {
			return nil, &LaneError{Lane: name, Lanes: slices.Compact(slices.Sorted(slices.Values(all)))}
		}
	}
	return drawn, nil
}

// picture draws lanes below each other.
type picture struct {
	r             *engine.Result // of a picture with an axis of time
	width, height int
	y             int // where the next lane begins
	out           bytes.Buffer
}

// The margins beside a lane.
const (
	marginLeft  = 52
	marginRight = 12
	edge        = tenths(10 * marginLeft) // where lanes begin
)

// tenths is a place in tenths of a pixel, so that no place depends on how a platform
// writes numbers.
type tenths int64

func (t tenths) String() string {
	if t%10 == 0 {
		return strconv.FormatInt(int64(t/10), 10)
	}
	sign := ""
	if t < 0 {
		sign, t = "-", -t
	}
	return sign + strconv.FormatInt(int64(t/10), 10) + "." + strconv.FormatInt(int64(t%10), 10)
}

// left returns the place of a mark.
func (p *picture) left(at time.Duration) tenths {
	wide := float64(10 * (p.width - marginLeft - marginRight))
	return edge + tenths(wide*(float64(at)/float64(p.r.Duration)))
}

// middle returns the place of the middle of a part.
func (p *picture) middle(part int) tenths {
	return p.left(time.Duration(part)*p.r.Timeline.Width + lanes.Length(p.r, part)/2)
}

func (p *picture) text(class string, x tenths, y int, anchor, text string) {
	fmt.Fprintf(&p.out, `<text class="%s" x="%s" y="%d" text-anchor="%s">%s</text>`+"\n", class, x, y, anchor, escape(text))
}

// lane draws a lane with its title and legend.
func (p *picture) lane(g *lanes.Group, l *lanes.Lane) {
	p.y += 16
	name := g.Name + ": " + strings.ToLower(l.Title[:1]) + l.Title[1:]
	if l.Unit == lanes.PerSecond {
		name += " a second"
	}
	p.text("name", edge, p.y, "start", name)
	p.y += 6
	p.legend(l)
	switch l.Form {
	case lanes.States:
		p.states(g, l)
	case lanes.Heat:
		p.heat(g, l)
	default:
		p.lines(g, l)
	}
}

// legend names the series of a lane in as many lines as they need.
func (p *picture) legend(l *lanes.Lane) {
	type item struct{ class, name string }
	var items []item
	for i := range l.Series {
		items = append(items, item{string(l.Series[i].Role), l.Series[i].Name})
	}
	if l.Form == lanes.States {
		items = []item{{"closed", "closed"}, {"open", "open"}, {"half-open", "half-open"}}
	}
	if len(items) == 0 {
		return
	}
	p.y += 12
	x := marginLeft
	for _, one := range items {
		wide := 18 + 6*len([]rune(one.name)) + 12
		if x+wide > p.width && x > marginLeft {
			x = marginLeft
			p.y += 15
		}
		fmt.Fprintf(&p.out, `<rect class="key %s" x="%d" y="%d" width="11" height="9" rx="2"/>`+"\n", one.class, x, p.y-8)
		p.text("small", tenths(10*(x+16)), p.y, "start", one.name)
		x += wide
	}
	p.y += 8
}

// bands shades the faults behind a lane of a height.
func (p *picture) bands(g *lanes.Group, height int) {
	for _, b := range g.Bands {
		from, to := p.left(b.From), p.left(b.To)
		fmt.Fprintf(&p.out, `<rect class="fault" x="%s" y="%d" width="%s" height="%d"><title>%s</title></rect>`+"\n",
			from, p.y, max(to-from, 10), height, escape(b.Text))
	}
}

// rule draws a line at a value, with its text.
func (p *picture) rule(y tenths, text string) {
	fmt.Fprintf(&p.out, `<path class="rule" d="M%s %sH%d"/>`+"\n", edge, y, p.width-marginRight)
	fmt.Fprintf(&p.out, `<text class="small" x="%d" y="%s" text-anchor="end">%s</text>`+"\n", marginLeft-6, y+40, escape(text))
}

// lines draws series over an axis of values.
func (p *picture) lines(g *lanes.Group, l *lanes.Lane) {
	stacks := make([][]float64, len(l.Series))
	greatest := 0.0
	for i := range l.Series {
		stacks[i] = l.Series[i].Values
		if l.Form == lanes.Stack && i > 0 {
			stacks[i] = slices.Clone(stacks[i])
			for k, below := range stacks[i-1] {
				stacks[i][k] += below
			}
		}
		greatest = max(greatest, lanes.Most(stacks[i]))
	}
	top, step := scale(greatest)
	p.bands(g, p.height)
	place := func(v float64) tenths { return tenths(10*(p.y+p.height)) - tenths(v/top*float64(10*p.height)) }
	for i := 0; float64(i)*step <= top; i++ {
		p.rule(place(float64(i)*step), mark(float64(i)*step, l.Unit))
	}
	for k := range stacks {
		i, class, end := k, "line", ""
		if l.Form == lanes.Stack {
			// An area has all areas below it, too, which are drawn over it.
			i, class, end = len(stacks)-1-k, "area", fmt.Sprintf("V%dH%sZ", p.y+p.height, p.middle(0))
		}
		d := p.path(stacks[i], place) + end
		fmt.Fprintf(&p.out, `<path class="%s %s" d="%s"/>`+"\n", class, l.Series[i].Role, d)
	}
	p.y += p.height + 6
}

// path draws through the values, with gaps where there are none.
func (p *picture) path(values []float64, place func(float64) tenths) string {
	var d strings.Builder
	pen := "M"
	for i, v := range values {
		if math.IsNaN(v) {
			pen = "M"
			continue
		}
		d.WriteString(pen + p.middle(i).String() + " " + place(v).String())
		pen = "L"
	}
	return d.String()
}

// shades is how many shades a map has.
const shades = 8

// heat draws a map: the rows are buckets, the darkest shade has the most calls.
func (p *picture) heat(g *lanes.Group, l *lanes.Lane) {
	rows := len(l.Heat.Edges) - 1
	most := uint32(1)
	for _, counts := range l.Heat.Counts {
		most = max(most, slices.Max(counts))
	}
	var cells [shades]strings.Builder
	place := func(bucket int) tenths { return tenths(10*(p.y+p.height) - 10*p.height*bucket/rows) }
	for i, counts := range l.Heat.Counts {
		from := time.Duration(i) * p.r.Timeline.Width
		x, to := p.left(from), p.left(from+lanes.Length(p.r, i))
		for k, n := range counts {
			if n > 0 {
				fmt.Fprintf(&cells[shade(n, most)], "M%s %sH%sV%sH%sZ", x, place(k), to, place(k+1), x)
			}
		}
	}
	for i := range cells {
		fmt.Fprintf(&p.out, `<path class="heat h%d" d="%s"/>`+"\n", i, cells[i].String())
	}
	p.bands(g, p.height)
	for _, at := range roundMarks(l.Heat.Edges) {
		i := 0
		for i+1 < rows && l.Heat.Edges[i+1] <= at {
			i++
		}
		within := tenths(int64(place(i)-place(i+1)) * int64(at-l.Heat.Edges[i]) / int64(l.Heat.Edges[i+1]-l.Heat.Edges[i]))
		p.rule(place(i)-within, duration(at))
	}
	p.y += p.height + 6
}

// shade returns which of the shades a count has: each is for twice as many calls as the
// one before.
func shade(n, most uint32) int {
	s := shades - 1
	for ; s > 0 && n <= most/2; s-- {
		most /= 2
	}
	return s
}

// states draws the spans of breakers.
func (p *picture) states(g *lanes.Group, l *lanes.Lane) {
	const height = 16
	p.bands(g, len(l.Rows)*(height+4)-4)
	for _, row := range l.Rows {
		for _, s := range row.Spans {
			from, to := p.left(s.From), p.left(s.To)
			fmt.Fprintf(&p.out, `<rect class="state %s" x="%s" y="%d" width="%s" height="%d"><title>%s</title></rect>`+"\n",
				s.State, from, p.y+2, max(to-from, 5), height-4, escape(row.Name+" "+s.State+" from "+duration(s.From)+" to "+duration(s.To)))
		}
		p.text("small", edge-60, p.y+12, "end", short(row.Name))
		p.y += height + 4
	}
	p.y += 2
}

// short fits a name beside a lane.
func short(name string) string {
	if runes := []rune(name); len(runes) > 8 {
		return string(runes[:7]) + "…"
	}
	return name
}

// times draws the axis of time.
func (p *picture) times() {
	p.y += 12
	all := marks(p.r.Duration, min(max(p.width/90, 2), 12))
	for i, at := range all {
		anchor := "middle"
		if i == len(all)-1 && p.left(at) > tenths(10*(p.width-30)) {
			anchor = "end"
		}
		p.text("small", p.left(at), p.y, anchor, duration(at))
	}
	p.y += 10
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escape(text string) string { return escaper.Replace(text) }
