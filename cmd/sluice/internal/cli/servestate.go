package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/serve"
)

// addState adds the flags of serve about the state file.
func addState(cmd *cobra.Command, c *serve.Config) {
	flags := cmd.Flags()
	flags.StringVar(&c.State.File, "state", "", "a `FILE` that keeps what the policies know through a restart; empty for none")
	flags.DurationVar(&c.State.Every, "state-every", serve.DefaultStateEvery, "the time between two writes of the state file")
	flags.Int64Var(&c.State.Most, "state-max-bytes", serve.DefaultStateMost, "the greatest size of the state file")
	for _, name := range []string{"state-every", "state-max-bytes"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// checkState checks the flags about the state file.
func checkState(cmd *cobra.Command, c *serve.Config) error {
	switch s := &c.State; {
	case s.File == "":
		for _, name := range []string{"state-every", "state-max-bytes"} {
			if cmd.Flags().Changed(name) {
				return usage(cmd, "--%s needs --state FILE", name)
			}
		}
	case s.Every < time.Second:
		return usage(cmd, "--state-every is %s; allowed: 1s or more", s.Every)
	case s.Most < 1<<16:
		return usage(cmd, "--state-max-bytes is %d; allowed: 65536 or more", s.Most)
	}
	return nil
}
