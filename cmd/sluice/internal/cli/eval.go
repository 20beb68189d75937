package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	sluicewazero "github.com/sluice-go/sluice/bindings/wazero"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/wasm/decide"
	"github.com/sluice-go/sluice/wasm/host"
)

// evalFlags are the flags of eval.
type evalFlags struct {
	policy, name string
	engine       string
	steps        string
	options      eval.Options
	began        time.Time
	all          bool
	summary      bool
	json         bool
}

// The engines of eval.
const (
	nativeEngine = "native"
	wasmEngine   = "wasm"
)

func newEval(env *Env) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval --policy FILE [flags] [EVENTS]",
		Short: "Decide a log of events in virtual time",
		Long: `eval reads a log of events, one JSON object a line, from the file EVENTS or from
standard input, decides them by a policy in virtual time, and prints one JSON
object a line for each decision. The same input gives the same bytes.

Events have "at" (a duration since the start, or whole nanoseconds), "op" (call,
done, renew, cancel, tick, configure) and, for a call, "id", and where wanted
"key", "cost", "attributes" and "deadline". A line that cannot be read ends the
run: "line 12: ..." on standard error, exit code 2. What was decided before it
stays printed.

With --all each call is one of the policy that its id begins with, as in
"vendor/17", and a configure has the policy as its id: so is the trace of a set.
Policies that use one mechanism of the document share its state.

--steps writes each step of a cell to a file: its action, its effects and a hash of
the state after it.

With --summary it prints at the end how many decisions of each kind, step, reason
and outcome there are, in place of the decisions.

With --engine wasm the embedded wasm module decides, in a sandbox, and prints the
same bytes. It has no --state, no --steps and no --began.`,
		Example: `  sluice eval --policy vendor.yaml < events.ndjson > decisions.ndjson
  sluice eval --policy api.yaml --name login events.ndjson
  sluice eval --policy vendor.yaml --seed 7 --state events.ndjson
  sluice eval --policy vendor.yaml --summary events.ndjson
  tail -f events.ndjson | sluice eval --policy vendor.yaml --follow`,
		Args: withArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.policy == "" {
				return usage(cmd, "eval needs --policy FILE")
			}
			events := stdinName
			if len(args) > 0 {
				events = args[0]
			}
			if events == stdinName && f.policy == stdinName {
				return usage(cmd, "the policy and the events cannot both be standard input")
			}
			switch {
			case f.summary && (f.options.Follow || f.options.State):
				return usage(cmd, "--summary prints no decisions; --follow and --state do not go with it")
			case f.json && !f.summary:
				return usage(cmd, "--json needs --summary; decisions are JSON already")
			}
			switch f.engine {
			case nativeEngine:
			case wasmEngine:
				if f.options.State || f.steps != "" {
					return usage(cmd, "--engine %s has no --state and no --steps: the module does not report states", wasmEngine)
				}
				if cmd.Flags().Changed("began") {
					return usage(cmd, "--engine %s has no --began: its mark 0 is 1970", wasmEngine)
				}
			default:
				return usage(cmd, "there is no --engine %s; choose one of: %s, %s", f.engine, nativeEngine, wasmEngine)
			}
			f.options.Epoch = time.Duration(f.began.UnixNano())
			return env.eval(cmd.Context(), &f, events)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.policy, "policy", "p", "", "the policy document, YAML or JSON; - is standard input")
	flags.StringVarP(&f.name, "name", "n", "", "which policy of the document; needed when it has several")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "the seed of all jitter")
	flags.TimeVar(&f.began, "began", time.Unix(0, 0).UTC(), []string{time.RFC3339Nano}, "the wall time of mark 0, for windows of the calendar: the began of a trace")
	flags.BoolVar(&f.options.Follow, "follow", false, "print the decisions of a line before the next one is read")
	flags.BoolVar(&f.options.State, "state", false, "add the state of the deciding step, a line of text for people")
	flags.StringVar(&f.steps, "steps", "", "write the steps of cells to `FILE`")
	flags.BoolVar(&f.all, "all", false, "decide by all policies of the document; the id of a call begins with the name of its policy and a slash")
	flags.BoolVar(&f.summary, "summary", false, "print counts by kind, step, reason and outcome in place of the decisions")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON")
	flags.StringVar(&f.engine, "engine", nativeEngine, "what decides: native, or wasm for the embedded module")
	must(cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions([]cobra.Completion{nativeEngine, wasmEngine}, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("policy", documents))
	must(cmd.RegisterFlagCompletionFunc("name", completeNames(func(*cobra.Command, []string) string { return f.policy })))
	must(cmd.RegisterFlagCompletionFunc("seed", cobra.NoFileCompletions))
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []string{"ndjson", "jsonl", "json", "log"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return cmd
}

// eval decides the events of a file.
func (e *Env) eval(ctx context.Context, f *evalFlags, events string) error {
	doc, err := e.document(f.policy)
	if err != nil {
		return err
	}
	if f.all && f.name != "" {
		return bad("--all decides by all policies; --name does not go with it")
	}
	policies, name := doc.Policies, list(doc)
	if !f.all {
		one, err := pick(doc, f.policy, f.name)
		if err != nil {
			return err
		}
		policies, name = []policy.Policy{*one}, one.Policy.Name
	}
	in, err := e.open(events)
	if err != nil {
		return err
	}
	defer in.Close()
	var files outputs
	if f.options.Steps, err = files.create(f.steps); err != nil {
		return err
	}
	run, err := f.decider(ctx, policies)
	if err != nil {
		return fail(ExitFailed, errors.Join(err, files.close()))
	}
	out := &output{to: e.Stdout}
	if f.summary {
		counts := &tally{counts: map[tallied]int{}}
		if err = run(in, counts); err == nil || counts.total > 0 {
			_, failure := out.Write(counts.text(name, f.json))
			err = errors.Join(err, failure)
		}
	} else {
		err = run(in, out)
	}
	if closed := files.close(); err == nil && closed != nil {
		return fail(ExitFailed, closed)
	}
	var line *eval.LineError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, host.ErrBroken):
		return fail(ExitFailed, err)
	case out.err != nil:
		return outputError(out.err)
	case errors.As(err, &line):
		fmt.Fprintln(e.Stderr, line)
		return fail(ExitBad, nil)
	}
	return bad("cannot read %s: %w", called(events), cause(err))
}

// moduleCode is the embedded module, compiled once a process.
var moduleCode = sync.OnceValues(func() (*sluicewazero.Code, error) {
	return sluicewazero.Compile(context.Background())
})

// decider returns what decides a log by the policies, of which there is one without --all.
func (f *evalFlags) decider(ctx context.Context, of []policy.Policy) (func(io.Reader, io.Writer) error, error) {
	all, names := make([]pipeline.Policy, len(of)), make([]string, len(of))
	for i := range of {
		all[i], names[i] = of[i].Policy, of[i].Policy.Name
	}
	if f.engine == nativeEngine {
		return func(in io.Reader, out io.Writer) error {
			if f.all {
				return eval.RunAll(all, f.options, in, out)
			}
			return eval.Run(all[0], f.options, in, out)
		}, nil
	}
	code, err := moduleCode()
	if err != nil {
		return nil, err
	}
	m, err := code.New(ctx)
	if err != nil {
		return nil, err
	}
	plans := make([]*host.Plan, len(of))
	for i := range all {
		// The module reads JSON alone, and the document may have been YAML.
		if plans[i], err = m.Policy(generate.PolicyJSON(all[i]), ""); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return func(in io.Reader, out io.Writer) error {
		defer m.Close()
		if f.all {
			return decide.RunAll(m, names, plans, f.options, in, out)
		}
		return decide.Run(m, plans[0], f.options, in, out)
	}, nil
}

// output stores the error of a writer, to distinguish it from the error of a reader.
type output struct {
	to  io.Writer
	err error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err != nil {
		o.err = err
	}
	return n, err
}
