package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/report"
)

var rewrite = flag.Bool("rewrite", false, "write the tables and pictures of testdata as they are; look at the difference")

// run runs a scenario of testdata.
func run(t *testing.T, name string, o sim.Options) (*sim.Scenario, *sim.Result) {
	t.Helper()
	s, err := sim.Load(filepath.Join("testdata", name+".yaml"))
	require.NoError(t, err)
	r, err := sim.Run(s, o)
	require.NoError(t, err)
	return s, r
}

// compare compares what was written with a file of testdata.
func compare(t *testing.T, name string, found []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		require.NoError(t, os.WriteFile(file, found, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(found), "the differences are in %s; -rewrite writes it again", file)
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		golden, scenario string
		o                report.TextOptions
	}{
		{"storm-60.txt", "storm", report.TextOptions{Title: "storm", Width: 60}},
		{"storm-colour.txt", "storm", report.TextOptions{Title: "storm", Colour: true}},
		{"chain-110.txt", "chain", report.TextOptions{Width: 110}},
	} {
		_, r := run(t, c.scenario, sim.Options{})
		var out bytes.Buffer
		require.NoError(t, report.Text(&out, r, c.o))
		compare(t, c.golden, out.Bytes())
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestTextFits: no line is wider than the terminal, and the colours change no text.
func TestTextFits(t *testing.T) {
	for _, scenario := range []string{"storm", "chain"} {
		_, r := run(t, scenario, sim.Options{})
		for width := 60; width <= 170; width += 11 {
			var plain, coloured bytes.Buffer
			require.NoError(t, report.Text(&plain, r, report.TextOptions{Width: width}))
			require.NoError(t, report.Text(&coloured, r, report.TextOptions{Width: width, Colour: true}))
			assert.Equal(t, plain.String(), escapes.ReplaceAllString(coloured.String(), ""))
			for _, line := range strings.Split(plain.String(), "\n") {
				assert.LessOrEqual(t, len([]rune(line)), width, line)
				assert.Equal(t, strings.TrimRight(line, " "), line)
			}
		}
	}
}

// failing is a writer that fails.
type failing struct{}

var errDisk = errors.New("the disk is full")

func (failing) Write([]byte) (int, error) { return 0, errDisk }

func TestErrorsOfTheWriter(t *testing.T) {
	s, r := run(t, "chain", sim.Options{})
	require.ErrorIs(t, report.Text(failing{}, r, report.TextOptions{}), errDisk)
	require.ErrorIs(t, report.SVG(failing{}, r, report.SVGOptions{}), errDisk)
	require.ErrorIs(t, report.HTML(failing{}, &report.Page{Scenario: s, Result: r}), errDisk)
}

func TestSVG(t *testing.T) {
	_, storm := run(t, "storm", sim.Options{Parts: 40})
	_, chain := run(t, "chain", sim.Options{Parts: 40})
	var out bytes.Buffer
	require.NoError(t, report.SVG(&out, storm, report.SVGOptions{Title: "A storm & more", Width: 600, Height: 90}))
	compare(t, "storm.svg", out.Bytes())
	requireXML(t, out.Bytes())
	out.Reset()
	require.NoError(t, report.SVG(&out, chain, report.SVGOptions{Lanes: []string{"tenants heat", "tenants keys", "tenants amplification", "front step adaptive", "store system"}}))
	compare(t, "chain.svg", out.Bytes())
	requireXML(t, out.Bytes())
}

// requireXML reads all of a document.
func requireXML(t *testing.T, src []byte) {
	t.Helper()
	assert.NotContains(t, string(src), "NaN")
	decoder := xml.NewDecoder(bytes.NewReader(src))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestSVGErrors(t *testing.T) {
	_, r := run(t, "storm", sim.Options{})
	err := report.SVG(io.Discard, r, report.SVGOptions{Lanes: []string{"web calls", "batch breakers"}})
	var wrong *report.LaneError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, "batch breakers", wrong.Lane)
	assert.Contains(t, err.Error(), "lane: found batch breakers; allowed: batch active, batch amplification, batch calls, ")
	assert.Contains(t, wrong.Lanes, "web step bulkhead")
}

// pageOf returns the page of a scenario.
func pageOf(t *testing.T, name string, change func(*report.Page)) string {
	t.Helper()
	s, r := run(t, name, sim.Options{Sample: report.Samples})
	src, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	require.NoError(t, err)
	p := &report.Page{
		Title: name, Scenario: s, Result: r, Sources: []report.Source{{Name: name + ".yaml", Text: string(src)}},
		Version: "sluice (test)", Command: "sluice simulate --html page.html " + name + ".yaml",
	}
	change(p)
	var out strings.Builder
	require.NoError(t, report.HTML(&out, p))
	return out.String()
}

var (
	scripts = regexp.MustCompile(`(?s)<script[^>]*>(.*?)</script>`)
	styles  = regexp.MustCompile(`(?s)<style>.*?</style>`)
)

// TestHTML: the page is one file without an address of anything else, and has every
// parameter.
func TestHTML(t *testing.T) {
	page := pageOf(t, "storm", func(*report.Page) {})
	rest := styles.ReplaceAllString(scripts.ReplaceAllString(page, ""), "")
	assert.NotRegexp(t, `(?i)\bsrc=|https?:|url\(|@import|<iframe|<object|<embed|<base|<form`, rest)
	assert.Equal(t, []string{`href="data:,"`}, regexp.MustCompile(`\bhref="[^"]*"`).FindAllString(rest, -1))
	assert.NotRegexp(t, `url\(|@import`, strings.Join(styles.FindAllString(page, -1), ""))
	for _, script := range scripts.FindAllString(page, -1) {
		assert.NotRegexp(t, `\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|\bimport\(`, script)
	}
	assert.Contains(t, page, `content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"`)
	src, err := os.ReadFile("testdata/storm.yaml")
	require.NoError(t, err)
	for _, line := range strings.Split(string(src), "\n") {
		assert.Contains(t, page, line)
	}
	for _, text := range []string{
		"seed 7", "sluice (test)", "sluice simulate --html page.html storm.yaml", "the last 9m30s count", "breaker: open",
		"breaker first opened", "at 2m8s", "the first 5 events that cause a decision", "Permission is hereby granted", "prefers-color-scheme: dark",
	} {
		assert.Contains(t, page, text)
	}
	assert.Less(t, len(page), 1<<20)
	assert.Equal(t, page, pageOf(t, "storm", func(*report.Page) {}))
}

// TestHTMLData: what the script reads is JSON with a value for each part.
func TestHTMLData(t *testing.T) {
	for _, name := range []string{"storm", "chain"} {
		found := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(pageOf(t, name, func(*report.Page) {}))
		require.NotNil(t, found)
		var data struct {
			Parts  int
			Groups []struct {
				Name  string
				Lanes []struct {
					ID     string
					Series []struct{ Values []*float64 }
					Counts [][]uint32
				}
			}
			Samples []struct{ Decisions []map[string]any }
		}
		require.NoError(t, json.Unmarshal([]byte(found[1]), &data))
		require.Len(t, data.Groups, 4-map[string]int{"storm": 1}[name])
		for _, g := range data.Groups {
			require.NotEmpty(t, g.Lanes)
			for _, l := range g.Lanes {
				for _, s := range l.Series {
					assert.Len(t, s.Values, data.Parts, l.ID)
				}
				if l.ID == "heat" {
					assert.Len(t, l.Counts, data.Parts)
				}
			}
		}
		require.NotEmpty(t, data.Samples)
		for _, s := range data.Samples {
			require.NotEmpty(t, s.Decisions)
			assert.NotEmpty(t, s.Decisions[0]["decision"])
		}
	}
}

// evil is what must not get into a page as it is.
const evil = `</script><img src=x onerror="alert(1)">&'`

func TestHTMLEscapes(t *testing.T) {
	page := pageOf(t, "chain", func(p *report.Page) {
		p.Title, p.Version, p.Command = evil, evil, evil
		p.Sources[0] = report.Source{Name: evil, Text: evil}
		p.Scenario.Description = evil
		p.Result.Timeline.Services[0].Bands[0].Text = evil
		p.Result.Samples[0].Key = evil
	})
	assert.NotContains(t, page, "<img")
	assert.Equal(t, 2, strings.Count(page, "</script>"))
	assert.NotContains(t, page, "ZgotmplZ")
}

// TestReportsOfNothing: a scenario in which nothing happens, and one without a policy.
func TestReportsOfNothing(t *testing.T) {
	for _, rate := range []string{"0/s", "1/s"} {
		s, err := sim.Parse("x.yaml", []byte("version: 1\nduration: 3s\nclients: [{name: a, to: b, arrivals: {constant: "+rate+"}}]\nservices: [{name: b, time: 1s}]\n"), nil)
		require.NoError(t, err)
		r, err := sim.Run(s, sim.Options{Sample: report.Samples})
		require.NoError(t, err)
		assert.Equal(t, 3*time.Second, r.Duration)
		var text, picture, page bytes.Buffer
		require.NoError(t, report.Text(&text, r, report.TextOptions{}))
		require.NoError(t, report.SVG(&picture, r, report.SVGOptions{}))
		require.NoError(t, report.HTML(&page, &report.Page{Scenario: s, Result: r}))
		requireXML(t, picture.Bytes())
		assert.NotContains(t, text.String(), "NaN")
		assert.Contains(t, page.String(), "This run took no samples of decisions.")
	}
}
