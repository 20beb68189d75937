package serve

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/metricnames"
)

// conditional are the metrics that a proxy has only with TLS.
var conditional = []string{"sluice_tls_certificate_not_after_timestamp_seconds"}

// exported returns the names of the series that a proxy with several upstreams exports.
func exported(t *testing.T) (families, series []string) {
	t.Helper()
	inFleet(t, 2, func(int, http.ResponseWriter, *http.Request) {}, func(f *fleet) {
		f.get("/x") // answers have a series from the first one on
		gathered, err := f.meter.registry.Gather()
		require.NoError(t, err)
		for _, family := range gathered {
			name := family.GetName()
			families, series = append(families, name), append(series, name)
			if family.Metric[0].Histogram != nil {
				series = append(series, name+"_bucket", name+"_sum", name+"_count")
			}
		}
	})
	return append(families, conditional...), append(series, conditional...)
}

var ownName = regexp.MustCompile(`\bsluice_[a-z_]+`)

// TestMetricsAreDocumented finds every metric in the page of the command.
func TestMetricsAreDocumented(t *testing.T) {
	families, _ := exported(t)
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	documented := ownName.FindAllString(string(page), -1)
	for _, name := range families {
		if ownName.MatchString(name) {
			assert.Contains(t, documented, name)
		}
	}
	for _, m := range metricnames.Of(metricnames.Prometheus) {
		assert.Contains(t, documented, m.Prometheus)
	}
}

// TestDeployNames finds every metric of the dashboard, of the alerts and of their tests
// among those that a proxy exports. Metrics of keys come with a step that has keys.
func TestDeployNames(t *testing.T) {
	_, series := exported(t)
	for _, m := range metricnames.Of(metricnames.Prometheus) {
		series = append(series, m.Prometheus)
		if m.Kind == metricnames.Histogram {
			series = append(series, m.Prometheus+"_bucket", m.Prometheus+"_count")
		}
	}
	for _, file := range []string{"grafana-dashboard.json", "alerts.yaml", "alerts_test.yaml"} {
		text, err := os.ReadFile("../../../../deploy/" + file)
		require.NoError(t, err)
		names := ownName.FindAllString(string(text), -1)
		assert.Greater(t, len(names), 10, file)
		for _, name := range names {
			assert.Contains(t, series, name, file)
		}
	}
}

// TestDashboard reads what Grafana needs of the dashboard: panels with an id each, that
// do not overlap, and targets with an expression.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../../../deploy/grafana-dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ RefID, Expr, LegendFormat string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	var ids []int
	taken := map[[2]int]string{}
	for _, p := range dashboard.Panels {
		assert.NotContains(t, ids, p.ID, p.Title)
		ids = append(ids, p.ID)
		assert.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		for _, target := range p.Targets {
			assert.NotEmpty(t, target.Expr, p.Title)
			assert.NotEmpty(t, target.LegendFormat, p.Title)
		}
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				assert.Empty(t, taken[at], "%s overlaps", p.Title)
				taken[at] = p.Title
			}
		}
	}
	assert.NotEmpty(t, ids)
}

// TestAlertRules runs promtool on the rules and their tests, where it is installed.
func TestAlertRules(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not on PATH (on Debian: apt-get install prometheus)")
	}
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = "../../../../deploy"
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s", out)
	}
}
