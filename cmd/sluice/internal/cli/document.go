package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/tree"
)

// stdinName is how standard input is called on the command line.
const stdinName = "-"

// open opens a file for reading; - is standard input. The caller closes it.
func (e *Env) open(name string) (io.ReadCloser, error) {
	if name == stdinName {
		return io.NopCloser(e.Stdin), nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, bad("cannot read %s: %w", name, cause(err))
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, bad("cannot read %s: it is a directory", name)
	}
	return file, nil
}

// called is what a file of the command line is called in messages.
func called(name string) string {
	if name == stdinName {
		return "standard input"
	}
	return name
}

// document reads a policy document. Its errors are printed, a line each.
func (e *Env) document(name string) (*policy.Document, error) {
	src, err := e.source(name)
	if err != nil {
		return nil, err
	}
	doc, err := policy.Parse(fileOf(name), src)
	if err == nil {
		return doc, nil
	}
	return nil, e.wrong(err)
}

// wrong prints the errors of a document, a line each, with its place first.
func (e *Env) wrong(err error) error {
	fmt.Fprintln(e.Stderr, err)
	return fail(ExitBad, nil)
}

// fileOf is the name of a document in the places of its errors.
func fileOf(name string) string {
	if name == stdinName {
		return "stdin"
	}
	return name
}

// source reads the whole of a document, a byte more than one may have at most.
func (e *Env) source(name string) ([]byte, error) {
	file, err := e.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, tree.MaxBytes+1))
	if err != nil {
		return nil, bad("cannot read %s: %w", called(name), cause(err))
	}
	return src, nil
}

// pick returns the policy of the name, or the only one where there is no name.
func pick(doc *policy.Document, file, name string) (*policy.Policy, error) {
	switch {
	case name != "":
		if one := doc.Lookup(name); one != nil {
			return one, nil
		}
		return nil, bad("there is no policy %q in %s; choose one of: %s", name, called(file), list(doc))
	case len(doc.Policies) > 1:
		return nil, bad("%s has %d policies; choose one with --name: %s", called(file), len(doc.Policies), list(doc))
	}
	return &doc.Policies[0], nil
}

// list names the policies of a document, those too many left out.
func list(doc *policy.Document) string {
	const most = 20
	names := policyNames(doc)
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func policyNames(doc *policy.Document) []string {
	var names []string
	for i := range doc.Policies {
		names = append(names, doc.Policies[i].Name)
	}
	return names
}

// completeNames completes --name by the policies of the document that file
// returns.
func completeNames(file func(cmd *cobra.Command, args []string) string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		name := file(cmd, args)
		if name == "" || name == stdinName {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		doc, err := (&Env{Stderr: io.Discard}).document(name)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return policyNames(doc), cobra.ShellCompDirectiveNoFileComp
	}
}

// documents completes the files that may be policy documents.
func documents(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
}

// must is for what fails only by a mistake in the code of a command.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

var errNoOutput = errors.New("standard output cannot be written")

// print writes a result to standard output.
func (e *Env) print(text []byte) error {
	if _, err := e.Stdout.Write(text); err != nil {
		return outputError(err)
	}
	return nil
}

// outputError says that standard output failed, and why.
func outputError(err error) error {
	return fail(ExitFailed, fmt.Errorf("%w: %w", errNoOutput, cause(err)))
}
