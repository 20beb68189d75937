package cli

import (
	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/internal/settings"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/sim"
)

func newSchema(env *Env) *cobra.Command {
	var scenario bool
	cmd := &cobra.Command{
		Use:   "schema [SETTING]",
		Short: "Print the JSON Schema of policy documents, or explain a setting",
		Long: `schema prints the JSON Schema (draft 2020-12) of policy documents. An editor that
is given it completes and explains every setting of a document in YAML or JSON.

With a SETTING, as in limit.burst, it prints its type, range and default, and what
larger and smaller values do; with a mechanism, as in limit, all of its settings.

With --scenario it prints the schema of the scenarios of sluice simulate.`,
		Example: `  sluice schema > sluice.schema.json
  sluice schema breaker.probes

  # in the first line of a document, for editors with the YAML language server:
  # yaml-language-server: $schema=./sluice.schema.json`,
		Args:      withArgs(cobra.MaximumNArgs(1)),
		ValidArgs: settings.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case scenario && len(args) > 0:
				return usage(cmd, "schema --scenario takes no SETTING")
			case scenario:
				return env.print(sim.Schema())
			case len(args) == 0:
				return env.print(policy.Schema())
			}
			text, ok := settings.Explain(args[0])
			if !ok {
				return usage(cmd, "there is no setting %q; sluice schema limit, for example, lists those of a mechanism", args[0])
			}
			return env.print([]byte(text))
		},
	}
	cmd.Flags().BoolVar(&scenario, "scenario", false, "the schema of scenarios, see sluice simulate")
	return cmd
}
