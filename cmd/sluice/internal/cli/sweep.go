package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/edit"
	"github.com/sluice-go/sluice/sim/report"
	"github.com/sluice-go/sluice/sim/sweep"
)

// manyFlags are the flags of the commands that run a scenario many times.
type manyFlags struct {
	vary, set []string
	seed      uint64
	seeds     int
	json      bool
}

// add adds the flags to a command.
func (f *manyFlags) add(cmd *cobra.Command, seeds int) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.vary, "vary", nil, "a setting and its values: 1,2,5, or 10..50/s by 10, or 1..64 x 2; may be repeated")
	flags.StringArrayVar(&f.set, "set", nil, setUsage)
	flags.Uint64Var(&f.seed, "seed", 1, "the first seed")
	flags.IntVar(&f.seeds, "seeds", seeds, "how many seeds each combination of values is run with")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	for _, name := range []string{"vary", "set", "seed", "seeds"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// read reads the axes, and returns what reads the scenario with settings of theirs.
func (f *manyFlags) read(e *Env, cmd *cobra.Command, file string) ([]sweep.Axis, sweep.Scenario, error) {
	if f.seeds < 1 || f.seeds > 100_000 {
		return nil, nil, usage(cmd, "--seeds: found %d; allowed: 1 to 100000", f.seeds)
	}
	axes := make([]sweep.Axis, len(f.vary))
	for i, text := range f.vary {
		var err error
		if axes[i], err = sweep.ParseAxis(text); err != nil {
			return nil, nil, usage(cmd, "--vary %v", err)
		}
	}
	fixed, err := parseSettings(cmd, f.set)
	if err != nil {
		return nil, nil, err
	}
	source, err := e.scenario(file)
	if err != nil {
		return nil, nil, err
	}
	return axes, func(settings []edit.Setting) (*sim.Scenario, error) {
		return source.with(append(fixed[:len(fixed):len(fixed)], settings...))
	}, nil
}

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	manyFlags
	show []string
	svg  string
}

func newSweep(env *Env) *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep --vary PATH=VALUES [flags] SCENARIO",
		Short: "Simulate a scenario over the values of a setting",
		Long: `sweep simulates a scenario for each value of a setting, with many seeds each, and
prints the mean of some figures with its 95 % confidence interval. With a second
--vary it prints a heat map of each figure over both settings. All processors are
used; the seeds alone determine the result. --svg writes the same as a picture: means
with their intervals, or heat maps.

A setting is named by its path, as in errors of the document; items of lists also by
their names, and steps by their mechanisms: clients.web.arrivals.poisson,
services.api.servers, policies.vendor.steps.retry.attempts.`,
		Example: `  sluice sweep --vary 'clients.web.arrivals.poisson=50..400/s by 50' brownout.yaml
  sluice sweep --vary 'policies.vendor.steps.retry.attempts=1,2,3,5' --show web.amplification --show api.utilization storm.yaml
  sluice sweep --vary 'services.api.servers=1..8 by 1' --vary 'services.api.queue=0,10,100' --show web.latency.p99 --svg api.svg api.yaml`,
		Args:              withArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			axes, scenario, err := f.read(env, cmd, args[0])
			if err != nil {
				return err
			}
			if len(axes) != 1 && len(axes) != 2 {
				return usage(cmd, "sweep needs one --vary, or two, found %d", len(axes))
			}
			return env.sweep(&f, args[0], axes, scenario)
		},
	}
	f.add(cmd, 10)
	cmd.Flags().StringArrayVar(&f.show, "show", nil, showUsage)
	cmd.Flags().StringVar(&f.svg, "svg", "", "write the figures as a picture to `FILE`")
	must(cmd.RegisterFlagCompletionFunc("show", cobra.NoFileCompletions))
	return cmd
}

// showUsage explains --show.
const showUsage = "a `FIGURE` of the result, by its path in the JSON; may be repeated (default of each client: goodput, latency.p99 and amplification)"

// defaultFigures are what is shown of each client without --show.
func defaultFigures(s *sim.Scenario) (figures []string) {
	for _, c := range s.Clients {
		for _, name := range []string{"goodput", "latency.p99", "amplification"} {
			figures = append(figures, "clients."+c.Name+"."+name)
		}
	}
	return figures
}

// sweep runs a sweep of a scenario of a file and prints its table.
func (e *Env) sweep(f *sweepFlags, file string, axes []sweep.Axis, scenario sweep.Scenario) error {
	figures := f.show
	if len(figures) == 0 {
		first, err := scenario([]edit.Setting{{Path: axes[0].Path, Value: axes[0].Values[0]}})
		if err != nil {
			return e.wrongScenario(err)
		}
		figures = defaultFigures(first)
	}
	show, end := e.progress("runs")
	one := sweep.Sweep{Scenario: scenario, Axes: axes, Seed: f.seed, Seeds: f.seeds, Figures: figures, Progress: show}
	table, err := one.Run()
	end()
	if err != nil {
		return e.wrongScenario(err)
	}
	var out bytes.Buffer
	if f.svg != "" {
		must(report.SweepSVG(&out, table, report.SVGOptions{Title: titleOf(file)}))
		if err := writeReport(f.svg, &out); err != nil {
			return err
		}
	}
	switch {
	case f.json:
		must(sweepJSON(&out, f, table))
	case len(axes) == 1:
		sweepTable(&out, f.seeds, table)
	default:
		for i := range table.Figures {
			heatMap(&out, table, i)
		}
	}
	return e.print(out.Bytes())
}

// sweepTable prints a line for each value.
func sweepTable(out io.Writer, seeds int, t *sweep.Table) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := []string{t.Axes[0].Path}
	for _, figure := range t.Figures {
		head = append(head, short(figure))
	}
	fmt.Fprintln(w, strings.Join(append(head, "verdict"), "\t")+"\t")
	for _, p := range t.Points {
		line := []string{p.Values[0]}
		for _, e := range p.Figures {
			line = append(line, interval(e))
		}
		fmt.Fprintln(w, strings.Join(append(line, verdicts(p.Verdicts)), "\t")+"\t")
	}
	must(w.Flush())
	fmt.Fprintf(out, "Means of %d seeds, with 95 %% confidence intervals. Times are seconds.\n", seeds)
}

// short is a figure's path without its first name.
func short(path string) string {
	_, rest, _ := strings.Cut(path, ".")
	return rest
}

// interval is a mean and its confidence interval.
func interval(e sweep.Estimate) string {
	if math.IsNaN(e.Mean) {
		return "none"
	}
	if e.N == 1 {
		return report.Figure(e.Mean)
	}
	return report.Figure(e.Mean) + " ±" + strconv.FormatFloat(e.Half, 'g', 2, 64)
}

// verdicts says how many runs had which verdict.
func verdicts(counts map[sim.Verdict]int) string {
	var parts []string
	for _, v := range []sim.Verdict{sim.Steady, sim.Recovered, sim.Degraded, sim.Metastable} {
		if n := counts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

// heatMap prints a figure over two settings: a number in each cell, and behind it how
// large it is beside the others.
func heatMap(out io.Writer, t *sweep.Table, figureIndex int) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, p := range t.Points {
		if x := p.Figures[figureIndex].Mean; !math.IsNaN(x) {
			least, most = min(least, x), max(most, x)
		}
	}
	fmt.Fprintf(out, "%s: %s down, %s across\n", t.Figures[figureIndex], t.Axes[0].Path, t.Axes[1].Path)
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\t"+strings.Join(t.Axes[1].Values, "   \t")+"   \t")
	columns := len(t.Axes[1].Values)
	for i, value := range t.Axes[0].Values {
		line := []string{value}
		for _, p := range t.Points[i*columns : (i+1)*columns] {
			x := p.Figures[figureIndex].Mean
			if math.IsNaN(x) {
				line = append(line, "none   ")
				continue
			}
			line = append(line, report.Figure(x)+" "+strings.Repeat(shade(x, least, most), 2))
		}
		fmt.Fprintln(w, strings.Join(line, "\t")+"\t")
	}
	must(w.Flush())
	fmt.Fprintln(out)
}

// shade is how dark a cell is.
func shade(x, least, most float64) string {
	shades := []string{"·", "░", "▒", "▓", "█"}
	if most <= least {
		return shades[0]
	}
	return shades[min(int((x-least)/(most-least)*float64(len(shades))), len(shades)-1)]
}

// meanJSON is an estimate in JSON; the mean is null without runs that have the figure.
type meanJSON struct {
	Mean *float64 `json:"mean"`
	Half float64  `json:"half"`
	N    int      `json:"n"`
}

func jsonOf(e sweep.Estimate) meanJSON {
	one := meanJSON{Half: e.Half, N: e.N}
	if e.N > 0 {
		one.Mean = &e.Mean
	}
	return one
}

// sweepJSON prints a table as JSON.
func sweepJSON(out io.Writer, f *sweepFlags, t *sweep.Table) error {
	type point struct {
		Values   map[string]string   `json:"values"`
		Figures  map[string]meanJSON `json:"figures"`
		Verdicts map[sim.Verdict]int `json:"verdicts"`
	}
	whole := struct {
		Seed   uint64  `json:"seed"`
		Seeds  int     `json:"seeds"`
		Points []point `json:"points"`
	}{Seed: f.seed, Seeds: f.seeds}
	for _, p := range t.Points {
		one := point{Values: map[string]string{}, Figures: map[string]meanJSON{}, Verdicts: p.Verdicts}
		for i, axis := range t.Axes {
			one.Values[axis.Path] = p.Values[i]
		}
		for i, e := range p.Figures {
			one.Figures[t.Figures[i]] = jsonOf(e)
		}
		whole.Points = append(whole.Points, one)
	}
	return json.NewEncoder(out).Encode(whole)
}
