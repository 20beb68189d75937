package cli

import (
	"bytes"
	"strings"

	"github.com/spf13/cobra"
)

// shells that completion knows, each with what makes its script.
var shells = []struct {
	name  string
	write func(root *cobra.Command, out *bytes.Buffer) error
}{
	{"bash", func(root *cobra.Command, out *bytes.Buffer) error { return root.GenBashCompletionV2(out, true) }},
	{"zsh", func(root *cobra.Command, out *bytes.Buffer) error { return root.GenZshCompletion(out) }},
	{"fish", func(root *cobra.Command, out *bytes.Buffer) error { return root.GenFishCompletion(out, true) }},
	{"powershell", func(root *cobra.Command, out *bytes.Buffer) error {
		return root.GenPowerShellCompletionWithDesc(out)
	}},
}

func shellNames() []string {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return names
}

func newCompletion(env *Env) *cobra.Command {
	names := strings.Join(shellNames(), ", ")
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script of a shell",
		Long: `completion prints a script that makes a shell complete the commands and flags of
sluice, the names of policies and the files of documents. SHELL is one of
` + names + `.`,
		Example: `  source <(sluice completion bash)
  sluice completion zsh > "${fpath[1]}/_sluice"
  sluice completion fish > ~/.config/fish/completions/sluice.fish
  sluice completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: shellNames(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, "completion needs one shell: %s", names)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range shells {
				if s.name == args[0] {
					var out bytes.Buffer
					if err := s.write(cmd.Root(), &out); err != nil {
						return err
					}
					return env.print(out.Bytes())
				}
			}
			return usage(cmd, "there is no completion for %q; choose one of: %s", args[0], names)
		},
	}
}
