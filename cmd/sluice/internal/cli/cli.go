// Package cli is the command line of sluice: one file a command, and what they
// have in common.
//
// A command is made by a constructor that takes the Env and is in the list
// commands. It writes its results to Env.Stdout and nothing else there, logs to
// Env.Stderr, and returns its error: Run prints that as one line and turns it
// into the exit code, see Failure.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Env has the inputs and outputs of a command beside its arguments. Its context is
// the text of its cobra.Command.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// commands are the constructors of all commands, in the order of the help.
var commands = []func(*Env) *cobra.Command{
	newInit,
	newDemo,
	newEval,
	newReplay,
	newDiff,
	newExplain,
	newZone,
	newLint,
	newSimulate,
	newSweep,
	newTune,
	newEnvoy,
	newServe,
	newCtl,
	newSchema,
	newVersion,
	newCompletion,
	newExitCodes,
}

// Run runs one command line and returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return RunContext(context.Background(), args, stdin, stdout, stderr)
}

// RunContext is Run with a context whose end stops what serves.
func RunContext(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	env := &Env{Stdin: stdin, Stdout: stdout, Stderr: stderr}
	defer func() {
		if bug := recover(); bug != nil {
			code = env.report(fail(ExitFailed, fmt.Errorf("a bug in sluice, please report it: %v", bug)))
		}
	}()
	root := newRoot(env)
	root.SetArgs(args)
	return env.report(root.ExecuteContext(ctx))
}

// newRoot returns the root command, with all others.
func newRoot(env *Env) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "sluice",
		Short: "Decide, check and serve resilience policies",
		Long: `sluice works with policy documents: rate limits, circuit breakers, retries,
bulkheads and timeouts, decided by one pure core on every runtime.`,
		Args:          noCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return printVersion(env)
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SuggestionsMinimumDistance = 2
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(cmd, "%s", flagError(err))
	})
	root.SetHelpCommand(newHelp())
	for _, make := range commands {
		root.AddCommand(make(env))
	}
	return root
}

// noCommand refuses an unknown command and names the nearest one.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := ""
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		near = "; did you mean " + strings.Join(names, " or ") + "?"
	}
	return usage(cmd, "there is no command %q%s", args[0], near)
}

// report prints an error, if any, as one line and returns the exit code.
func (e *Env) report(err error) int {
	if err == nil || errors.Is(err, errNoOutput) && errors.Is(err, syscall.EPIPE) {
		return ExitOK
	}
	var failure *Failure
	if !errors.As(err, &failure) {
		failure = &Failure{Code: ExitFailed, Err: err}
	}
	if failure.Err != nil {
		fmt.Fprintf(e.Stderr, "sluice: %s\n", oneLine(failure.Err.Error()))
	}
	return failure.Code
}

// oneLine makes one line of what may be several.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
