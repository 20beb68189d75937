package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-go/sluice/internal/envoy"
)

// wrk is the load generator.
type wrk struct {
	program, libraries string
	version            string
}

// summary is a script that prints the result as JSON.
//
//go:embed summary.lua
var summary string

func newWRK() (*wrk, error) {
	root, err := envoy.Root()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(root, "tools", "wrk.sh"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("tools/wrk.sh: %w", err)
	}
	w := &wrk{}
	w.program, w.libraries, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	// wrk prints its version with its usage, and exit code 1.
	usage := exec.Command(w.program, "-v")
	usage.Env = append(os.Environ(), "LD_LIBRARY_PATH="+w.libraries)
	out, _ = usage.CombinedOutput()
	w.version = strings.Join(strings.Fields(strings.SplitN(string(out)+"[", "[", 2)[0]), " ")
	return w, nil
}

// turn is what wrk has counted in a turn.
type turn struct {
	Requests int64 `json:"requests"`
	Refused  int64 `json:"refused"` // answers with another status than 2xx and 3xx
	Failed   int64 `json:"failed"`  // requests without an answer
	Micros   int64 `json:"micros"`
	P50      int64 `json:"p50"` // microseconds
	P99      int64 `json:"p99"`

	cpu time.Duration // of wrk itself
}

// run loads an address.
func (w *wrk) run(address string, connections int, each time.Duration) (turn, error) {
	file, err := os.CreateTemp("", "wrk*.lua")
	if err != nil {
		return turn{}, err
	}
	defer os.Remove(file.Name())
	if _, err := file.WriteString(summary); err != nil {
		return turn{}, err
	}
	if err := file.Close(); err != nil {
		return turn{}, err
	}
	cmd := exec.Command(w.program, "-t1", fmt.Sprintf("-c%d", connections), fmt.Sprintf("-d%ds", int(each.Seconds())), "-H", "X-Tenant: a", "-s", file.Name(), "http://"+address+"/")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+w.libraries)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return turn{}, fmt.Errorf("wrk: %w", err)
	}
	var t turn
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &t); err != nil {
		return turn{}, fmt.Errorf("wrk: %w:\n%s", err, out)
	}
	if t.Failed > 0 || t.Requests == 0 {
		return turn{}, fmt.Errorf("wrk: %d of %d requests had no answer", t.Failed, t.Requests)
	}
	t.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return t, nil
}
