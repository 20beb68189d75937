package apitest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/trace"
)

// recorded is a trace of one policy, apart.
type recorded struct {
	header            trace.Header
	end               trace.End
	events, decisions string
}

// apart takes a trace apart, which has a header, lines, and an end.
func apart(t *testing.T, text string) (r recorded) {
	t.Helper()
	lines := slices.Collect(strings.Lines(text))
	require.GreaterOrEqual(t, len(lines), 2, text)
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &r.header))
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &r.end))
	require.Equal(t, trace.Version, r.header.Version)
	require.Equal(t, trace.Version, r.end.Version, text)
	require.EqualValues(t, len(lines)-2, r.end.Lines)
	for _, line := range lines[1 : len(lines)-1] {
		if strings.Contains(line, `"op":`) {
			r.events += line
		} else {
			r.decisions += line
		}
	}
	return r
}

// evaluatedAgain returns what eval prints for the events of a trace.
func evaluatedAgain(t *testing.T, r recorded) string {
	t.Helper()
	one, err := policy.ParseOne("body.json", r.header.Body)
	require.NoError(t, err, "%s", r.header.Body)
	var out bytes.Buffer
	require.NoError(t, eval.Run(one.Policy, eval.Options{Seed: r.header.Seed, Epoch: time.Duration(r.header.Began.UnixNano())}, strings.NewReader(r.events), &out), r.events)
	return out.String()
}

// TestTraceOfOneGoroutine makes random calls one after another, under random policies and
// in virtual time: eval prints the decisions of the trace for its events, byte by byte.
func TestTraceOfOneGoroutine(t *testing.T) {
	usual, cases := 1_000, 0
	if testing.Short() {
		usual /= 10
	}
	lines, words := 0, map[string]int{}
	for d := range testenv.Draws(t, usual) {
		seed, i := d.Seed, d.Case
		cases++
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		p, events := generate.Generate(rng)
		if events[len(events)-1].At < int64(time.Millisecond) {
			continue // on a grid so fine that cancellations and timers coincide
		}
		p = sequential(p)
		var text string
		bubble(t, func(t *testing.T) { text = oneAfterAnother(t, rng, p, time.Duration(events[len(events)-1].At)) })
		r := apart(t, text)
		lines += strings.Count(r.decisions, "\n")
		for line := range strings.Lines(r.decisions) {
			words[parsed(t, line).Decision]++
		}
		require.Equal(t, evaluatedAgain(t, r), r.decisions, "SLUICE_SEED=%d, case %d:\n%s\n%s", seed, i, r.header.Body, text)
	}
	assert.Greater(t, lines, 5*cases, "decisions")
	for _, word := range []string{"admit", "wait", "reject", "timeout", "retry", "end"} {
		assert.Positive(t, words[word], word)
	}
}

// sequential leaves out of a policy what a runner does at other marks or with attempts beside
// each other: hedges, steps in shadow, also for some calls alone, and leases.
func sequential(p pipeline.Policy) pipeline.Policy {
	p.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(s pipeline.Step) bool {
		_, hedges := s.Config.(hedge.Config)
		return hedges
	})
	for i := range p.Steps {
		p.Steps[i].Shadow, p.Steps[i].Enforce = false, condition.Share{}
		pipeline.Edit(&p.Steps[i], func(c *bulkhead.Config) { c.Lease = 0 })
		pipeline.Edit(&p.Steps[i], func(c *adaptive.Config) { c.Lease = 0 })
		// A result that is injected after latency does not come at the mark at which a
		// breaker takes back the place of the probe: eval and a runner may order the two
		// differently.
		pipeline.Edit(&p.Steps[i], func(c *chaos.Config) {
			if c.By++; c.To > 0 {
				c.To++
			}
		})
	}
	if len(p.Steps) == 0 {
		p.Steps = []pipeline.Step{{Config: bulkhead.Config{Concurrent: 1}}}
	}
	return p
}

// oneAfterAnother makes calls within about a time and returns their trace.
func oneAfterAnother(t *testing.T, rng *rand.Rand, p pipeline.Policy, within time.Duration) string {
	var out bytes.Buffer
	pipe, err := sluice.New(p, sluice.WithSeed(rng.Uint64()))
	require.NoError(t, err)
	tr, err := pipe.Trace(sluice.TraceOptions{Writer: &out, Redact: sluice.RedactNone})
	require.NoError(t, err)
	some := func() time.Duration { return time.Duration(rng.Int64N(int64(within)/8 + 1)) }
	for range 20 {
		time.Sleep(some())
		ctx, cancel := t.Context(), func() {}
		switch rng.IntN(6) {
		case 0:
			ctx, cancel = context.WithTimeout(ctx, some()+1)
		case 1:
			ctx, cancel = context.WithCancel(ctx)
			time.AfterFunc(some()+1, cancel)
		}
		values := map[string]string{"header:k": strconv.Itoa(rng.IntN(3)), "ip": strconv.Itoa(rng.IntN(2)), "header:é": "\"\\ü\n", "header:n": strconv.Itoa(rng.IntN(5) - 1)}
		request := sluice.Request{Key: []string{"", "a", "b\"\u2028"}[rng.IntN(3)], Cost: rng.Uint32N(4), Lookup: func(name string) string { return values[name] }}
		_, _ = sluice.DoWith(ctx, pipe, request, func(ctx context.Context) (int, error) {
			if _, err := elapse(ctx, some()); err != nil || ctx.Err() != nil {
				return 0, ctx.Err() // cut at the same mark, too
			}
			e := oracle.Event{Outcome: []string{"ok", "fail", "fail", "throttle", "ignore"}[rng.IntN(5)]}
			if after := int64(some()); rng.IntN(3) == 0 {
				e.RetryAfter = &after
			}
			if rng.IntN(2) == 0 {
				sluice.Used(ctx, rng.Uint32N(6))
			}
			return 0, told(e)
		})
		cancel()
		if rng.IntN(8) == 0 {
			require.NoError(t, pipe.Configure(p))
		}
	}
	require.NoError(t, tr.Stop())
	return out.String()
}

// TestTraceAgreesWithEval makes the random calls of TestRunnerAgreesWithEval, a goroutine
// each: what eval prints for the events of a trace has the same decisions about each call,
// save where the order of simultaneous events is ambiguous.
func TestTraceAgreesWithEval(t *testing.T) {
	usual, cases, different := 500, 0, 0
	if testing.Short() {
		usual /= 10
	}
	for d := range testenv.Draws(t, usual) {
		seed, i := d.Seed, d.Case
		cases++
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		p, events := generate.Generate(rng)
		if events[len(events)-1].At < int64(time.Millisecond) {
			continue // on a grid so fine that much coincides
		}
		p, events = generate.Followable(rng, p, events, false)
		var out bytes.Buffer
		bubble(t, func(t *testing.T) {
			pipe, err := sluice.New(p, sluice.WithSeed(0))
			require.NoError(t, err)
			tr, err := pipe.Trace(sluice.TraceOptions{Writer: &out})
			require.NoError(t, err)
			performedBy(t, pipe, events, func() { require.NoError(t, tr.Stop()) })
		})
		r := apart(t, out.String())
		want, got := byCall(t, evaluatedAgain(t, r)), byCall(t, r.decisions)
		if same := fmt.Sprint(want) == fmt.Sprint(got); !same {
			require.True(t, ambiguous(t, p, events, false), "SLUICE_SEED=%d, case %d:\n%s\n%s\neval:\n%v\ntrace:\n%v", seed, i, r.header.Body, out.String(), want, got)
			different++
		}
	}
	t.Logf("%d of them ambiguous and different", different)
	require.LessOrEqual(t, different, cases/20+5)
}

// byCall returns the decisions of a log by call, in the form of sorted.
func byCall(t *testing.T, log string) map[string][]string {
	t.Helper()
	calls := map[string][]string{}
	for line := range strings.Lines(log) {
		if d := parsed(t, line); d.Decision != "stale" && d.Decision != "lapse" && d.ID != nil {
			calls[string(d.ID)] = append(calls[string(d.ID)], d.String())
		}
	}
	for id, list := range calls {
		calls[id] = sorted(list)
	}
	return calls
}

// header reads a header line.
func header(t *testing.T, line string) (h trace.Header) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(line), &h), line)
	return h
}
