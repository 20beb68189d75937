// Command cmd checks that the core is pure: go run ./internal/purity/cmd [DIR].
// It prints one line a finding and ends with 1 when there is any.
package main

import (
	"fmt"
	"os"

	"github.com/sluice-go/sluice/internal/purity"
)

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	findings, err := purity.Check(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "purity:", err)
		os.Exit(2)
	}
	for _, finding := range findings {
		fmt.Println(finding)
	}
	if len(findings) > 0 {
		fmt.Fprintf(os.Stderr, "purity: %d findings in core/, reducer/ or clock/mark.go\n", len(findings))
		os.Exit(1)
	}
}
