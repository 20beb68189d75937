package apitest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/testenv"
)

// TestRunnerAgreesWithEval runs random policies and logs through the concurrent
// runner, a goroutine for each call, and compares what happens to each call
// with what eval decides. Where the order of simultaneous events is ambiguous,
// the test accepts a difference and counts it.
func TestRunnerAgreesWithEval(t *testing.T) {
	cases, compared, skipped := 1_500, 0, 0
	if testing.Short() {
		cases /= 10
	}
	for d := range testenv.Draws(t, cases) {
		seed, i := d.Seed, d.Case
		compared++
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		draw := generate.GenerateFor
		if i%40 == 0 {
			draw = generate.GeneratePassing
		}
		p, events := draw(rng, 0)
		if events[len(events)-1].At < int64(time.Millisecond) {
			continue // on a grid so fine that much coincides
		}
		grid := i%2 == 0
		p, events = generate.Followable(rng, p, events, grid)
		switch {
		case diverges(t, p, events) == "":
		case ambiguous(t, p, events, grid):
			skipped++
		default:
			p, events = generate.Shrink(0, p, events, func(p pipeline.Policy, events []oracle.Event) bool {
				return diverges(t, p, events) != "" && !ambiguous(t, p, events, grid)
			})
			t.Fatalf("SLUICE_SEED=%d, case %d:\n%s\n%s\n%s", seed, i, generate.PolicyJSON(p), generate.EventsJSON(events), diverges(t, p, events))
		}
	}
	t.Logf("%d of %d cases ambiguous and different", skipped, compared)
	// The share is some 1.4 %, and depends on the scheduler.
	require.LessOrEqual(t, skipped, compared/25+5)
}

// diverges returns how the runner and eval differ on a log, or nothing.
func diverges(t *testing.T, p pipeline.Policy, events []oracle.Event) string {
	t.Helper()
	want := evaluated(t, p, events)
	var got map[string][]string
	bubble(t, func(t *testing.T) { got = performed(t, p, events) })
	for _, e := range events {
		if id := e.ID; !slices.Equal(sorted(want[id]), sorted(got[id])) {
			return fmt.Sprintf("call %s, eval:\n%s\nrunner:\n%s", id, strings.Join(want[id], "\n"), strings.Join(got[id], "\n"))
		}
	}
	return ""
}

// sorted moves the timeouts and hedges of shadow steps to the end, without their
// marks: a runner emits them when the call next progresses, or when it ends.
func sorted(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	var exact, late []string
	for _, text := range lines {
		_, what, _ := strings.Cut(text, " ")
		shadow := strings.HasSuffix(what, " shadow")
		switch {
		case shadow && strings.HasPrefix(what, "expire"):
			// A phantom that a timeout ends at the same mark may emit this or not.
		case shadow && (strings.HasPrefix(what, "timeout") || strings.HasPrefix(what, "hedge")):
			late = append(late, what)
		default:
			exact = append(exact, text)
		}
	}
	last := ""
	if len(exact) > 0 {
		_, last, _ = strings.Cut(exact[len(exact)-1], " ")
	}
	if !strings.HasPrefix(last, "end") && !strings.HasPrefix(last, "reject") && !strings.HasPrefix(last, "expire") {
		return exact
	}
	slices.Sort(late)
	return append(exact, late...)
}

// logged is a line of the decision log.
type logged struct {
	At         string          `json:"at"`
	ID         json.RawMessage `json:"id"`
	Decision   string          `json:"decision"`
	Outcome    string          `json:"outcome"`
	Attempt    int             `json:"attempt"`
	Step       string          `json:"step"`
	Won        int             `json:"won"`
	Reason     string          `json:"reason"`
	Until      string          `json:"until"`
	RetryAfter string          `json:"retry_after"`
	Shadow     bool            `json:"shadow"`
}

// String returns the line that a journal writes for the same decision.
func (d logged) String() string {
	text := d.At + " " + d.Decision
	if d.Attempt > 0 {
		text += fmt.Sprint(" ", d.Attempt)
	}
	for _, word := range []string{d.Step, d.Outcome, d.Reason} {
		if word != "" {
			text += " " + word
		}
	}
	switch {
	case d.Decision == "retry":
		text += " until " + d.Until
	case d.Decision == "reject" && d.RetryAfter != "":
		text += " after " + d.RetryAfter
	}
	if d.Won > 0 {
		text += fmt.Sprint(" won ", d.Won)
	}
	if d.Shadow {
		text += " shadow"
	}
	return text
}

// evaluated returns eval's decisions by call.
func evaluated(t *testing.T, p pipeline.Policy, events []oracle.Event) map[string][]string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, eval.Run(p, eval.Options{Epoch: bubbleBegan}, bytes.NewReader(generate.EventsJSON(events)), &out))
	calls := map[string][]string{}
	for text := range strings.Lines(out.String()) {
		d := parsed(t, text)
		if d.Decision != "stale" && d.Decision != "configured" && d.Decision != "lapse" {
			calls[string(d.ID)] = append(calls[string(d.ID)], d.String())
		}
	}
	return calls
}

func parsed(t *testing.T, text string) (d logged) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &d))
	return d
}

// ambiguous reports whether time or an event affects several calls at any one mark, so
// that a runner may process these calls in any order.
func ambiguous(t *testing.T, p pipeline.Policy, events []oracle.Event, grid bool) bool {
	t.Helper()
	if unordered(p, grid) {
		return true
	}
	engine, seen := oracle.New(p, 0), 0
	leases, began := map[time.Duration]bool{}, map[string]time.Duration{}
	addLeases(p, leases)
	several := func(own string) bool {
		touched := map[string]string{}
		for _, text := range engine.Lines()[seen:] {
			d := parsed(t, text)
			id := string(d.ID)
			at, err := time.ParseDuration(d.At)
			require.NoError(t, err)
			switch d.Decision {
			case "admit":
				began[id] = at
			case "timeout", "end":
				if leases[at-began[id]] {
					return true
				}
			}
			if other, ok := touched[d.At]; id != own && ok && other != id {
				return true
			}
			if id != own {
				touched[d.At] = id
			}
		}
		seen = len(engine.Lines())
		return false
	}
	for _, e := range events {
		if e.Policy != nil {
			addLeases(*e.Policy, leases)
			if unordered(*e.Policy, grid) {
				return true
			}
		}
		require.NoError(t, engine.Apply(oracle.Event{At: e.At, Op: "tick"}))
		if several("") {
			return true
		}
		require.NoError(t, engine.Apply(e))
		if several(e.ID) {
			return true
		}
	}
	return false
}

// addLeases adds the leases of adaptive limits. An attempt that ends at the mark at which its lease does
// counts or not.
func addLeases(p pipeline.Policy, leases map[time.Duration]bool) {
	for _, s := range p.Steps {
		if c, ok := s.Config.(adaptive.Config); ok && c.Lease > 0 {
			leases[c.Lease] = true
		}
	}
}

// unordered reports whether decisions depend on an order that a runner does not
// specify: it specifies the order within each queue only. A call that comes from one
// queue may overtake in another one, may be a phantom in the queue of a shadow step, or of
// one that enforces for others, which emits nothing when it moves, or may retry before the calls for which it made
// room have moved. A hedge that the budget does not grant emits nothing, so the log does
// not say which of two calls was refused. A hedge releases its place when its function
// returns, and its call may retry before that. A waiter that a newest-first queue puts out leaves
// the steps above the queue when its own call goes on, and a hedge may reach them before. A breaker of a key changes when a call
// steps it, which on the grid may be at the mark at which a probe ends. A result that
// is injected after latency may come at the mark at which a breaker takes back the place
// of the probe.
func unordered(p pipeline.Policy, grid bool) bool {
	queues, newest, hasty, budget, hedges, places := 0, false, false, false, false, false
	breaks, injects := false, false
	for _, s := range p.Steps {
		var queue uint32
		var order limiter.Order
		switch c := s.Config.(type) {
		case retry.Config:
			hasty, budget = hasty || c.Backoff.Kind == backoff.None, budget || c.Budgeted
		case hedge.Config:
			hedges, budget = true, (budget || c.Budgeted) && !c.Unbudgeted
		case limiter.Config:
			queue, order = c.Queue, c.Order
		case chaos.Config:
			injects = c.Slow.Positive() && !s.Shadow
		case breaker.Config:
			breaks = true
			if grid && len(s.Per) > 0 {
				return true
			}
		case bulkhead.Config:
			places = true
			queue, order = c.Queue, c.Order
		}
		if queue == 0 {
			continue
		}
		queues++
		newest = newest || order == limiter.Newest
		if s.Shadow || s.Enforce.Partial() {
			return true
		}
	}
	return breaks && injects || newest && queues > 1 || hasty && queues > 0 || hedges && (newest || budget || queues > 1 || places && hasty)
}
