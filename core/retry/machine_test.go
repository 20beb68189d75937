package retry_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

// A script makes a retry with new; each line of attempts is an attempt that ended at
// a mark with an outcome. retry_after= is the delay of the answer, deadline= the deadline of a
// timeout above. The state continues from line to line.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var m *retry.Machine
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			switch d.Cmd {
			case "new":
				a := script.NewArgs(t, d.Pos, d.Input)
				c := retry.Config{Attempts: a.Count32("attempts", 0), Backoff: a.Backoff("after"), Budgeted: a.Is("budget")}
				c.Budget.Ratio, c.Budget.Window = a.Share("ratio"), a.Duration("window", 0)
				a.Close()
				made, err := retry.New(c)
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				m = made
				return fmt.Sprintf("budget: %v\n", m.Budget() != nil)
			case "attempts":
				var s retry.State
				for line := range strings.Lines(d.Input) {
					s = next(m, s, script.NewArgs(t, d.Pos, line), strings.TrimSpace(line), &out)
				}
			}
			return out.String()
		})
	})
}

func next(m *retry.Machine, s retry.State, a *script.Args, line string, out *strings.Builder) retry.State {
	now, ok := script.ParseMark(a.Word())
	if !ok {
		a.Fail("a line begins with its mark")
	}
	e := retry.End{Deadline: a.Mark("deadline", clock.Never), Seed: a.Count("seed", 0), Outcome: a.Outcome()}
	if e.Told = a.Has("retry_after"); e.Told {
		e.RetryAfter = a.Duration("retry_after", 0)
	}
	a.Close()
	s.Attempt++
	s, v := m.Next(s, e, now)
	switch {
	case v.Again:
		fmt.Fprintf(out, "%-40s attempt %d at %v\n", line, s.Attempt+1, v.Until)
	case v.Reason != reducer.NoReason:
		fmt.Fprintf(out, "%-40s over: %v\n", line, v.Reason)
	default:
		fmt.Fprintf(out, "%-40s over\n", line)
	}
	return s
}

// The state of a call's retries fits into two words.
func TestSize(t *testing.T) { script.Sized[retry.State](t, 16) }
