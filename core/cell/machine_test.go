package cell_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

// A script makes a cell of some mechanism with new, hands its state to another one
// with adopt, and steps it with actions in the text form of traces. The output of
// each has what the holder of the cell reads: the mark of its next end, the next
// waiter to serve and its mark, and its next wake.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var c cell.Cell
		var now clock.Mark
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			a := script.NewArgs(t, d.Pos, d.Input)
			switch d.Cmd {
			case "new", "adopt":
				m, err := maker(a)
				a.Close()
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				var others reducer.Out
				if d.Cmd == "new" {
					now = 0
					c = m.New(now)
				} else {
					c = cell.Adopt(m, c, now, &others)
				}
				for _, e := range others {
					fmt.Fprintln(&out, e)
				}
				fmt.Fprintln(&out, asked(t, c, m, now))
			case "run":
				for line := range strings.Lines(d.Input) {
					at, text, _ := strings.Cut(strings.TrimSpace(line), " ")
					action, err := reducer.ParseAction(text)
					if err != nil {
						a.Fail("%v", err)
					}
					now, _ = script.ParseMark(at)
					var others reducer.Out
					answer := c.Step(action, now, &others)
					fmt.Fprintf(&out, "%s %s: %v\n    %s\n", at, text, reducer.Effects{Answer: answer, Others: others}, asked(t, c, nil, now))
				}
			}
			return out.String()
		})
	})
}

// asked prints what a holder reads, and restores the cell from its own encoding.
func asked(t *testing.T, c cell.Cell, m cell.Maker, now clock.Mark) string {
	t.Helper()
	encoded := c.AppendState(nil)
	if m != nil {
		fresh := m.New(now)
		if err := fresh.Restore(encoded); err != nil || !bytes.Equal(encoded, fresh.AppendState(nil)) {
			t.Fatalf("restored, it is another cell: %v", err)
		}
	}
	if err := c.Restore(encoded[1:]); !errors.Is(err, reducer.ErrEncoding) || !bytes.Equal(encoded, c.AppendState(nil)) {
		t.Fatalf("a failed Restore: %v", err)
	}
	text := cell.Text(c, now)
	if at := c.Due().Ends; at != clock.Never {
		text += ", ends " + at.String()
	}
	if due := c.Due(); due.Serves != clock.Never {
		text += fmt.Sprintf(", serves %d at %v", due.Caller, due.Serves)
	}
	if at := c.Due().Wake; at != clock.Never {
		text += ", wake " + at.String()
	}
	if cell.Fresh(c, now) {
		text += ", fresh"
	}
	return text
}

func maker(a *script.Args) (cell.Maker, error) {
	switch kind := a.Word(); kind {
	case "bulkhead":
		return bulkhead.Cells(bulkhead.Config{Concurrent: a.Count32("concurrent", 0), Wait: a.Duration("wait", 0), Queue: a.Count32("queue", 0), Lease: a.Duration("lease", 0)})
	case "shared":
		return bulkhead.SharedCells(bulkhead.SharedConfig{Concurrent: a.Count32("concurrent", 0), Lease: a.Duration("lease", 0)})
	case "breaker":
		return breaker.Cells(breaker.Config{
			Window: breaker.Consecutive, Count: a.Count32("failures", 0), Probes: a.Count32("probes", 0),
			Open: backoff.Config{Kind: backoff.Constant, Base: time.Second},
		})
	case "budget":
		m, err := budget.New(budget.Config{Ratio: a.Share("ratio"), Window: a.Duration("window", 0)})
		if err != nil {
			return nil, err
		}
		return m.Cells(), nil
	default:
		return limiter.Cells(script.Limit(a, script.Algorithm(kind)))
	}
}

// A limiter's state can be reached in its cell; another cell has none.
func TestLimiter(t *testing.T) {
	m, err := maker(script.NewArgs(t, "limit", "fixed-window rate=2/1s"))
	if err != nil {
		t.Fatal(err)
	}
	c := m.New(0)
	c.Step(reducer.Action{Kind: reducer.Acquire, Cost: 2}, 0, nil)
	if machine, state := limiter.Of(c); machine.Capacity() != 2 || state.Window().Used != 2 {
		t.Errorf("capacity %d, %+v", machine.Capacity(), state.Window())
	}
	if m, err = maker(script.NewArgs(t, "bulkhead", "bulkhead concurrent=1")); err != nil {
		t.Fatal(err)
	}
	if machine, state := limiter.Of(m.New(0)); machine != nil || state != nil {
		t.Error("a bulkhead has the state of a limiter")
	}
}

// A queue that is empty when it is adopted keeps the number of its last ticket, so
// that a late Expire names no other waiter.
func TestAdoptedTickets(t *testing.T) {
	m, err := maker(script.NewArgs(t, "queue", "token-bucket rate=1/1s wait=5s queue=2"))
	if err != nil {
		t.Fatal(err)
	}
	var others reducer.Out
	acquire := reducer.Action{Kind: reducer.Acquire, Cost: 1}
	c := m.New(0)
	c.Step(acquire, 0, &others)
	first := c.Step(acquire, 0, &others)
	c.Step(reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: first.ID}}, 0, &others)
	c = cell.Adopt(m, c, 0, &others)
	if second := c.Step(acquire, 0, &others); first.Verdict != reducer.Wait || second.Verdict != reducer.Wait || second.ID == first.ID {
		t.Errorf("the tickets are %d and %d", first.ID, second.ID)
	}
}

// A state of another process is shifted in time, and has neither waiters nor holders.
func TestRevive(t *testing.T) {
	for _, c := range []struct {
		cell, want string
		steps      []string
	}{
		{"token-bucket rate=1/1s", "free 0/1", []string{"acquire cost=1"}},
		{"token-bucket rate=1/1s wait=5s queue=2", "free 0/1", []string{"acquire cost=1", "acquire cost=1 id=2"}},
		{"fixed-window rate=1/10s", "used 1/1 until 1h0m10s", []string{"acquire cost=1"}},
		{"sliding-counter rate=2/10s wait=20s queue=2", "previous 0 current 2/2 at 0s of 10s", []string{"acquire cost=2", "acquire cost=1 id=2"}},
		{"bulkhead concurrent=1 queue=1", "held 0/1, fresh", []string{"acquire", "acquire id=2"}},
		{"shared concurrent=1 lease=1h", "held 0/1 members 0, fresh", []string{"acquire id=1"}},
		{"budget ratio=50% window=10s", "retries left 1", []string{"record", "record"}},
		{"breaker failures=1 probes=2", "open until 1h0m1s, wake 1h0m1s", []string{"acquire", "record fail gen=1"}},
		{"breaker failures=1 probes=2", "half-open failed 0/1 out 0", []string{"transition cost=2", "acquire", "acquire", "record ok gen=2 id=2"}},
		{"breaker failures=1 probes=20", "half-open failed 0/1 out 0", []string{"transition cost=2", "acquire", "acquire", "record ok gen=2 id=2"}},
	} {
		m, err := maker(script.NewArgs(t, c.cell, c.cell))
		if err != nil {
			t.Fatal(err)
		}
		old := m.New(0)
		var others reducer.Out
		for _, text := range c.steps {
			a, err := reducer.ParseAction(text)
			if err != nil {
				t.Fatal(err)
			}
			old.Step(a, 0, &others)
		}
		revived := m.New(0)
		if err := revived.Revive(old.AppendState(nil), time.Hour); err != nil {
			t.Errorf("%s: %v", c.cell, err)
		}
		if got := asked(t, revived, m, clock.Mark(time.Hour)); got != c.want {
			t.Errorf("%s: revived it is %q, want %q", c.cell, got, c.want)
		}
		if err := revived.Revive([]byte("no state"), time.Hour); !errors.Is(err, reducer.ErrEncoding) || asked(t, revived, m, clock.Mark(time.Hour)) != c.want {
			t.Errorf("%s: revived from nothing: %v", c.cell, err)
		}
	}
}

// TestRevivedPermits: permits and tickets of the previous process are stale in a
// revived cell, whatever is granted or waits there now.
func TestRevivedPermits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cell string
		// before are the steps of the previous process, the last of which has the
		// permit or the ticket; after are those of this one.
		before, after []string
		ends          []reducer.Kind
	}{
		{"bulkhead concurrent=1 queue=1", []string{"acquire"}, []string{"acquire"},
			[]reducer.Kind{reducer.Release, reducer.Cancel, reducer.Renew}},
		{"bulkhead concurrent=1 lease=1h", []string{"acquire"}, []string{"acquire"},
			[]reducer.Kind{reducer.Release, reducer.Cancel, reducer.Renew}},
		{"shared concurrent=1 lease=1h", []string{"acquire id=1"}, []string{"acquire id=1"},
			[]reducer.Kind{reducer.Release, reducer.Cancel, reducer.Renew}},
		{"bulkhead concurrent=1 queue=1", []string{"acquire", "acquire id=2"}, []string{"acquire", "acquire id=3"},
			[]reducer.Kind{reducer.Leave, reducer.Expire}},
		{"token-bucket rate=1/1h wait=5h queue=1", []string{"acquire cost=1", "acquire cost=1 id=2"}, []string{"acquire cost=1 id=3"},
			[]reducer.Kind{reducer.Leave, reducer.Expire}},
		{"breaker failures=1 probes=2", []string{"transition cost=2", "acquire"}, []string{"acquire"},
			[]reducer.Kind{reducer.Record, reducer.Release, reducer.Cancel}},
	} {
		t.Run(c.cell+" "+c.ends[0].String(), func(t *testing.T) {
			m, err := maker(script.NewArgs(t, c.cell, c.cell))
			if err != nil {
				t.Fatal(err)
			}
			steps := func(on cell.Cell, texts []string) (last reducer.Answer) {
				var others reducer.Out
				for _, text := range texts {
					a, err := reducer.ParseAction(text)
					if err != nil {
						t.Fatal(err)
					}
					last = on.Step(a, 0, &others)
				}
				return last
			}
			before, now := m.New(0), m.New(0)
			old := steps(before, c.before)
			if err := now.Revive(before.AppendState(nil), 0); err != nil {
				t.Fatal(err)
			}
			if answer := steps(now, c.after); answer.Verdict != old.Verdict {
				t.Fatalf("before %v, now %v", old, answer)
			}
			want := now.AppendState(nil)
			for _, kind := range c.ends {
				var others reducer.Out
				a := reducer.Action{Kind: kind, Outcome: reducer.OK, Cost: 1, Permit: old.Permit}
				if answer := now.Step(a, 0, &others); answer.Verdict != 0 || len(others) > 0 || !bytes.Equal(now.AppendState(nil), want) {
					t.Errorf("%v of the previous process: %v %v", kind, answer, others)
				}
			}
		})
	}
}
