package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/serve"
)

// traceFlags are the flags of serve about traces.
type traceFlags struct {
	share  string
	redact string
	only   []string // flags that need --trace
}

// redactions are the words of --trace-redact.
var redactions = []string{"secrets", "all", "none"}

func (f *traceFlags) add(cmd *cobra.Command, c *serve.Config) {
	flags, o := cmd.Flags(), &c.Trace
	flags.StringVar(&o.File, "trace", "", "record the calls of all policies in this `FILE`; empty for none")
	flags.BoolVar(&c.TraceOff, "trace-off", false, "begin the trace with POST /trace/start of the admin address, not at the start")
	flags.Int64Var(&o.MaxBytes, "trace-max-bytes", sluice.DefaultTraceBytes, "the size of a file of the trace")
	flags.IntVar(&o.Rotate, "trace-rotate", 3, "how many full files are kept, as FILE.1 and so on; with 0 a full file ends the trace")
	flags.StringVar(&f.share, "trace-sample", "100%", "the share of the keys whose calls are recorded")
	flags.StringSliceVar(&o.SampleBy, "trace-sample-by", nil,
		"the `ATTRIBUTES` that make the key; those of the outermost step with per without")
	flags.StringSliceVar(&o.Attributes, "trace-attributes", []string{"method", "host", "path", "ip"},
		"`ATTRIBUTES` that are recorded beside those of per")
	flags.StringVar(&f.redact, "trace-redact", "secrets", "which values are hashed: secrets, all or none")
	f.only = []string{"trace-off", "trace-max-bytes", "trace-rotate", "trace-sample", "trace-sample-by", "trace-attributes", "trace-redact"}
	must(cmd.RegisterFlagCompletionFunc("trace-redact", cobra.FixedCompletions(redactions, cobra.ShellCompDirectiveNoFileComp)))
	for _, name := range []string{"trace-max-bytes", "trace-rotate", "trace-sample", "trace-sample-by", "trace-attributes"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// check turns the flags into the configuration.
func (f *traceFlags) check(cmd *cobra.Command, c *serve.Config) error {
	o := &c.Trace
	if o.File == "" {
		for _, name := range f.only {
			if cmd.Flags().Changed(name) {
				return usage(cmd, "--%s needs --trace FILE", name)
			}
		}
		return nil
	}
	number, percent := strings.CutSuffix(f.share, "%")
	share, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || !percent || !(share > 0 && share <= 100):
		return usage(cmd, "--trace-sample is %q; allowed: a share above 0%% and up to 100%%, as in 5%%", f.share)
	case o.MaxBytes < 1<<20:
		return usage(cmd, "--trace-max-bytes is %d; allowed: 1048576 or more", o.MaxBytes)
	case o.Rotate < 0:
		return usage(cmd, "--trace-rotate is %d; allowed: 0 or more", o.Rotate)
	case c.TraceOff && c.Admin == "":
		return usage(cmd, "--trace-off needs --admin ADDRESS")
	}
	o.Sample = share / 100
	i := slices.Index(redactions, f.redact)
	if i < 0 {
		return usage(cmd, "there is no --trace-redact %q; there is %s", f.redact, strings.Join(redactions, ", "))
	}
	o.Redact = []sluice.Redact{sluice.RedactSecrets, sluice.RedactAll, sluice.RedactNone}[i]
	return nil
}
