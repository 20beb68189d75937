package cli

import (
	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/policy"
)

func newSchema(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of policy documents",
		Long: `schema prints the JSON Schema (draft 2020-12) of policy documents. An editor that
is given it completes and explains every setting of a document in YAML or JSON.`,
		Example: `  sluice schema > sluice.schema.json

  # in the first line of a document, for editors with the YAML language server:
  # yaml-language-server: $schema=./sluice.schema.json`,
		Args:              withArgs(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return env.print(policy.Schema()) },
	}
}
