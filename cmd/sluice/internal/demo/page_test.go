package demo

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/policy"
)

// evil is what must not get into a page as it is.
const evil = `</script><img src=x onerror="alert(1)">&'`

func samplePage(t *testing.T, change func(*Report)) string {
	t.Helper()
	doc, err := policy.Parse("policy.yaml", DefaultPolicy)
	require.NoError(t, err)
	r := &Report{View: sample(), Policy: &doc.Policies[0], Document: string(DefaultPolicy), Version: "sluice (test)", Command: "sluice demo"}
	change(r)
	var out strings.Builder
	require.NoError(t, WritePage(&out, r))
	return out.String()
}

// code matches what an XML decoder cannot read.
var code = regexp.MustCompile(`(?s)(<script[^>]*>|<style>).*?(</script>|</style>)`)

// elements parses a page and counts its elements.
func elements(t *testing.T, page string) map[string]int {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(code.ReplaceAllString(page, "$1$2")))
	decoder.Strict = false
	decoder.AutoClose = xml.HTMLAutoClose
	decoder.Entity = xml.HTMLEntity
	count := map[string]int{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok {
			count[start.Name.Local]++
		}
	}
}

func TestPage(t *testing.T) {
	page := samplePage(t, func(*Report) {})
	count := elements(t, page)
	require.Equal(t, 5, count["svg"], "charts")
	require.Equal(t, 6, count["title"], "the page's and one a chart")
	require.Equal(t, 2, count["table"])
	require.Equal(t, 2, count["script"])
	require.Zero(t, count["link"]-1, "the empty icon alone")
	require.NotRegexp(t, `https?://|//cdn|@import|url\(| src=`, page, "nothing from elsewhere")
	require.Regexp(t, `prefers-color-scheme: dark`, page)
	require.Regexp(t, `class="open" style="left:27\.\d+%;width:6%" title="open from 4\.10s to 5\.00s"`, page)
	for _, text := range []string{"bulkhead: wait", "&lt;0.1s", "metastable", "failure_rate: 50%", "sluice (test)",
		`aria-label="Good answers a second, healthy, slow and healed: no policy 120, 0 and 0; by hand 120, 0 and`} {
		require.Contains(t, page, text)
	}
	for _, path := range regexp.MustCompile(` d="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		require.Regexp(t, `^(M[-0-9. LMHZ]+)?$`, path[1])
	}
	require.NotContains(t, page, "NaN")
	require.NotContains(t, page, "ZgotmplZ")
}

func TestPageEscapes(t *testing.T) {
	page := samplePage(t, func(r *Report) {
		r.Document, r.Version, r.Command = evil, evil, evil
		log := &r.View.Logs[With]
		log.Calls = append(log.Calls, Call{Result: Refused, Why: evil})
	})
	require.Zero(t, elements(t, page)["img"])
	require.NotContains(t, page, "<img")
	require.Equal(t, 2, strings.Count(page, "</script>"))
}

func TestPageOfLittle(t *testing.T) {
	page := samplePage(t, func(r *Report) {
		r.View.Logs = [Sides]Log{}
		r.Policy.Steps = nil
		r.Document = strings.Repeat("# long\n", 10_000)
	})
	elements(t, page)
	require.NotContains(t, page, `class="band"`)
	require.Contains(t, page, "nothing to show: no call was refused")
	require.Contains(t, page, "a document of 10000 lines")
	require.NotContains(t, page, "NaN")
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		most, top float64
		ticks     int
	}{{0, 1, 2}, {1, 1, 2}, {4, 4, 5}, {7, 8, 5}, {10, 10, 5}, {200, 200, 5}, {256, 300, 4}, {1537, 2000, 5}} {
		top, ticks := scale(c.most)
		require.InDelta(t, c.top, top, 1e-9, c.most)
		require.Len(t, ticks, c.ticks, c.most)
	}
}
