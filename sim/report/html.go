package report

import (
	_ "embed" // for the parts of the page
	"encoding/json"
	"html/template"
	"io"
	"strings"

	"github.com/sluice-go/sluice/internal/webpage"
	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/report/lanes"
	"github.com/sluice-go/sluice/sim/scenario"
)

//go:embed page/page.html
var pageHTML string

// The script and the style with the chart library, which page/build.mjs makes of
// page/src.

//go:embed page/built/page.js
var pageJS string

//go:embed page/built/style.css
var pageCSS string

// Samples is the Options.Sample for which the page of a run with the default number of
// parts stays below a megabyte.
const Samples = 5

// Page is what a page is made of.
type Page struct {
	// Title names what ran, as a file name does.
	Title string
	// Scenario that ran, and its Result. The page shows the decisions of its samples.
	Scenario *scenario.Scenario
	Result   *engine.Result
	// Sources are the documents of the scenario and its policies. The page shows all of
	// them.
	Sources []Source
	// Version of what ran it and Command that runs it again; either may be empty.
	Version, Command string
}

// Source is a document.
type Source struct{ Name, Text string }

// view is a page as the template wants it.
type view struct {
	*Page
	CSS             template.CSS
	JS              template.JS
	About           string
	Verdict         string
	Counted, Length string
	Tables          []table
	Figures         string
	Data            *lanes.Data
	Sampled         int
}

// table has the figures of a client or a service.
type table struct {
	Title   string
	Verdict engine.Verdict // of a client, empty for a service
	Rows    []row
}

// row is a figure.
type row struct {
	Name, Value string
	Part        bool // of the row above
}

// HTML writes a result as one page that needs nothing else: lanes with one cursor, the
// sampled decisions at the cursor with the states before and after them, and every
// parameter. The error comes from the writer.
func HTML(w io.Writer, p *Page) error {
	r := p.Result
	v := view{
		Page: p, CSS: template.CSS(webpage.Colours() + webpage.Base() + pageCSS),
		JS:    template.JS(pageJS),
		About: strings.TrimSpace(p.Scenario.Description), Verdict: verdicts[r.Verdict].text,
		Counted: duration(r.Counted), Length: duration(r.Duration),
		Figures: indented(r), Data: lanes.DataOf(r), Sampled: sampled(r),
	}
	for i := range r.Clients {
		v.Tables = append(v.Tables, clientTable(r, i))
	}
	for i := range r.Services {
		v.Tables = append(v.Tables, serviceTable(r, i))
	}
	return pageTemplate.Execute(w, v)
}

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// sampled returns the most events that the samples have of one part and client.
func sampled(r *engine.Result) int {
	type place struct{ client, part int }
	counts, most := map[place]int{}, 0
	for i := range r.Samples {
		one := &r.Samples[i]
		if one.Event == "" {
			continue
		}
		at := place{one.Client, int(int64(one.At) / int64(r.Timeline.Width))}
		counts[at]++
		most = max(most, counts[at])
	}
	return most
}

// indented returns the JSON of a result for people.
func indented(r *engine.Result) string {
	text, err := json.MarshalIndent(json.RawMessage(r.AppendJSON(nil)), "", "  ")
	if err != nil { // the result is JSON
		panic(err)
	}
	return string(text)
}

func (t *table) add(name, value string) { t.Rows = append(t.Rows, row{Name: name, Value: value}) }

// some adds a count with its share where there is any.
func (t *table) some(name string, n, of uint64) {
	if n > 0 {
		t.add(name, count(n)+" ("+percent(n, of)+")")
	}
}

func (t *table) latency(name string, l *engine.Latency) {
	if l.Max > 0 {
		t.add(name+" p50", duration(l.P50))
		t.add(name+" p99", duration(l.P99))
		t.add(name+" at most", duration(l.Max))
	}
}

func (t *table) breaker(b *engine.BreakerResult) {
	t.add(b.Step+" opened", count(b.Opened)+" times")
	if b.First >= 0 {
		t.add(b.Step+" first opened", "at "+duration(b.First))
	}
	if b.Open > 0 {
		t.add(b.Step+" not closed for", duration(b.Open))
	}
}

func clientTable(r *engine.Result, i int) table {
	c := &r.Clients[i]
	t := table{Title: "client " + c.Name, Verdict: c.Verdict}
	t.add("calls", count(c.Calls))
	t.some("ok", c.OK, c.Calls)
	t.some("failed", c.Failed, c.Calls)
	t.some("unfinished", c.Unfinished, c.Calls)
	t.some("refused", c.Refused, c.Calls)
	for _, one := range c.Refusals {
		t.Rows = append(t.Rows, row{one.Step + ": " + one.Reason, count(one.Calls) + " (" + percent(one.Calls, c.Calls) + ")", true})
	}
	t.add("goodput", digits(c.Goodput)+"/s")
	t.add("attempts a call", digits(c.Amplification))
	t.latency("latency", &c.Latency)
	if c.Fairness < fair {
		t.add("fairness between keys", digits(c.Fairness))
	}
	for i := range c.Breakers {
		t.breaker(&c.Breakers[i])
	}
	return t
}

func serviceTable(r *engine.Result, i int) table {
	s := &r.Services[i]
	t := table{Title: "service " + s.Name}
	t.add("arrived", count(s.Arrived))
	t.some("served", s.Served, s.Arrived)
	t.some("dropped", s.Dropped, s.Arrived)
	t.some("refused", s.Refused, s.Arrived)
	t.some("wasted", s.Wasted, s.Arrived)
	t.add("busy servers", percent(uint64(s.Utilization*1e6), 1e6))
	t.add("requests at a time", digits(s.InSystem))
	t.latency("wait", &s.Wait)
	return t
}
