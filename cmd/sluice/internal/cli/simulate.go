package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/goal"
	"github.com/sluice-go/sluice/sim/report"
)

// simulateFlags are the flags of simulate.
type simulateFlags struct {
	seed        uint64
	client      string
	log, events string
	require     []string
	set         []string
	json        bool
	html, svg   string
	lanes       []string
	seeded      bool
}

func newSimulate(env *Env) *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate [flags] SCENARIO",
		Short: "Say what a policy will do before it runs",
		Long: `simulate runs a scenario, clients that call services through policies, in virtual
time, and prints what came of it: how many calls ended well, were refused or failed,
how long they took, what the services did, and a verdict: steady, recovered,
degraded or metastable. The policies are decided by the code that decides in
production. SCENARIO - is standard input, and preset:NAME one of the scenarios that the
command has (docs/simulation.md has a list).

The same scenario and seed give the same bytes of every output. What is printed is a
table for people, with lines over time; programs read --json.
--html writes a page with lanes over one axis of time, the decisions at the cursor with
the states before and after them, and the documents; it needs no network. --svg writes
lanes as a picture for documents, those of the first client unless --lane names others.

--log writes the decisions of one client as sluice eval prints them, --events its
events as sluice eval reads them: eval on these events prints that log when it is
given the policy and the seed that simulate names on standard error.

--require compares a figure of the result, by its path in the JSON, with a value. The
exit code is 1 when one is not met.`,
		Example: `  sluice simulate preset:retry-storm
  sluice simulate retry-storm.yaml
  sluice simulate --json --seed 7 retry-storm.yaml | jq .clients.web.latency
  sluice simulate --require 'verdict != metastable' --require 'clients.web.ok >= 99%' brownout.yaml
  sluice simulate --require 'clients.web.latency.p99 < 200ms' brownout.yaml
  sluice simulate --html storm.html retry-storm.yaml
  sluice simulate --svg storm.svg --lane 'web calls' --lane 'api system' retry-storm.yaml
  sluice simulate --log decisions.ndjson --events events.ndjson --client web brownout.yaml`,
		Args:              withArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: oneScenario,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.seeded = cmd.Flags().Changed("seed")
			return env.simulate(cmd, &f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.seed, "seed", 1, "the seed of all random numbers, in place of the scenario's")
	flags.StringVar(&f.client, "client", "", "whose decisions and events are written; needed when several clients have a policy")
	flags.StringVar(&f.log, "log", "", "write the decisions to `FILE`")
	flags.StringVar(&f.events, "events", "", "write the events to `FILE`")
	flags.StringArrayVar(&f.require, "require", nil, "a condition on the result, as in 'clients.web.ok >= 99%'; may be repeated")
	flags.StringArrayVar(&f.set, "set", nil, setUsage)
	flags.BoolVar(&f.json, "json", false, "print the result as one JSON object in place of a table")
	flags.StringVar(&f.html, "html", "", "write the result as one page with charts and decisions to `FILE`")
	flags.StringVar(&f.svg, "svg", "", "write lanes of the result as a picture to `FILE`")
	flags.StringArrayVar(&f.lanes, "lane", nil, "a lane of the picture, as in 'web latency'; may be repeated")
	must(cmd.RegisterFlagCompletionFunc("seed", cobra.NoFileCompletions))
	must(cmd.RegisterFlagCompletionFunc("client", cobra.NoFileCompletions))
	must(cmd.RegisterFlagCompletionFunc("lane", cobra.NoFileCompletions))
	must(cmd.RegisterFlagCompletionFunc("require", cobra.NoFileCompletions))
	must(cmd.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	return cmd
}

// simulate runs a scenario and prints its result.
func (e *Env) simulate(cmd *cobra.Command, f *simulateFlags, file string) error {
	goals, err := parseGoals(cmd, "--require", f.require)
	if err != nil {
		return err
	}
	settings, err := parseSettings(cmd, f.set)
	if err != nil {
		return err
	}
	if len(f.lanes) > 0 && f.svg == "" {
		return usage(cmd, "--lane needs --svg FILE")
	}
	source, err := e.scenario(file)
	if err != nil {
		return err
	}
	s, err := source.with(settings)
	if err != nil {
		return e.wrongScenario(err)
	}
	o := sim.Options{Seed: f.seed, Seeded: f.seeded, Client: f.client}
	if f.html != "" {
		o.Sample = report.Samples
	}
	line, end := e.percentage()
	if line != nil {
		o.Progress = func(part float64) { line(int(100*part), "simulating") }
	}
	var files outputs
	if o.Log, err = files.create(f.log); err != nil {
		return err
	}
	if o.Events, err = files.create(f.events); err != nil {
		return err
	}
	r, err := sim.Run(s, o)
	end()
	if closed := files.close(); err == nil && closed != nil {
		return fail(ExitFailed, closed)
	}
	var log *sim.LogError
	var still *engine.StillError
	switch {
	case errors.As(err, &log), errors.As(err, &still):
		return fail(ExitBad, err)
	case err != nil:
		return fail(ExitFailed, err)
	}
	if f.events != "" {
		fmt.Fprintf(e.Stderr, "sluice: eval decides these events with --seed %d\n", sim.PolicySeed(s, o))
	}
	unmet, err := check(goals, r)
	if err != nil {
		return bad("--require %w", err)
	}
	if err := e.writeReports(f, file, source, s, r); err != nil {
		return err
	}
	if err := e.printResult(f, file, r); err != nil || len(unmet) == 0 {
		return err
	}
	for _, line := range unmet {
		fmt.Fprintln(e.Stderr, "sluice: not met: "+line)
	}
	return fail(ExitUnmet, nil)
}

// check returns a line for each goal that a result does not meet.
func check(goals []goal.Goal, r *sim.Result) (unmet []string, err error) {
	figures := goal.Of(r)
	for _, g := range goals {
		found, met, err := g.Check(figures)
		if err != nil {
			return nil, err
		}
		if !met {
			unmet = append(unmet, fmt.Sprintf("%s; found %s, with the seed %d", g.Text, found, r.Seed))
		}
	}
	return unmet, nil
}

// outputs are files that a command writes.
type outputs []*os.File

// create creates a file; without a name there is none.
func (o *outputs) create(name string) (io.Writer, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, bad("cannot write %s: %w", name, cause(err))
	}
	*o = append(*o, file)
	return file, nil
}

// close closes all and returns the first error.
func (o *outputs) close() (first error) {
	for _, file := range *o {
		if err := file.Close(); err != nil && first == nil {
			first = fmt.Errorf("cannot write %s: %w", file.Name(), cause(err))
		}
	}
	return first
}
