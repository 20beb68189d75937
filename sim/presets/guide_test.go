package presets_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/edit"
	"github.com/sluice-go/sluice/sim/goal"
	"github.com/sluice-go/sluice/sim/presets"
	"github.com/sluice-go/sluice/sim/report"
	"github.com/sluice-go/sluice/sim/scenario"
	"github.com/sluice-go/sluice/sim/sweep"
)

const (
	guide = "../../docs/simulation.md"
	begin = "<!-- presets:begin -->\n"
	end   = "<!-- presets:end -->\n"

	sweepPicture = "../../docs/simulation-sweep.svg"
)

func page(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile(guide)
	require.NoError(t, err)
	return string(src)
}

// TestTable compares the table of the guide with the presets.
func TestTable(t *testing.T) {
	var table strings.Builder
	table.WriteString("| preset | shows | verdict | figures |\n|---|---|---|---|\n")
	for _, name := range presets.List() {
		r := run(t, name)
		fmt.Fprintf(&table, "| [%s](../sim/presets/%s.yaml) | %s | %s | %s |\n", name, name, stories[name].shows, r.Verdict, stories[name].figures(r))
	}
	before, rest, found := strings.Cut(page(t), begin)
	require.True(t, found)
	was, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if *rewrite {
		was = table.String()
		require.NoError(t, os.WriteFile(guide, []byte(before+begin+was+end+after), 0o644))
	}
	assert.Equal(t, table.String(), was)
}

var (
	example  = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	required = regexp.MustCompile(`--require '([^']+)'`)
)

// TestSweepPicture compares the picture of the guide with a sweep of its first scenario.
func TestSweepPicture(t *testing.T) {
	source := example.FindStringSubmatch(page(t))
	require.NotNil(t, source)
	table, err := (&sweep.Sweep{
		Scenario: func(settings []edit.Setting) (*sim.Scenario, error) {
			root, errs := policy.Tree("payments.yaml", []byte(source[1]))
			for _, s := range settings {
				if err := edit.Set(root, s); err != nil {
					return nil, err
				}
			}
			return scenario.Read("payments.yaml", root, errs, nil)
		},
		Axes: []sweep.Axis{
			{Path: "clients.web.arrivals.poisson", Values: []string{"80/s", "120/s", "160/s", "200/s", "240/s"}},
			{Path: "policies.payments.steps.retry.attempts", Values: []string{"1", "2", "3", "5"}},
		},
		Seed: 1, Seeds: 5, Figures: []string{"web.goodput", "web.latency.p99"},
	}).Run()
	require.NoError(t, err)
	var picture bytes.Buffer
	require.NoError(t, report.SweepSVG(&picture, table, report.SVGOptions{Title: "payments"}))
	if *rewrite {
		require.NoError(t, os.WriteFile(sweepPicture, picture.Bytes(), 0o644))
	}
	want, err := os.ReadFile(sweepPicture)
	require.NoError(t, err)
	assert.Equal(t, string(want), picture.String())
}

// TestFirstScenario checks what the guide requires of its first scenario, and that it
// needs its breaker for that.
func TestFirstScenario(t *testing.T) {
	text := page(t)
	source := example.FindStringSubmatch(text)
	require.NotNil(t, source)
	unmet := func(source string) (unmet []string) {
		s, err := sim.Parse("payments.yaml", []byte(source), nil)
		require.NoError(t, err)
		r, err := sim.Run(s, sim.Options{})
		require.NoError(t, err)
		for _, one := range required.FindAllStringSubmatch(text, -1) {
			g, err := goal.Parse(one[1])
			require.NoError(t, err)
			found, met, err := g.Check(goal.Of(r))
			if !met || err != nil {
				unmet = append(unmet, fmt.Sprintf("%s: %s %v", one[1], found, err))
			}
		}
		return unmet
	}
	assert.Len(t, required.FindAllString(text, -1), 4)
	assert.Empty(t, unmet(source[1]))
	without := regexp.MustCompile(`(?m)^ +- breaker:.*\n`).ReplaceAllString(source[1], "")
	require.NotEqual(t, source[1], without)
	assert.Greater(t, len(unmet(without)), 1)
}
