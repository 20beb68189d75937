package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/report"
	"github.com/sluice-go/sluice/sim/sweep"
)

// tuneFlags are the flags of tune.
type tuneFlags struct {
	manyFlags
	goals     []string
	most      string
	least     string
	tries     int
	printBest int
}

func newTune(env *Env) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune --vary PATH=VALUES --goal GOAL [flags] SCENARIO",
		Short: "Search the settings of a policy that meet stated goals",
		Long: `tune simulates a scenario with many combinations of the values of some settings, and
prints which of them meet the goals, the best first, and by how much the others miss
them. Where there are no more combinations than --tries, all are tried; otherwise some
are drawn at random and then neighbours of the best. The seed determines the search.

A goal is a condition on a figure of the result, as simulate --require has it. With
--most or --least a figure is as large or as small as possible where all goals are
met. The exit code is 1 when no combination meets all goals with every seed.

The settings that are found are as good as the scenario: try them with other seeds and
other scenarios.`,
		Example: `  sluice tune --vary 'policies.vendor.steps.retry.attempts=1,2,3,4' \
    --vary 'policies.vendor.steps.timeout=200ms..2s by 200ms' \
    --goal 'web.ok>=99%' --goal 'web.amplification<=1.2' --least web.latency.p99 brownout.yaml`,
		Args:              withArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(f.vary) == 0:
				return usage(cmd, "tune needs --vary PATH=VALUES")
			case f.most != "" && f.least != "":
				return usage(cmd, "--most and --least exclude each other")
			case len(f.goals) == 0 && f.most == "" && f.least == "":
				return usage(cmd, "tune needs --goal, --most or --least")
			case f.tries < 1:
				return usage(cmd, "--tries: found %d; allowed: 1 or more", f.tries)
			}
			return env.tune(cmd, &f, args[0])
		},
	}
	f.add(cmd, 3)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.goals, "goal", nil, "a condition on the result, as in 'web.ok>=99%'; may be repeated")
	flags.StringVar(&f.most, "most", "", "a `FIGURE` that is to be as large as possible")
	flags.StringVar(&f.least, "least", "", "a `FIGURE` that is to be as small as possible")
	flags.IntVar(&f.tries, "tries", 100, "the most combinations that are tried")
	flags.IntVar(&f.printBest, "show", 10, "how many tries are printed; the JSON has all")
	for _, name := range []string{"goal", "most", "least", "tries", "show"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	return cmd
}

// tune searches and prints what was tried.
func (e *Env) tune(cmd *cobra.Command, f *tuneFlags, file string) error {
	axes, scenario, err := f.read(e, cmd, file)
	if err != nil {
		return err
	}
	goals, err := parseGoals(cmd, "--goal", f.goals)
	if err != nil {
		return err
	}
	if _, err := scenario(nil); err != nil {
		return e.wrongScenario(err)
	}
	show, end := e.progress("tries")
	one := sweep.Tuning{
		Scenario: scenario, Axes: axes, Goals: goals, Best: f.most + f.least, Least: f.least != "",
		Seed: f.seed, Seeds: f.seeds, Tries: f.tries, Progress: show,
	}
	outcome, err := one.Run()
	end()
	if err != nil {
		return e.wrongScenario(err)
	}
	var out bytes.Buffer
	if f.json {
		must(tuneJSON(&out, &one, outcome))
	} else {
		tuneTable(&out, f, &one, outcome)
	}
	if err := e.print(out.Bytes()); err != nil || outcome.Found() {
		return err
	}
	return fail(ExitUnmet, nil)
}

// tuneTable prints the best tries.
func tuneTable(out io.Writer, f *tuneFlags, t *sweep.Tuning, o *sweep.Outcome) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	var head []string
	for _, axis := range t.Axes {
		head = append(head, axis.Path)
	}
	for _, g := range t.Goals {
		head = append(head, g.Text)
	}
	if t.Best != "" {
		head = append(head, t.Best)
	}
	fmt.Fprintln(w, strings.Join(append(head, "missed by"), "\t")+"\t")
	for _, one := range o.Tries[:min(max(f.printBest, 1), len(o.Tries))] {
		var line []string
		for _, setting := range one.Settings {
			line = append(line, setting.Value)
		}
		for _, met := range one.Met {
			text := fmt.Sprintf("%d of %d", met, t.Seeds)
			if one.Bad != nil {
				text = "-"
			}
			line = append(line, text)
		}
		if t.Best != "" {
			line = append(line, best(one.Figure))
		}
		fmt.Fprintln(w, strings.Join(append(line, missed(&one)), "\t")+"\t")
	}
	must(w.Flush())
	how := "drawn at random, then near the best"
	if o.All {
		how = "which are all"
	}
	fmt.Fprintf(out, "%d combinations were tried, %s, in %d runs.\n", len(o.Tries), how, o.Runs)
	if !o.Found() {
		fmt.Fprintln(out, "None meets all goals with every seed.")
		return
	}
	fmt.Fprint(out, "Best:")
	for _, setting := range o.Tries[0].Settings {
		fmt.Fprintf(out, " --set '%s=%s'", setting.Path, setting.Value)
	}
	fmt.Fprintln(out)
}

// best is the figure of a try.
func best(x float64) string {
	if math.IsNaN(x) {
		return "none"
	}
	return report.Figure(x)
}

// missed says by how much a try misses the goals.
func missed(t *sweep.Try) string {
	switch {
	case t.Bad != nil:
		return "not accepted"
	case t.Missed == 0:
		return "met"
	}
	return fmt.Sprintf("%.3g %%", 100*t.Missed)
}

// tuneJSON prints all tries as JSON, the best first.
func tuneJSON(out io.Writer, t *sweep.Tuning, o *sweep.Outcome) error {
	type try struct {
		Settings map[string]string   `json:"settings"`
		Met      map[string]int      `json:"met"`
		Missed   float64             `json:"missed"`
		Figure   *float64            `json:"figure,omitempty"`
		Verdicts map[sim.Verdict]int `json:"verdicts"`
		Error    string              `json:"error,omitempty"`
	}
	whole := struct {
		Found bool  `json:"found"`
		All   bool  `json:"all"`
		Runs  int   `json:"runs"`
		Seeds int   `json:"seeds"`
		Tries []try `json:"tries"`
	}{Found: o.Found(), All: o.All, Runs: o.Runs, Seeds: t.Seeds}
	for i := range o.Tries {
		from := &o.Tries[i]
		one := try{Settings: map[string]string{}, Met: map[string]int{}, Missed: from.Missed, Verdicts: from.Verdicts}
		for _, setting := range from.Settings {
			one.Settings[setting.Path] = setting.Value
		}
		for k, g := range t.Goals {
			one.Met[g.Text] = from.Met[k]
		}
		if !math.IsNaN(from.Figure) {
			one.Figure = &from.Figure
		}
		if from.Bad != nil {
			one.Error = from.Bad.Error()
		}
		whole.Tries = append(whole.Tries, one)
	}
	return json.NewEncoder(out).Encode(whole)
}
