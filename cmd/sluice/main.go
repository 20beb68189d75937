// Command sluice decides, checks and serves resilience policies. See README.md
// beside it, or run sluice help.
package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/sluice-go/sluice/cmd/sluice/internal/cli"
)

func main() {
	// A reader that closed the output shows as a failed write instead.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
