package demo

import (
	_ "embed" // for the parts of the page
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/internal/webpage"
	"github.com/sluice-go/sluice/policy"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// Report is what a page is made of.
type Report struct {
	View     View
	Policy   *policy.Policy
	Document string // the source of the policy
	Version  string // of what ran it
	Command  string // that runs it again
}

// maxSource is how much of a policy document a page shows.
const maxSource = 16 << 10

// page is a report as the template wants it.
type page struct {
	CSS       template.CSS
	JS        template.JS
	Lead      string
	Tiles     []tile
	First     *Chart
	Charts    []*Chart
	Shades    []Segment
	Times     []Tick
	Findings  []Finding
	Rows      []Row
	Bins      [Sides][]Bin
	Unit      string
	Policy    string
	Document  string
	Method    string
	Simulated bool
	Busy      string
	Command   string
	Data      data
	SideNames [Sides]string
}

// tile is a number to remember.
type tile struct {
	Title  string
	Values [Sides]tileValue
	Note   string
}

type tileValue struct{ Class, Name, Value string }

// data is what the script of the page reads.
type data struct {
	Seconds float64     `json:"seconds"`
	Charts  []dataChart `json:"charts"`
}

type dataChart struct {
	ID     string       `json:"id"`
	Unit   string       `json:"unit"`
	Top    float64      `json:"top"`
	Stack  bool         `json:"stack"`
	Values [][]*float64 `json:"values"`
}

// WritePage writes the report as one HTML page that needs nothing else.
func WritePage(w io.Writer, r *Report) error {
	s := r.View.Scenario
	sums := r.View.Summaries()
	n := binsFor(s.Duration)
	d := drawing{scenario: s}
	for i := range r.View.Logs {
		d.bins[i] = r.View.Logs[i].fold(s.Duration, n)
	}
	all := d.charts(&sums, r.View.Logs[With].Changes, hasBreaker(r.Policy))
	p := page{
		CSS: template.CSS(webpage.Colours() + webpage.Base() + pageCSS), JS: template.JS(pageJS),
		Lead: lead(s, &sums), Tiles: tiles(s, &sums),
		First: all[0], Charts: all[1:], Shades: d.shades(), Times: d.times(),
		Findings: Findings(s, &sums), Rows: Rows(s, &sums), Bins: d.bins,
		Policy: r.Policy.Name, Document: shortened(r.Document), Command: r.Command,
		Busy: Busy(&sums), Method: method(&r.View, r.Version), Simulated: r.View.Simulated, Data: data{Seconds: s.Duration.Seconds()},
		SideNames: sideNames,
	}
	for _, c := range all {
		one := dataChart{ID: c.ID, Unit: c.Unit, Top: c.top, Stack: c.ID == "refusals"}
		for _, l := range c.Lines {
			one.Values = append(one.Values, l.Values)
		}
		p.Data.Charts = append(p.Data.Charts, one)
	}
	return pageTemplate.Execute(w, p)
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"pair": func(p page, c *Chart) struct {
		Page  page
		Chart *Chart
	} {
		return struct {
			Page  page
			Chart *Chart
		}{p, c}
	},
	"seconds": seconds2, "millis": millis,
	"side": func(b [Sides][]Bin, s, i int) *Bin { return &b[s][i] },
}).Parse(pageHTML))

// Summaries returns the summaries of all sides.
func (v *View) Summaries() (sums [Sides]Summary) {
	for i := range sums {
		sums[i] = Summarise(v.Scenario, &v.Logs[i])
	}
	return sums
}

func hasBreaker(p *policy.Policy) bool {
	for _, s := range p.Steps {
		if mechanisms.Row(s.Kind()).Traits.Has(mechanism.Votes) && !s.Shadow {
			return true
		}
	}
	return false
}

func lead(s Scenario, sums *[Sides]Summary) string {
	return fmt.Sprintf("Three copies of a service get the same %d calls in %s. All brown out from %s to %s. "+
		"With no policy the callers try again at once when something fails; by hand they have timeouts, backoff with jitter and a budget of retries; "+
		"with the policy they pass its steps.",
		sums[With].Offered, s.Duration, seconds(s.FailAt), seconds(s.HealAt))
}

func tiles(s Scenario, sums *[Sides]Summary) []tile {
	all := func(title, note string, f func(*Summary) string) tile {
		one := tile{Title: title, Note: note}
		for i := range sums {
			one.Values[i] = tileValue{classes[i], Side(i).String(), f(&sums[i])}
		}
		return one
	}
	note := "after the brown-out is over"
	for i := range sums {
		if !sums[i].Recovered {
			note = "* not in this run"
		}
	}
	return []tile{
		all("Good answers while slow", fmt.Sprintf("a second, of the %.0f it can do", s.Capacity(Slow)),
			func(m *Summary) string { return number(m.Goodput[Slow]) }),
		all("Time to recover", note, func(m *Summary) string {
			if !m.Recovered {
				return "never*"
			}
			return recovered(s, m)
		}),
		all("Calls with a good answer", "of all in this run", func(m *Summary) string { return percent(share(m.Good, m.Offered)) }),
		all("Wasted work", "answers whose caller had left", func(m *Summary) string { return percent(m.Wasted) }),
	}
}

func shortened(source string) string {
	if len(source) <= maxSource {
		return source
	}
	return fmt.Sprintf("(a document of %d lines, too long for this page)", strings.Count(source, "\n"))
}

func method(v *View, version string) string {
	s := v.Scenario
	if v.Simulated {
		return fmt.Sprintf("Everything on this page was simulated in virtual time: the policy, and the retries of the other sides, were decided by the code that decides in production; "+
			"the service is a model of one whose work is %s on average in each of %d workers, behind one queue of %d places. A request that is begun is finished, whether or not its caller still waits, "+
			"as in most services. There is no network. All follows from the seed %d. %s.",
			s.Service, s.Workers, s.Queue, s.Seed, version)
	}
	return fmt.Sprintf("Everything on this page was measured on real HTTP requests over loopback; nothing is simulated but the service's faults and its work, "+
		"which is a wait of %s on average in each of %d workers, behind one queue of %d places. A request that is begun is finished, whether or not its caller still waits, "+
		"as in most services. All sides run at the same time in one process. The calls and the work that each needs follow from the seed %d; the rest is as this machine was. %s.",
		s.Service, s.Workers, s.Queue, s.Seed, version)
}
