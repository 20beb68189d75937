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
	name  string
	json  bool
	allow []string
}

func newLint(env *Env) *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use:   "lint [flags] FILE",
		Short: "Check a policy document and say what it guarantees",
		Long: `lint checks a policy document and prints, for each policy, its pipeline in order,
the guarantees that follow from it whatever callers and the dependency do, and
what is wrong or surprising in it. FILE - is standard input.

Warnings are mistakes, or very likely ones, and make the exit code 1; notes are
what one should know. A document that is so on purpose says it with --allow.

Rules:
` + ruleList(),
		Example: `  sluice lint vendor.yaml
  sluice lint --name login api.yaml
  sluice lint --json vendor.yaml | jq '.policies[].guarantees'
  sluice lint --allow order,no-timeout vendor.yaml`,
		Args: withArgs(func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("lint needs one FILE, found %d", len(args))
			}
			return nil
		}),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return documents(nil, nil, "")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			rules, err := allowedRules(cmd, f.allow)
			if err != nil {
				return err
			}
			return env.lint(&f, args[0], rules)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.name, "name", "n", "", "only this policy of the document")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead, the errors of a document included")
	flags.StringSliceVar(&f.allow, "allow", nil, "make notes of the warnings of these `RULES`")
	must(cmd.RegisterFlagCompletionFunc("name", completeNames(func(_ *cobra.Command, args []string) string {
		if len(args) == 0 {
			return ""
		}
		return args[0]
	})))
	must(cmd.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions(ruleNames(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// lint checks a document. The report goes to standard output; so do the errors
// of the document with --json.
func (e *Env) lint(f *lintFlags, file string, allowed []lint.Rule) error {
	src, err := e.source(file)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	doc, err := policy.Parse(fileOf(file), src)
	var errs policy.Errors
	switch {
	case errors.As(err, &errs) && f.json:
		must(report.JSON(&out, fileOf(file), ExitBad, nil, errs))
		return errors.Join(e.print(out.Bytes()), fail(ExitBad, nil))
	case err != nil:
		return e.wrong(err)
	}
	checked := lint.Check(doc)
	if f.name != "" {
		if _, err := pick(doc, file, f.name); err != nil {
			return err
		}
		checked.Policies = slices.DeleteFunc(checked.Policies, func(p lint.Policy) bool { return p.Name != f.name })
	}
	checked.Allow(allowed...)
	code := ExitOK
	if checked.Count(lint.Warning) > 0 {
		code = ExitWarnings
	}
	if f.json {
		must(report.JSON(&out, fileOf(file), code, &checked, nil))
	} else {
		must(report.Text(&out, fileOf(file), &checked))
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
