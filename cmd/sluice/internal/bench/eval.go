package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/cli"
)

// vendor is the policy whose logs eval decides.
const vendor = `
version: 1
policies:
  vendor:
    steps:
      - timeout: 30s
      - retry: {attempts: 3, backoff: {exponential: 500ms, max: 1m}, budget: 20%%}
      - breaker: {window: {calls: 100}, minimum: 20}
      - limit: {rate: 1000/1s, wait: 3s%s}
      - bulkhead: {concurrent: 50, queue: 100, wait: 5s}
      - timeout: 10s
`

// logs has sluice eval decide logs of so many lines: of one cell a step, and of
// a limiter for each of many keys.
func logs(out io.Writer, lines int) error {
	const runs, keys = 5, 100_000
	fmt.Fprintf(out, "\n## sluice eval\n\nA log of %d lines, calls and their ends, from a file; medians of %d runs.\n\n"+
		"| log | seconds | lines/s | most memory, MB |\n|---|---|---|---|\n", lines, runs)
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sluice-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, c := range []struct {
		name, per string
		keys      int
	}{{"without keys", "", 1}, {"100,000 keys", ", per: key", keys}} {
		if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), fmt.Appendf(nil, vendor, c.per), 0o600); err != nil {
			return err
		}
		if err := writeLog(filepath.Join(dir, "log"), lines, c.keys); err != nil {
			return err
		}
		var seconds, memory []float64
		for range runs {
			cmd := exec.Command(program, "-role", "eval")
			cmd.Dir, cmd.Stderr = dir, os.Stderr
			begin := time.Now()
			if err := cmd.Run(); err != nil {
				return err
			}
			seconds = append(seconds, time.Since(begin).Seconds())
			if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
				memory = append(memory, float64(usage.Maxrss)/1024)
			}
		}
		took := median(seconds)
		fmt.Fprintf(out, "| %s | %.2f | %.0f | %.0f |\n", c.name, took, float64(lines)/took, slices.Max(append(memory, 0)))
	}
	return nil
}

// writeLog writes calls a millisecond apart, each over two milliseconds later.
func writeLog(path string, lines, keys int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	for i := range lines / 2 {
		fmt.Fprintf(w, "{\"at\":\"%dms\",\"op\":\"call\",\"id\":%d,\"key\":\"k%d\"}\n", i, i, i%keys)
		if i >= 2 {
			fmt.Fprintf(w, "{\"at\":\"%dms\",\"op\":\"done\",\"id\":%d,\"outcome\":\"ok\"}\n", i, i-2)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// evaluate is sluice eval in the folder of a log. It discards the decisions.
func evaluate() error {
	if code := cli.Run([]string{"eval", "--policy", "policy.yaml", "log"}, os.Stdin, io.Discard, os.Stderr); code != 0 {
		return fmt.Errorf("eval ended with exit code %d", code)
	}
	return nil
}
