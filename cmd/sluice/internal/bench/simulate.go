package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/sluice-go/sluice/cmd/sluice/internal/cli"
)

// scenarios are the policies with which sluice simulate runs.
var scenarios = []struct{ name, policy string }{
	{"no policy", "none"},
	{"one limit", "one"},
	{"five steps", "five"},
}

const scenario = `
version: 1
duration: %ds
policies:
  one: {steps: [{limit: {rate: 2000/s}}]}
  five:
    steps:
      - timeout: 30s
      - retry: {attempts: 3, backoff: {exponential: 50ms}}
      - breaker: {window: {calls: 100}, open: 5s}
      - limit: {rate: 2000/s}
      - bulkhead: {concurrent: 1000}
clients:
  - {name: web, to: vendor, arrivals: {poisson: 1000/s}, policy: %s}
services:
  - {name: vendor, servers: 80, time: {exponential: 50ms}, fail: 1%%}
`

// simulations has sluice simulate run scenarios of so many calls on one processor.
func simulations(out io.Writer, calls int) error {
	const runs = 5
	fmt.Fprintf(out, "\n## sluice simulate\n\n%d calls at 1000/s to a service of 80 servers, on one processor; medians of %d runs.\n\n"+
		"| policy | seconds of CPU | calls/s | most memory, MB |\n|---|---|---|---|\n", calls, runs)
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sluice-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, c := range scenarios {
		if err := os.WriteFile(filepath.Join(dir, "scenario.yaml"), fmt.Appendf(nil, scenario, calls/1000, c.policy), 0o600); err != nil {
			return err
		}
		var seconds, memory []float64
		for range runs {
			cmd := exec.Command(program, "-role", "simulate")
			cmd.Dir, cmd.Stderr = dir, os.Stderr
			cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
			if err := cmd.Run(); err != nil {
				return err
			}
			seconds = append(seconds, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
			if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
				memory = append(memory, float64(usage.Maxrss)/1024)
			}
		}
		took := median(seconds)
		fmt.Fprintf(out, "| %s | %.2f | %.0f | %.0f |\n", c.name, took, float64(calls)/took, slices.Max(append(memory, 0)))
	}
	return nil
}

// simulate is sluice simulate in the folder of a scenario. It discards the result.
func simulate() error {
	if code := cli.Run([]string{"simulate", "--json", "scenario.yaml"}, os.Stdin, io.Discard, os.Stderr); code != 0 {
		return fmt.Errorf("simulate ended with exit code %d", code)
	}
	return nil
}
