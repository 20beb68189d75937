package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/replay"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	recordingFlags
	traces   []string
	json     bool
	first    int
	scenario scenarioDiff
}

func newDiff(env *Env) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [flags] FILE[:NAME] FILE[:NAME]",
		Short: "Compare two policies on one recording or one scenario",
		Long: `diff decides one recording by two policies, as sluice replay does, and prints the
counts side by side and the first calls that come to another end. What changes in
the documents themselves is the matter of sluice lint OLD NEW.

With --scenario it simulates a scenario with each of the policies in place of that of a
client, with the same seeds, and prints the means of some figures, the difference and its
95 % confidence interval: where that does not hold 0, the policies differ.`,
		Example: `  sluice diff old.yaml new.yaml --trace trace.ndjson
  sluice diff api.yaml:login api.yaml:strict --trace access.log.gz --json
  sluice diff old.yaml new.yaml --scenario preset:retry-storm`,
		Args: withArgs(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			switch {
			case len(f.traces) == 0 && f.scenario.file == "":
				return usage(cmd, "diff needs --trace RECORDING or --scenario SCENARIO")
			case len(f.traces) > 0 && f.scenario.file != "":
				return usage(cmd, "--trace and --scenario exclude each other")
			case f.scenario.seeds < 1 || f.scenario.seeds > 100_000:
				return usage(cmd, "--seeds: found %d; allowed: 1 to 100000", f.scenario.seeds)
			case f.scenario.file != "":
				f.scenario.seeded = cmd.Flags().Changed("seed")
				return env.diffScenario(&f, args)
			case f.first < 0:
				return usage(cmd, "--first is %d; allowed: 0 or more", f.first)
			}
			return env.diff(&f, args)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return documents(nil, nil, "")
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.traces, "trace", nil, "a `RECORDING` that sluice replay reads; several are one, in order of time")
	flags.StringVar(&f.scenario.file, "scenario", "", "a `SCENARIO` to simulate in place of a recording; its seed is the first one unless --seed is given")
	flags.StringVar(&f.scenario.client, "client", "", "the client whose policy is replaced; needed when several have one")
	flags.IntVar(&f.scenario.seeds, "seeds", 10, "how many seeds a scenario is run with")
	flags.StringArrayVar(&f.scenario.show, "show", nil, showUsage)
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.IntVar(&f.first, "first", 10, "how many differences are listed")
	for _, name := range []string{"first", "client", "seeds", "show"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	must(cmd.RegisterFlagCompletionFunc("scenario", documents))
	return cmd
}

// diff decides a recording by two policies.
func (e *Env) diff(f *diffFlags, policies []string) error {
	sides := make([]*replay.Deciders, len(policies))
	for i, text := range policies {
		var err error
		if sides[i], err = e.deciders(text); err != nil {
			return err
		}
	}
	rec, err := e.recording(&f.recordingFlags, f.traces)
	if err != nil {
		return err
	}
	columns := make([]replay.Column, len(policies))
	for i, deciders := range sides {
		run := &replay.Run{Recording: rec, Deciders: deciders, Seed: f.seed, Assumed: f.assumed(), Verbatim: rec.Verbatim()}
		result, err := e.decide(run, "")
		if err != nil {
			return err
		}
		columns[i] = replay.Column{Name: policies[i], Result: result}
	}
	differs := replay.Compare(columns[0].Result, columns[1].Result, f.first)
	about := summaryOf(rec, f.traces)
	var out bytes.Buffer
	if f.json {
		must(indented(&out, map[string]any{
			"recording": about, "policies": policies, "results": []*replay.Result{columns[0].Result, columns[1].Result}, "differences": differs,
		}))
		return e.print(out.Bytes())
	}
	about.print(&out)
	fmt.Fprintln(&out)
	must(replay.Table(&out, columns...))
	must(replay.Changes(&out, differs, policies[0], policies[1]))
	return e.print(out.Bytes())
}
