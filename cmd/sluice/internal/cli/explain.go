package cli

import (
	"bytes"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/replay"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	recordingFlags
	policy, name string
	events       string
	id           string
	json         bool
}

func newExplain(env *Env) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain --id ID [flags] [RECORDING...]",
		Short: "Say why a recorded call was refused, or what became of it",
		Long: `explain decides the calls of a recording again, as they were, and prints what became of
one of them: at each mark at which something was decided about it, the decisions
and the state of each step before and after them (* marks the step that decided);
for a refusal what led there, such as the calls that took the permits or the failures
that opened a breaker, and what would have admitted the call.

RECORDING is a trace, a log of events for sluice eval, or an access log, as for sluice
replay. The policy is that of the trace; a log has none and needs --policy, of an access
log perhaps with routes. The ID of a line of an access log is its number, or its request
id; a trace that has the attribute header:x-request-id is searched by it as well.

A recording that began when the process already had calls does not have what the steps
knew then; explain says so where it comes to another end than the recording.`,
		Example: `  sluice explain trace.ndjson --id vendor/1812
  sluice explain --policy vendor.yaml --events events.ndjson --id 7
  sluice explain trace.ndjson.1 trace.ndjson --id 1812 --json
  sluice explain --policy api.yaml access.log --id 4711`,
		Args: withArgs(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			switch {
			case f.id == "":
				return usage(cmd, "explain needs --id ID")
			case f.events != "" && len(args) > 0:
				return usage(cmd, "explain reads RECORDING or --events FILE, not both")
			case f.events != "" && f.policy == "":
				return usage(cmd, "--events needs --policy FILE")
			case f.events == "" && len(args) == 0:
				return usage(cmd, "explain needs RECORDING, or --policy FILE and --events FILE")
			case f.name != "" && f.policy == "":
				return usage(cmd, "--name needs --policy FILE")
			}
			if f.events != "" {
				args = []string{f.events}
			}
			return env.explain(cmd, &f, args)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.id, "id", "", "the `ID` of the call, perhaps without quotes; the number of a line of an access log; or a request id")
	flags.StringVarP(&f.policy, "policy", "p", "", "the policy document; needed for a log")
	flags.StringVarP(&f.name, "name", "n", "", "which policy of the document; needed when it has several and no routes, and the recording names none")
	flags.StringVar(&f.events, "events", "", "a log of events, in place of RECORDING")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	must(cmd.RegisterFlagCompletionFunc("policy", documents))
	must(cmd.RegisterFlagCompletionFunc("name", completeNames(func(*cobra.Command, []string) string { return f.policy })))
	must(cmd.RegisterFlagCompletionFunc("id", cobra.NoFileCompletions))
	return cmd
}

// explain tells the story of a call.
func (e *Env) explain(cmd *cobra.Command, f *explainFlags, names []string) error {
	deciders := replay.Own()
	var unnamed error
	if f.policy != "" {
		doc, err := e.document(f.policy)
		if err != nil {
			return err
		}
		one, err := pick(doc, f.policy, f.name)
		switch {
		case err != nil && f.name != "":
			return err
		case len(doc.Routes) > 0:
		case err != nil:
			unnamed = err // unless the recording names the policy of the call
		default:
			f.name = one.Policy.Name
		}
		deciders = replay.Under(doc, f.name)
	}
	rec, err := e.recording(&f.recordingFlags, names)
	switch {
	case err != nil:
		return err
	case f.policy == "" && len(rec.Headers) == 0:
		return usage(cmd, "explain needs --policy FILE: %s has no policy of its own", called(names[0]))
	}
	target, err := rec.Find(f.id)
	var missing *replay.NoCallError
	if errors.As(err, &missing) {
		return bad("%w", err)
	}
	story, err := replay.Explain(&replay.Run{Recording: rec, Deciders: deciders, Seed: f.seed, Assumed: f.assumed()}, target)
	var undecided *replay.NoPolicyError
	switch {
	case errors.As(err, &undecided) && unnamed != nil:
		return unnamed
	case errors.As(err, &undecided):
		return bad("%w", err)
	case err != nil:
		return runError(err)
	}
	var out bytes.Buffer
	if f.json {
		must(indented(&out, story))
	} else {
		must(story.Print(&out))
	}
	return e.print(out.Bytes())
}
