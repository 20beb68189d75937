package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/eval"
)

// evalFlags are the flags of eval.
type evalFlags struct {
	policy, name string
	options      eval.Options
}

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
stays printed.`,
		Example: `  sluice eval --policy vendor.yaml < events.ndjson > decisions.ndjson
  sluice eval --policy api.yaml --name login events.ndjson
  sluice eval --policy vendor.yaml --seed 7 --state events.ndjson
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
			return env.eval(&f, events)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.policy, "policy", "p", "", "the policy document, YAML or JSON; - is standard input")
	flags.StringVarP(&f.name, "name", "n", "", "which policy of the document; needed when it has several")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "the seed of all jitter")
	flags.BoolVar(&f.options.Follow, "follow", false, "print the decisions of a line before the next one is read")
	flags.BoolVar(&f.options.State, "state", false, "add the state of the deciding step, a line of text for people")
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
func (e *Env) eval(f *evalFlags, events string) error {
	doc, err := e.document(f.policy)
	if err != nil {
		return err
	}
	one, err := pick(doc, f.policy, f.name)
	if err != nil {
		return err
	}
	in, err := e.open(events)
	if err != nil {
		return err
	}
	defer in.Close()
	out := &output{to: e.Stdout}
	err = eval.Run(one.Policy, f.options, in, out)
	var line *eval.LineError
	switch {
	case err == nil:
		return nil
	case out.err != nil:
		return outputError(out.err)
	case errors.As(err, &line):
		fmt.Fprintln(e.Stderr, line)
		return fail(ExitBad, nil)
	}
	return bad("cannot read %s: %w", called(events), cause(err))
}

// output remembers the error of a writer, to tell it from that of a reader.
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
