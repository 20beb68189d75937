package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/spf13/cobra"
)

// The exit codes. They are the same for every command.
const (
	// ExitOK: done, without warnings.
	ExitOK = 0
	// ExitWarnings: lint has warnings, and no errors.
	ExitWarnings = 1
	// ExitUnmet: a simulation does not meet what was required.
	ExitUnmet = 1
	// ExitBad: bad input or usage. Nothing was begun, or what was done before
	// the bad input stays.
	ExitBad = 2
	// ExitFailed: the input is right, but the command failed.
	ExitFailed = 3
)

const exitCodes = `The exit code of every command:

  0  Done. A reader of the output that closed it early is no failure.
  1  lint: the document has warnings and no errors; with --strict and two
     documents: something is looser. simulate: a --require is not met.
  2  Bad input or usage: an unknown command or flag, a file that cannot be read,
     a document with errors, with lint --strict one with warnings, an unknown
     policy, a bad line of a log. What was decided before a bad line stays printed.
  3  It could not be done although the input is right: a port in use, an
     upstream that cannot be used, an output that cannot be written.

Errors are lines on standard error, each "sluice: MESSAGE", save two that name
their place first: errors of a document ("FILE:LINE:COLUMN: ...") and of a log
("line 12: ..."). Standard output never has a message.`

// newExitCodes is a topic of the help, not a command.
func newExitCodes(*Env) *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes}
}

// Failure is an error with its exit code. Err is nil when the messages have already
// been printed.
type Failure struct {
	Code int
	Err  error
}

// Error implements error.
func (f *Failure) Error() string {
	if f.Err == nil {
		return fmt.Sprintf("exit code %d", f.Code)
	}
	return f.Err.Error()
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// fail gives an error an exit code.
func fail(code int, err error) error { return &Failure{Code: code, Err: err} }

// bad is an error of the input.
func bad(format string, args ...any) error { return fail(ExitBad, fmt.Errorf(format, args...)) }

// usage is an error of the command line. It names the help that explains it.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return bad("%s (see %s --help)", fmt.Sprintf(format, args...), cmd.CommandPath())
}

// parser is what the standard library puts before what is wrong with a number.
var parser = regexp.MustCompile(`strconv\.\w+: parsing ".*": `)

// flagError says what is wrong with a flag, without the function that found it.
func flagError(err error) string { return parser.ReplaceAllString(err.Error(), "") }

// cause returns what is wrong with a file without its name, which the message
// has already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// withArgs wraps the check of a command's arguments so that it is a usage error.
func withArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage(cmd, "%v", err)
		}
		return nil
	}
}
