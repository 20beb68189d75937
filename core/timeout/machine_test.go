package timeout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/internal/script"
)

// A line is a timeout and the mark at which what it bounds starts.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				a := script.NewArgs(t, d.Pos, line)
				c := timeout.Config{After: a.Duration("after", 0), Soft: a.Duration("soft", 0)}
				start := a.Mark("start", 0)
				a.Close()
				m, err := timeout.New(c)
				if err != nil {
					fmt.Fprintln(&out, "error: "+err.Error())
					continue
				}
				fmt.Fprintf(&out, "cut at %v, warn at %v\n", m.Deadline(start), m.Warn(start))
			}
			return out.String()
		})
	})
}
