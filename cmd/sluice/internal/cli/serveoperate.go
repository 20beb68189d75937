package cli

import (
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/serve"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/policy"
)

// tokenVariable is the environment variable with the token of the admin address, for serve
// and for ctl.
const tokenVariable = "SLUICE_ADMIN_TOKEN"

// operateFlags are the flags of serve for operators: tokens and alerts.
type operateFlags struct {
	url, rate string
}

func (f *operateFlags) add(cmd *cobra.Command, c *serve.Config) {
	flags := cmd.Flags()
	flags.StringVar(&c.AdminTokens, "admin-token-file", "", "a `FILE` of tokens that open /api/ and /ui of the admin address, a line each: TOKEN, or NAME TOKEN; read again when it changes; the variable "+tokenVariable+" has one without a file; neither: no such paths")
	flags.StringSliceVar(&c.AdminHosts, "admin-host", nil, "`NAMES` by which clients reach the admin address, beside addresses, names without a dot and names of the cluster")
	flags.StringVar(&f.url, "alert-url", "", "the `URL` of a webhook that gets a POST for each alert; empty for none")
	flags.StringSliceVar(&c.Alerts.Kinds, "alert-on", serve.AlertKinds, "the `KINDS` of alerts")
	flags.StringVar(&f.rate, "alert-rate", "10/1m", "how many alerts are sent at the most; the next one counts the others")
	must(cmd.RegisterFlagCompletionFunc("alert-on", cobra.FixedCompletions(serve.AlertKinds, cobra.ShellCompDirectiveNoFileComp)))
	for _, name := range []string{"alert-url", "alert-rate", "admin-host"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// check turns the flags into the configuration.
func (f *operateFlags) check(cmd *cobra.Command, c *serve.Config) (err error) {
	if c.AdminTokens == "" {
		c.AdminToken = os.Getenv(tokenVariable)
	} else if c.Admin == "" {
		return usage(cmd, "--admin-token-file needs --admin ADDRESS")
	}
	if c.TraceOff && c.AdminTokens == "" && c.AdminToken == "" {
		return usage(cmd, "--trace-off needs --admin-token-file or the variable %s: a trace begins by hand with a token alone", tokenVariable)
	}
	for i, name := range c.AdminHosts {
		c.AdminHosts[i] = strings.ToLower(strings.TrimSuffix(name, "."))
	}
	if f.url == "" {
		for _, name := range []string{"alert-on", "alert-rate"} {
			if cmd.Flags().Changed(name) {
				return usage(cmd, "--%s needs --alert-url URL", name)
			}
		}
		return nil
	}
	if c.Alerts.URL, err = url.Parse(f.url); err != nil || c.Alerts.URL.Host == "" || c.Alerts.URL.Scheme != "http" && c.Alerts.URL.Scheme != "https" {
		return usage(cmd, "--alert-url has no http or https URL")
	}
	for _, kind := range c.Alerts.Kinds {
		if !slices.Contains(serve.AlertKinds, kind) {
			return usage(cmd, "--alert-on has %q; allowed: %s", kind, strings.Join(serve.AlertKinds, ", "))
		}
	}
	limit, ok := rateOf(f.rate)
	if !ok {
		return usage(cmd, "--alert-rate is %q; allowed: a rate as in 10/1m", f.rate)
	}
	c.Alerts.Count, c.Alerts.Period = limit.Count, limit.Period
	return nil
}

// rateOf reads a rate as the policy document has it.
func rateOf(text string) (quota mechanism.Permits, ok bool) {
	// A text always has a form in JSON.
	quoted, _ := json.Marshal(text)
	p, err := policy.ParseOne("", []byte(`{"steps": [{"limit": `+string(quoted)+`}]}`))
	if err != nil {
		return quota, false
	}
	step := &p.Steps[0]
	return mechanisms.Facts(step.Kind()).Permits(step.Config), true
}
