package cli

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy"
)

// lintFlags are the flags of lint.
type lintFlags struct {
	name   string
	json   bool
	format string
	strict bool
	allow  []string
	// resolved prints the document without defaults and extends.
	resolved bool
}

// lintFormats are the words of --format.
var lintFormats = []string{"text", "json", "sarif", "github"}

func newLint(env *Env) *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use:   "lint [flags] FILE [NEW]",
		Short: "Check a policy document and say what it guarantees",
		Long: `lint checks a policy document and prints, for each policy, its pipeline in order,
the guarantees that follow from it whatever callers and the dependency do, and
what is wrong or surprising in it, with the reason and a part of a document that
mends it. FILE - is standard input.

Warnings are mistakes, or very likely ones, and make the exit code 1, with --strict
2; notes are what one should know. A document that is so on purpose says it with
--allow. The formats sarif and github are for code hosts, which show the findings
beside the lines.

With --resolved lint prints the document as its policies are applied, in YAML: with
the settings that steps take from defaults, and the steps that policies take from
those that they extend.

With two documents, lint says what the second one changes: for each policy, step
and setting whether it is tighter (fewer calls pass, or fewer reach the dependency)
or looser, and which guarantees follow. With --strict the exit code is 1 when
anything is looser.

Rules:
` + ruleList(),
		Example: `  sluice lint vendor.yaml
  sluice lint --name login api.yaml
  sluice lint --strict --format github api.yaml
  sluice lint old.yaml new.yaml
  sluice lint --json vendor.yaml | jq '.policies[].guarantees'
  sluice lint --resolved vendor.yaml
  sluice lint --allow order,no-timeout vendor.yaml`,
		Args: withArgs(func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return fmt.Errorf("lint needs one FILE, or two to compare, found %d", len(args))
			}
			return nil
		}),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return documents(nil, nil, "")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			rules, err := allowedRules(cmd, f.allow)
			if err != nil {
				return err
			}
			if f.json {
				f.format = "json"
			}
			switch {
			case f.resolved && len(args) == 2:
				return usage(cmd, "--resolved prints one document")
			case f.resolved && cmd.Flags().NFlag() > 1:
				return usage(cmd, "--resolved has no other flags beside it")
			case f.resolved:
				return env.resolved(args[0])
			case !slices.Contains(lintFormats, f.format):
				return usage(cmd, "there is no format %q; there is %s", f.format, strings.Join(lintFormats, ", "))
			case len(args) == 1:
				return env.lint(&f, args[0], rules)
			case f.format != "text" && f.format != "json":
				return usage(cmd, "two documents are compared as text or json, not as %s", f.format)
			case args[0] == stdinName && args[1] == stdinName:
				return usage(cmd, "one document at most can be standard input")
			}
			return env.compare(&f, args[0], args[1])
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.name, "name", "n", "", "only this policy of the document")
	flags.StringVar(&f.format, "format", "text", "text, json, sarif or github; all but text have the errors of a document too")
	flags.BoolVar(&f.json, "json", false, "the same as --format json")
	flags.BoolVar(&f.strict, "strict", false, "warnings are errors: exit code 2; of two documents, 1 when anything is looser")
	flags.BoolVar(&f.resolved, "resolved", false, "print the document without defaults and extends, as its policies are applied")
	flags.StringSliceVar(&f.allow, "allow", nil, "make notes of the warnings of these `RULES`")
	must(cmd.RegisterFlagCompletionFunc("name", completeNames(func(_ *cobra.Command, args []string) string {
		if len(args) == 0 {
			return ""
		}
		return args[0]
	})))
	must(cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(lintFormats, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions(ruleNames(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// lint checks a document. The report goes to standard output; so do the errors
// of the document in formats for programs.
func (e *Env) lint(f *lintFlags, file string, allowed []lint.Rule) error {
	src, err := e.source(file)
	if err != nil {
		return err
	}
	doc, err := policy.Parse(fileOf(file), src)
	var errs policy.Errors
	switch {
	case errors.As(err, &errs) && f.format != "text":
		return errors.Join(e.printReport(f, file, ExitBad, nil, errs), fail(ExitBad, nil))
	case err != nil:
		return e.wrong(err)
	}
	checked := lint.Check(doc)
	if f.name != "" {
		if _, err := pick(doc, file, f.name); err != nil {
			return err
		}
		checked.Policies = slices.DeleteFunc(checked.Policies, func(p lint.Policy) bool { return p.Name != f.name })
		checked.Findings = checked.Findings[:0]
	}
	checked.Allow(allowed...)
	code := ExitOK
	switch {
	case checked.Count(lint.Warning) == 0:
	case f.strict:
		code = ExitBad
	default:
		code = ExitWarnings
	}
	if err := e.printReport(f, file, code, &checked, nil); err != nil || code == ExitOK {
		return err
	}
	return fail(code, nil)
}

// resolved prints a document without defaults and extends.
func (e *Env) resolved(file string) error {
	src, err := e.source(file)
	if err != nil {
		return err
	}
	plain, err := policy.Resolved(fileOf(file), src)
	if err != nil {
		return e.wrong(err)
	}
	return e.print(plain)
}

// printReport prints a report, or the errors of a document, in the format of the flags.
func (e *Env) printReport(f *lintFlags, file string, code int, checked *lint.Report, errs policy.Errors) error {
	var out bytes.Buffer
	switch f.format {
	case "json":
		must(report.JSON(&out, fileOf(file), code, checked, errs))
	case "sarif":
		must(report.SARIF(&out, fileOf(file), f.strict, checked, errs))
	case "github":
		must(report.GitHub(&out, fileOf(file), f.strict, checked, errs))
	default:
		must(report.Text(&out, fileOf(file), checked))
	}
	return e.print(out.Bytes())
}

// compare says what a second document changes.
func (e *Env) compare(f *lintFlags, file, other string) error {
	docs := make([]*policy.Document, 2)
	for i, name := range []string{file, other} {
		src, err := e.source(name)
		if err != nil {
			return err
		}
		if docs[i], err = policy.Parse(fileOf(name), src); err != nil {
			return e.wrong(err)
		}
	}
	changes := lint.Compare(docs[0], docs[1])
	if f.name != "" {
		if _, err := pick(docs[1], other, f.name); err != nil {
			return err
		}
		changes = slices.DeleteFunc(changes, func(c lint.Change) bool { return c.Policy != f.name })
	}
	code := ExitOK
	if f.strict && slices.ContainsFunc(changes, func(c lint.Change) bool { return c.Effect == lint.Looser }) {
		code = ExitWarnings
	}
	var out bytes.Buffer
	if f.format == "json" {
		must(report.ChangesJSON(&out, fileOf(file), fileOf(other), code, changes))
	} else {
		must(report.Changes(&out, fileOf(file), fileOf(other), changes))
	}
	if err := e.print(out.Bytes()); err != nil || code == ExitOK {
		return err
	}
	return fail(code, nil)
}

// allowedRules reads the names of rules.
func allowedRules(cmd *cobra.Command, names []string) ([]lint.Rule, error) {
	var rules []lint.Rule
	for _, name := range names {
		if !slices.Contains(ruleNames(), name) {
			return nil, usage(cmd, "there is no rule %q; choose of: %s", name, strings.Join(ruleNames(), ", "))
		}
		rules = append(rules, lint.Rule(name))
	}
	return rules, nil
}

func ruleNames() []string {
	var names []string
	for _, info := range lint.Rules() {
		names = append(names, string(info.Rule))
	}
	return names
}

// ruleList is the list of rules in the help.
func ruleList() string {
	var list strings.Builder
	for _, info := range lint.Rules() {
		severities := make([]string, len(info.Severities))
		for i, s := range info.Severities {
			severities[i] = string(s)
		}
		fmt.Fprintf(&list, "  %s (%s): %s\n", info.Rule, strings.Join(severities, " or "), info.Finds)
	}
	return strings.TrimSuffix(list.String(), "\n")
}
