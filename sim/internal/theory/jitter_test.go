package theory_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/random"
)

// attempt is an attempt of a client of optimistic to write a row.
type attempt struct {
	at      clock.Mark
	number  uint32
	version int
	on      stage
}

// stage is what happens next to an attempt.
type stage uint8

const (
	idle stage = iota
	reads
	writes
	succeeds
	fails
)

// optimistic lets n clients, who begin at once, each write one row under optimistic
// concurrency control: a client reads the version of the row, then writes; the write
// fails when another one came between. The policy's retry says when a client tries
// again. Each message takes |N(10 ms, 2 ms)|.
//
// It returns how many writes there were, and when the last client had its answer.
//
// Source: Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015, and
// its simulator, github.com/aws-samples/aws-arch-backoff-simulator.
func optimistic(plan *pipeline.Plan, n int, seed uint64) (calls int, end clock.Mark) {
	net := random.New(seed, "net")
	delay := func() time.Duration {
		return time.Duration(math.Abs(10+2*net.Normal()) * float64(time.Millisecond))
	}
	driver := drive.New(plan, seed<<40)
	clients := make([]attempt, n)
	handles := make([]decision.Handle, n)
	start := func() {
		for _, d := range driver.Decisions {
			if d.Kind == decision.Admit {
				clients[d.Call.Slot()] = attempt{at: driver.Now().Add(delay()), number: d.Attempt, on: reads}
			}
		}
		driver.Decisions = driver.Decisions[:0]
	}
	for i := range n {
		handles[i] = driver.Begin(&drive.Request{Cost: 1, Deadline: -1})
	}
	start()
	for version := 0; ; {
		next := -1
		for i := range clients {
			if clients[i].on != idle && (next < 0 || clients[i].at < clients[next].at) {
				next = i
			}
		}
		wake := driver.NextWake()
		if next < 0 && wake == clock.Never {
			return calls, driver.Now()
		}
		if next < 0 || wake <= clients[next].at {
			driver.Advance(wake)
			start()
			continue
		}
		c := &clients[next]
		switch driver.Advance(c.at); c.on {
		case reads:
			c.version, c.on, c.at = version, writes, c.at.Add(delay()+delay())
		case writes:
			calls++
			if c.on = fails; c.version == version {
				version++
				c.on = succeeds
			}
			c.at = c.at.Add(delay())
		default:
			outcome := reducer.Fail
			if c.on == succeeds {
				outcome = reducer.OK
			}
			c.on = idle
			driver.Done(handles[next], drive.Result{Attempt: c.number, Outcome: outcome})
			start()
		}
	}
}

// retrying compiles a policy that has a retry with these settings.
func retrying(t *testing.T, settings string) *pipeline.Plan {
	t.Helper()
	doc, err := policy.Parse("theory.yaml", []byte("version: 1\npolicies: {p: {steps: [{retry: {attempts: 1000, "+settings+"}}]}}"))
	require.NoError(t, err)
	plan, err := pipeline.Compile(doc.Policies[0].Policy)
	require.NoError(t, err)
	return plan
}

// TestJitter compares the work of 50 contending clients with the model of the
// simulator behind the article: 5 ms base, 2 s cap, and an exponential backoff that
// begins with twice the base. The values are the means of 1,500 runs of a program in
// Python that was written after that simulator and shares nothing with this package.
func TestJitter(t *testing.T) {
	const runs = 60
	means := map[string]float64{}
	for _, c := range []struct {
		name, retry      string
		calls, completed float64
	}{
		{"no backoff", "backoff: none", 689.4, 1139},
		{"exponential", "backoff: {exponential: 10ms, max: 2s}, jitter: none", 623.0, 36465},
		{"equal", "backoff: {exponential: 10ms, max: 2s}, jitter: equal", 347.3, 4241},
		{"full", "backoff: {exponential: 10ms, max: 2s}, jitter: full", 332.5, 2881},
		{"decorrelated", "backoff: {decorrelated: 5ms, max: 2s}", 374.8, 2207},
	} {
		plan := retrying(t, c.retry)
		var calls, ends []float64
		for seed := range uint64(runs) {
			n, end := optimistic(plan, 50, seed+1)
			calls, ends = append(calls, float64(n)), append(ends, float64(end)/1e6)
		}
		work, time := estimateOf(calls), estimateOf(ends)
		assert.False(t, work.differs(c.calls) || work.vague(c.calls), "%s: calls %s", c.name, work.describe(c.calls))
		assert.InDelta(t, c.completed, time.mean, 4*time.err, "%s: ms %s", c.name, time.describe(c.completed))
		means[c.name] = work.mean
	}
	// The mutant: a backoff with another factor.
	var calls []float64
	for seed := range uint64(runs) {
		n, _ := optimistic(retrying(t, "backoff: {exponential: 10ms, factor: 3, max: 2s}, jitter: full"), 50, seed+1)
		calls = append(calls, float64(n))
	}
	assert.True(t, estimateOf(calls).differs(332.5))
	// The order of the work in that model: jitter saves about half of it, and full jitter
	// the most.
	assert.Less(t, means["full"], 0.55*means["exponential"])
	assert.Less(t, means["full"], means["equal"])
	assert.Less(t, means["equal"], means["decorrelated"])
	assert.Less(t, means["decorrelated"], means["exponential"])
	assert.Less(t, means["exponential"], means["no backoff"])
}

// TestContention lets users contend for one server without a queue, which answers all
// but one of those that come at once with a failure. Without jitter all of them come
// again at the same mark, and one of them succeeds each time: n (n+1) / 2 attempts in
// all. With jitter they spread.
//
// Source: as of optimistic.
func TestContention(t *testing.T) {
	const n = 50
	attempts := func(jitter string) uint64 {
		s := parse(t, fmt.Sprintf(`version: 1
			duration: 1h
			policies: {p: {steps: [{retry: {attempts: 1000, backoff: {exponential: 20ms, max: 2s}, jitter: %s}}]}}
			clients: [{name: web, to: api, policy: p, arrivals: {bursts: {size: %d, every: 2h}}}]
			services: [{name: api, queue: 0, time: 10ms}]`, jitter, n))
		r, err := sim.Run(s, sim.Options{})
		require.NoError(t, err)
		require.EqualValues(t, n, r.Clients[0].OK, jitter)
		return r.Clients[0].Attempts
	}
	assert.EqualValues(t, n*(n+1)/2, attempts("none"))
	assert.Less(t, attempts("full"), uint64(n*(n+1)/2/3))
	assert.Less(t, attempts("equal"), uint64(n*(n+1)/2/3))
}
