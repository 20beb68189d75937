// Package machine describes what a measurement runs on.
package machine

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Text names the system, the number of its processors and their model where Linux says it.
func Text() string {
	text := fmt.Sprintf("%s/%s, %d CPUs, GOMAXPROCS %d", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.GOMAXPROCS(0))
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return text
	}
	for line := range strings.Lines(string(info)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return text + ", " + strings.TrimSpace(value)
		}
	}
	return text
}
