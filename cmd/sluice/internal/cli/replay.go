package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-go/sluice/cmd/sluice/internal/replay"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// recordingFlags say how to read a recording.
type recordingFlags struct {
	format   string
	strict   bool
	time     string
	together bool
	took     time.Duration
	outcome  string
	seed     uint64
}

// times are the words of --time.
var times = []string{"auto", "start", "end"}

// outcomes are the words of --assume-outcome.
var outcomes = []string{"ok", "fail", "throttle", "ignore"}

func (f *recordingFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", replay.Auto, "what the recording is: "+strings.Join(replay.Formats, ", "))
	flags.BoolVar(&f.strict, "strict", false, "a line that cannot be read ends the command with exit code 2")
	flags.StringVar(&f.time, "time", "auto", "whether the time of an access log is the start or the end of a request: auto, start or end")
	flags.BoolVar(&f.together, "together", false, "requests of one second of an access log begin at once; without it they are spread over the second")
	flags.DurationVar(&f.took, "assume-duration", -1, "how long an attempt takes of which the recording says nothing; negative for the median")
	flags.StringVar(&f.outcome, "assume-outcome", "ok", "how such an attempt ends: ok, fail, throttle or ignore")
	flags.Uint64Var(&f.seed, "seed", 0, "the seed of all jitter")
	must(cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(replay.Formats, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("time", cobra.FixedCompletions(times, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("assume-outcome", cobra.FixedCompletions(outcomes, cobra.ShellCompDirectiveNoFileComp)))
	for _, name := range []string{"assume-duration", "seed"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// check returns an error for words that there are not.
func (f *recordingFlags) check(cmd *cobra.Command) error {
	switch {
	case !slices.Contains(replay.Formats, f.format):
		return usage(cmd, "there is no format %q; there is %s", f.format, strings.Join(replay.Formats, ", "))
	case !slices.Contains(times, f.time):
		return usage(cmd, "there is no --time %q; there is %s", f.time, strings.Join(times, ", "))
	case !slices.Contains(outcomes, f.outcome):
		return usage(cmd, "there is no outcome %q; there is %s", f.outcome, strings.Join(outcomes, ", "))
	}
	return nil
}

// assumed is what the flags say about attempts that were not recorded.
func (f *recordingFlags) assumed() replay.Assumed {
	of := map[string]reducer.Outcome{"ok": reducer.OK, "fail": reducer.Fail, "throttle": reducer.Throttle, "ignore": reducer.Ignore}
	return replay.Assumed{Took: f.took, Outcome: of[f.outcome]}
}

// recording reads the files of a recording, and prints which lines it left out.
func (e *Env) recording(f *recordingFlags, names []string) (*replay.Recording, error) {
	var files []replay.File
	for _, name := range names {
		file, err := e.open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		files = append(files, replay.File{Name: called(name), From: file})
	}
	rec, err := replay.Read(files, replay.Options{
		Format: f.format, Strict: f.strict, Start: f.time == "start", End: f.time == "end", Together: f.together,
	})
	var strict *replay.StrictError
	switch {
	case errors.As(err, &strict):
		fmt.Fprintln(e.Stderr, strict)
		return nil, fail(ExitBad, nil)
	case err != nil:
		return nil, bad("cannot read %w", cause(err))
	}
	for _, b := range rec.Bad {
		fmt.Fprintf(e.Stderr, "sluice: %s: %v; the line is left out\n", b.File, b.Err)
	}
	if more := rec.BadCount - len(rec.Bad); more > 0 {
		fmt.Fprintf(e.Stderr, "sluice: more lines that are left out: %d\n", more)
	}
	if rec.Orphans > 0 {
		fmt.Fprintf(e.Stderr, "sluice: lines of calls whose beginning is missing: %d; they are left out\n", rec.Orphans)
	}
	return rec, nil
}

// deciders returns the policies of FILE or FILE:NAME.
func (e *Env) deciders(text string) (*replay.Deciders, error) {
	file, name := nameBehind(text)
	doc, err := e.document(file)
	if err != nil {
		return nil, err
	}
	if name != "" {
		if _, err := pick(doc, file, name); err != nil {
			return nil, err
		}
	}
	return replay.Under(doc, name), nil
}

// nameBehind cuts FILE:NAME, which is a file where there is one of that name.
func nameBehind(text string) (file, name string) {
	if _, err := os.Stat(text); err != nil && text != stdinName {
		if i := strings.LastIndexByte(text, ':'); i > 0 {
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// decide runs a recording, with the decisions in a file where one is named.
func (e *Env) decide(run *replay.Run, log string) (*replay.Result, error) {
	if log == "" {
		result, err := run.Do()
		return result, runError(err)
	}
	file, err := os.Create(log)
	if err != nil {
		return nil, fail(ExitFailed, fmt.Errorf("cannot write %s: %w", log, cause(err)))
	}
	out := bufio.NewWriter(file)
	run.Log = out
	result, err := run.Do()
	if closed := errors.Join(out.Flush(), file.Close()); closed != nil && err == nil {
		return nil, fail(ExitFailed, fmt.Errorf("cannot write %s: %w", log, cause(closed)))
	}
	return result, runError(err)
}

// runError is an error of a policy of the recording.
func runError(err error) error {
	if err == nil {
		return nil
	}
	var wrong policy.Errors
	if errors.As(err, &wrong) {
		return fail(ExitBad, err)
	}
	return fail(ExitFailed, err)
}

// replayFlags are the flags of replay.
type replayFlags struct {
	recordingFlags
	policy string
	log    string
	events string
	steps  string
	began  time.Time
	json   bool
	first  int
}

func newReplay(env *Env) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay --policy FILE[:NAME] [flags] RECORDING...",
		Short: "Decide recorded calls again under another policy",
		Long: `replay reads a trace, a log of events for sluice eval, or the access log of a server,
and decides its calls again in virtual time: how many and whose calls the policy
refuses, and what differs from what was recorded. Without --policy the calls of a
trace are decided by the policies that it has in its headers.

Each call of a trace is decided by the policy of its own name in FILE, or by the
route that it matches, or by the only policy; FILE:NAME decides all calls by one. In a
log of events of several policies the id of a call begins with the name of its policy
and a slash. Policies that share mechanisms decide together.
An attempt takes as long as it took when it was recorded, and ends as it ended; one
that was not made then takes as long, and ends, as the last attempt of its call, or as
--assume-duration and --assume-outcome say.

Of an access log in common, combined or JSON form each line is a call with the
attributes ip, host, method, path, query:NAME, header:user-agent and header:referer,
and the user as its key. Its status is an outcome by the setting outcomes of the policy.
Files compressed with gzip are expanded; several files are one recording, in order of
time. Lines that cannot be read are named, counted and left out.

With --steps it takes the steps of cells that sluice eval --steps wrote again, in new
cells of the policies of FILE, and names the first step whose effects or state differ:
exit code 2. --began is the same as for eval.`,
		Example: `  sluice replay --policy new.yaml trace.ndjson
  sluice replay --policy api.yaml:login --json trace.ndjson.1 trace.ndjson
  sluice replay --policy api.yaml /var/log/nginx/access.log.gz
  sluice replay trace.ndjson --log decisions.ndjson
  sluice replay --policy api.yaml:login --events events.ndjson access.log
  sluice replay --policy api.yaml:login --steps steps.ndjson`,
		Args: withArgs(func(cmd *cobra.Command, args []string) error {
			if f.steps != "" {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.steps != "" {
				return env.replaySteps(cmd, &f)
			}
			if cmd.Flags().Changed("began") {
				return usage(cmd, "--began goes with --steps: a recording has its own times")
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			if f.first < 0 {
				return usage(cmd, "--first is %d; allowed: 0 or more", f.first)
			}
			return env.replay(cmd, &f, args)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.policy, "policy", "p", "", "the policy document, perhaps with the `NAME` of a policy behind a colon; the policies of the trace without")
	flags.StringVar(&f.log, "log", "", "write the decisions to this `FILE`, as sluice eval prints them")
	flags.StringVar(&f.events, "events", "", "write the calls and their ends to this `FILE`, as events for sluice eval; of one policy")
	flags.StringVar(&f.steps, "steps", "", "take the steps of cells in this `FILE` again, which sluice eval --steps wrote; without RECORDING")
	flags.TimeVar(&f.began, "began", time.Unix(0, 0).UTC(), []string{time.RFC3339Nano}, "with --steps: the wall time of mark 0, for windows of the calendar")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.IntVar(&f.first, "first", 10, "how many differences are listed")
	must(cmd.RegisterFlagCompletionFunc("policy", documents))
	must(cmd.RegisterFlagCompletionFunc("first", cobra.NoFileCompletions))
	return cmd
}

// withSteps are the flags of replay that go with --steps.
var withSteps = []string{"policy", "steps", "began"}

// replaySteps takes the steps of cells again and prints how many are as they were recorded.
func (e *Env) replaySteps(cmd *cobra.Command, f *replayFlags) error {
	var other string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if other == "" && !slices.Contains(withSteps, flag.Name) {
			other = flag.Name
		}
	})
	switch {
	case other != "":
		return usage(cmd, "--%s does not go with --steps; these do: --policy, --began", other)
	case f.policy == "":
		return usage(cmd, "--steps needs --policy FILE")
	}
	file, name := nameBehind(f.policy)
	if f.steps == stdinName && file == stdinName {
		return usage(cmd, "the policy and the steps cannot both be standard input")
	}
	doc, err := e.document(file)
	if err != nil {
		return err
	}
	policies := doc.Policies
	if name != "" {
		one, err := pick(doc, file, name)
		if err != nil {
			return err
		}
		policies = []policy.Policy{*one}
	}
	all := make([]pipeline.Policy, len(policies))
	for i := range policies {
		all[i] = policies[i].Policy
	}
	in, err := e.open(f.steps)
	if err != nil {
		return err
	}
	defer in.Close()
	done, err := eval.Replay(all, eval.Options{Epoch: time.Duration(f.began.UnixNano())}, in)
	var line *eval.LineError
	switch {
	case errors.As(err, &line):
		fmt.Fprintln(e.Stderr, line)
		return fail(ExitBad, nil)
	case err != nil:
		return bad("cannot read %s: %w", called(f.steps), cause(err))
	}
	text := fmt.Sprintf("%s: %d steps of %d cells, each as %s takes it\n", called(f.steps), done.Steps, done.Cells, f.policy)
	if done.Anew > 0 {
		text += fmt.Sprintf("cells of keys that were evicted and began anew: %d\n", done.Anew)
	}
	return e.print([]byte(text))
}

// summary describes a recording.
type summary struct {
	Files    []string `json:"files"`
	Format   string   `json:"format"`
	Calls    int      `json:"calls"`
	Span     string   `json:"span"`
	BadLines int      `json:"bad_lines"`
}

func summaryOf(rec *replay.Recording, files []string) summary {
	return summary{Files: files, Format: rec.Format, Calls: len(rec.Calls), Span: rec.Span().String(), BadLines: rec.BadCount}
}

func (s *summary) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %d calls in %s, format %s", strings.Join(s.Files, ", "), s.Calls, s.Span, s.Format)
	if s.BadLines > 0 {
		fmt.Fprintf(w, ", %d lines left out", s.BadLines)
	}
	fmt.Fprintln(w)
}

// replay decides a recording and prints what came of it.
func (e *Env) replay(cmd *cobra.Command, f *replayFlags, names []string) error {
	deciders, by := replay.Own(), "the trace's own policy"
	if f.policy != "" {
		var err error
		if deciders, err = e.deciders(f.policy); err != nil {
			return err
		}
		by = f.policy
	}
	rec, err := e.recording(&f.recordingFlags, names)
	switch {
	case err != nil:
		return err
	case f.policy == "" && len(rec.Headers) == 0:
		return usage(cmd, "replay needs --policy FILE: %s has no policy of its own", strings.Join(names, ", "))
	}
	run := &replay.Run{Recording: rec, Deciders: deciders, Seed: f.seed, Assumed: f.assumed(), Verbatim: rec.Verbatim()}
	var events bytes.Buffer
	if f.events != "" {
		run.Events = &events
	}
	result, err := e.decide(run, f.log)
	var several *replay.SeveralError
	switch {
	case errors.As(err, &several):
		return usage(cmd, "--events: %v; choose one by --policy FILE:NAME", several)
	case err != nil:
		return err
	}
	if f.events != "" {
		if err := os.WriteFile(f.events, events.Bytes(), 0o644); err != nil {
			return fail(ExitFailed, fmt.Errorf("cannot write %s: %w", f.events, cause(err)))
		}
	}
	differs := result.Recorded(f.first)
	about := summaryOf(rec, names)
	var out bytes.Buffer
	if f.json {
		must(indented(&out, map[string]any{"recording": about, "policy": by, "result": result, "recorded": differs}))
		return e.print(out.Bytes())
	}
	about.print(&out)
	fmt.Fprintf(&out, "decided by %s\n\n", by)
	must(replay.Table(&out, replay.Column{Name: by, Result: result}))
	must(replay.Shares(&out, "key", result.Keys))
	must(replay.Shares(&out, "route", result.Routes))
	if differs.Compared > 0 {
		must(replay.Changes(&out, differs, "recorded", "replayed"))
	}
	return e.print(out.Bytes())
}

func indented(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
