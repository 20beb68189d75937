package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/operate"
)

// ctlFlags are the flags of all commands below ctl.
type ctlFlags struct {
	address, tokenFile, author string
	json                       bool

	// Of changes:
	reason, lasts string
	key           []string
}

func newCtl(env *Env) *cobra.Command {
	f := &ctlFlags{}
	ctl := &cobra.Command{
		Use:   "ctl COMMAND [flags]",
		Short: "Read and change what a running sluice serve knows",
		Long: `ctl talks to the admin address of a running sluice serve, which has tokens by
--admin-token-file. It lists all steps (steps), one of them (show), breakers and blocked
keys, follows events, and changes a step or a key of it by hand. A change needs --reason, which the server logs with the name of
the token. A change lasts until it is changed again or the server ends; that of a
setting until the policy document is read again.`,
		Example: `  sluice ctl breakers
  sluice ctl open api breaker --reason "vendor maintenance" --for 30m
  sluice ctl set api limit rate=200/1s --reason "launch"
  sluice ctl block api limit --key 203.0.113.7 --for 1h --reason scraping
  sluice ctl tail`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	ctl.SuggestionsMinimumDistance = 2
	flags := ctl.PersistentFlags()
	flags.StringVar(&f.address, "address", "http://127.0.0.1:8081", "the `URL` of the admin address")
	flags.StringVar(&f.tokenFile, "token-file", "", "the `FILE` of the token; without, the variable "+tokenVariable)
	flags.StringVar(&f.author, "author", "", "the `NAME` of the person who makes a change, for the log")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	for _, name := range []string{"address", "author"} {
		must(ctl.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	add := func(use, short string, args cobra.PositionalArgs,
		run func(ctx context.Context, c *operate.Client, args []string) error) *cobra.Command {
		cmd := &cobra.Command{Use: use, Short: short, Args: withArgs(args), ValidArgsFunction: cobra.NoFileCompletions}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			c, err := f.client(cmd)
			if err != nil {
				return err
			}
			return f.failure(run(cmd.Context(), c, args))
		}
		ctl.AddCommand(cmd)
		return cmd
	}
	add("steps", "List the steps of all policies with their state", cobra.NoArgs,
		func(ctx context.Context, c *operate.Client, _ []string) error {
			list, err := c.Steps(ctx)
			return f.print(env, err, list, func(w *tabwriter.Writer) { writeSteps(w, list) })
		})
	add("breakers", "List the breakers by mode and time of change", cobra.NoArgs,
		func(ctx context.Context, c *operate.Client, _ []string) error {
			list, err := c.Breakers(ctx)
			return f.print(env, err, list, func(w *tabwriter.Writer) { writeBreakers(w, list) })
		})
	show := add("show POLICY STEP", "Show a step, or a key of it", cobra.ExactArgs(2),
		func(ctx context.Context, c *operate.Client, args []string) error {
			s, err := c.Step(ctx, args[0], args[1], f.key)
			return f.print(env, err, s, func(w *tabwriter.Writer) { writeStep(w, &s) })
		})
	f.addKey(show)
	add("blocked POLICY STEP", "List the keys of a step that are blocked", cobra.ExactArgs(2),
		func(ctx context.Context, c *operate.Client, args []string) error {
			list, err := c.Blocked(ctx, args[0], args[1])
			return f.print(env, err, list, func(w *tabwriter.Writer) {
				fmt.Fprintln(w, "KEY\tLEFT")
				for _, k := range list {
					fmt.Fprintf(w, "%s\t%s\n", quoted(k.Key), k.Left)
				}
			})
		})
	last := 0
	events := add("events", "Print the last events", cobra.NoArgs, func(ctx context.Context, c *operate.Client, _ []string) error {
		list, err := c.Events(ctx, last)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := f.printEvent(env, e); err != nil {
				return err
			}
		}
		return nil
	})
	events.Flags().IntVar(&last, "last", 20, "how many, 500 at the most")
	must(events.RegisterFlagCompletionFunc("last", cobra.NoFileCompletions))
	requests := false
	tail := add("tail", "Print the last events and those to come", cobra.NoArgs,
		func(ctx context.Context, c *operate.Client, _ []string) error {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return c.Tail(ctx, requests, func(e operate.Event) error { return f.printEvent(env, e) })
		})
	tail.Flags().BoolVar(&requests, "requests", false, "those of requests, too")

	change := func(use, short, action string, args cobra.PositionalArgs, fill func(c *operate.Change, args []string) error) *cobra.Command {
		cmd := add(use, short, args, func(ctx context.Context, c *operate.Client, args []string) error {
			change := operate.Change{Reason: f.reason, Key: f.key, For: f.lasts}
			if fill != nil {
				if err := fill(&change, args[2:]); err != nil {
					return err
				}
			}
			return c.Change(ctx, args[0], args[1], action, change)
		})
		cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the log; needed")
		must(cmd.RegisterFlagCompletionFunc("reason", cobra.NoFileCompletions))
		return cmd
	}
	two := cobra.ExactArgs(2)
	f.addKey(f.addFor(change("open POLICY STEP", "Open a breaker: for a time, or until it is closed by hand", "open", two, nil)))
	f.addKey(change("close POLICY STEP", "Close a breaker", "close", two, nil))
	f.addKey(change("transition POLICY STEP MODE", "Move a breaker to a mode", "transition", cobra.ExactArgs(3),
		func(c *operate.Change, args []string) error {
			c.Mode = args[0]
			return nil
		}))
	f.addKey(change("reset POLICY STEP", "Return a step, all its keys, or a key to the initial state", "reset", two, nil))
	f.addKey(change("drain POLICY STEP", "Give up the free permits of a limit", "drain", two, nil))
	change("set POLICY STEP NAME=VALUE...", "Change settings of a step, as the policy document has them", "configure",
		cobra.MinimumNArgs(3), readSettings)
	f.addKey(f.addFor(change("block POLICY STEP", "Refuse a key for a time", "block", two, nil)))
	f.addKey(change("unblock POLICY STEP", "End a block", "unblock", two, nil))
	f.addKey(change("forgive POLICY STEP", "End the block of a key and reset its state", "forgive", two, nil))
	f.addKey(change("forget POLICY STEP", "Evict a key", "forget", two, nil))
	return ctl
}

func (f *ctlFlags) addKey(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringArrayVar(&f.key, "key", nil, "the `VALUE` of the key; once for each attribute of per, in its order")
	must(cmd.RegisterFlagCompletionFunc("key", cobra.NoFileCompletions))
	return cmd
}

func (f *ctlFlags) addFor(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.lasts, "for", "", "how `LONG`, as in 30m")
	must(cmd.RegisterFlagCompletionFunc("for", cobra.NoFileCompletions))
	return cmd
}

// client returns the client that the flags describe.
func (f *ctlFlags) client(cmd *cobra.Command) (*operate.Client, error) {
	at, err := url.Parse(f.address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, usage(cmd, "--address is %q; allowed: an http or https URL, as in http://127.0.0.1:8081", f.address)
	}
	if cmd.Flags().Lookup("reason") != nil && strings.TrimSpace(f.reason) == "" {
		return nil, usage(cmd, "%s needs --reason, which the server logs", cmd.Name())
	}
	token := os.Getenv(tokenVariable)
	if f.tokenFile != "" {
		src, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, bad("cannot read %s: %w", f.tokenFile, cause(err))
		}
		token = tokenOf(string(src))
	}
	if token = strings.TrimSpace(token); token == "" {
		return nil, usage(cmd, "ctl needs a token: --token-file FILE, or the variable %s", tokenVariable)
	}
	return &operate.Client{Address: f.address, Token: token, Author: f.author}, nil
}

// tokenOf returns the first token of a file of tokens, without its name.
func tokenOf(src string) string {
	for line := range strings.Lines(src) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			return words[len(words)-1]
		}
	}
	return ""
}

// failure gives an error of the client its exit code: what the server refuses as bad is
// bad input.
func (f *ctlFlags) failure(err error) error {
	var status *operate.StatusError
	var failure *Failure
	switch {
	case err == nil, errors.As(err, &failure):
		return err
	case errors.As(err, &status) && status.Status < 500:
		return fail(ExitBad, err)
	}
	return fail(ExitFailed, err)
}

// readSettings reads NAME=VALUE, where a value is one of YAML, as in a policy document.
func readSettings(c *operate.Change, args []string) error {
	c.Settings = map[string]json.RawMessage{}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return bad("found %q; allowed: NAME=VALUE, as in rate=200/1s", arg)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return bad("the value of %s: %w", name, err)
		}
		var err error
		if c.Settings[name], err = json.Marshal(value); err != nil {
			return bad("the value of %s: %w", name, err)
		}
	}
	return nil
}

// print prints a table, or JSON.
func (f *ctlFlags) print(env *Env, err error, v any, table func(w *tabwriter.Writer)) error {
	if err != nil {
		return err
	}
	if f.json {
		encoder := json.NewEncoder(env.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	table(w)
	return w.Flush()
}

func writeSteps(w *tabwriter.Writer, list []operate.Step) {
	fmt.Fprintln(w, "POLICY\tSTEP\tMECHANISM\tSTATE")
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Policy, s.Step, s.Mechanism, stateText(&s))
	}
}

// stateText returns the state of a step in a few words.
func stateText(s *operate.Step) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if s.Mode != "" {
		add("%s", s.Mode)
	}
	if s.Left != "" {
		add("%s left", s.Left)
	}
	if s.Free != nil {
		add("%d free", *s.Free)
	}
	if s.Next != "" {
		add("next in %s", s.Next)
	}
	if s.Waiting > 0 {
		add("%d waiting", s.Waiting)
	}
	if len(s.Per) > 0 {
		noun := "keys"
		if s.Keys == 1 {
			noun = "key"
		}
		add("%d %s per %s", s.Keys, noun, strings.Join(s.Per, ", "))
	}
	if s.BlockedKeys > 0 {
		add("%d blocked", s.BlockedKeys)
	}
	if s.Blocked != "" {
		add("blocked for %s", s.Blocked)
	}
	if s.Shadow {
		add("shadow")
	}
	return strings.Join(parts, ", ")
}

func writeStep(w *tabwriter.Writer, s *operate.Step) {
	fmt.Fprintf(w, "policy\t%s\nstep\t%s\nmechanism\t%s\n", s.Policy, s.Step, s.Mechanism)
	if len(s.Key) > 0 {
		fmt.Fprintf(w, "key\t%s\n", quoted(s.Key))
	}
	if text := stateText(s); text != "" {
		fmt.Fprintf(w, "state\t%s\n", text)
	}
	if s.Since != nil {
		fmt.Fprintf(w, "since\t%s\n", s.Since.Format(time.RFC3339))
	}
	fmt.Fprintf(w, "settings\t%s\n", s.Settings)
}

func writeBreakers(w *tabwriter.Writer, list []operate.Breaker) {
	fmt.Fprintln(w, "MODE\tPOLICY\tSTEP\tKEY\tSINCE\tLEFT")
	for _, b := range list {
		since, key := "", ""
		if b.Since != nil {
			since = b.Since.Format(time.RFC3339)
		}
		if b.Key != "" {
			key = quoted([]string{b.Key})
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", b.Mode, b.Policy, b.Step, key, since, b.Left)
	}
}

// quoted returns the values of a key: clients choose them, and a terminal must not read
// them as commands.
func quoted(key []string) string {
	texts := make([]string, len(key))
	for i, value := range key {
		texts[i] = fmt.Sprintf("%q", value)
	}
	return strings.Join(texts, " ")
}

func (f *ctlFlags) printEvent(env *Env, e operate.Event) error {
	if f.json {
		return json.NewEncoder(env.Stdout).Encode(e)
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%s %s %s", e.At.Format("15:04:05.000"), place(e), cmp.Or(e.Action, e.Kind))
	for _, part := range []struct{ name, value string }{
		{"", e.Mode}, {"", e.Outcome}, {"reason", e.Reason}, {"for", e.Wait}, {"retry after", e.RetryAfter}, {"by", e.By},
	} {
		if part.value != "" {
			line.WriteString(strings.TrimRight(" "+part.name, " ") + " " + part.value)
		}
	}
	if e.Key != "" {
		fmt.Fprintf(&line, " key %q", e.Key)
	}
	if e.Why != "" {
		fmt.Fprintf(&line, " because %q", e.Why)
	}
	if e.Lost > 0 {
		fmt.Fprintf(&line, " (%d events before it were left out)", e.Lost)
	}
	_, err := fmt.Fprintln(env.Stdout, line.String())
	return err
}

func place(e operate.Event) string {
	if e.Step == "" {
		return e.Policy
	}
	return e.Policy + "." + e.Step
}
