package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
)

// live is a run in which code outside makes the calls.
type live struct {
	*engine.Live
	calls []*engine.LiveCall
	given int
}

func newLive(t *testing.T, text string) *live {
	t.Helper()
	s, err := sim.Parse("live.yaml", []byte(text), nil)
	require.NoError(t, err)
	l := &live{}
	l.Live = engine.NewLive(s, engine.Options{}, func(c *engine.LiveCall) {
		c.GiveUp = func() { l.given++ }
		l.calls = append(l.calls, c)
	})
	return l
}

// until lets events happen until a mark.
func (l *live) until(t *testing.T, at time.Duration) {
	t.Helper()
	for l.Next() <= clock.Mark(at) {
		require.NoError(t, l.Step())
	}
	l.Advance(clock.Mark(at))
}

// TestLive goes through a run by hand: a call of two attempts, one that is given up, one
// that a step refuses, one whose client loses its patience, and one without an end.
func TestLive(t *testing.T) {
	l := newLive(t, `version: 1
duration: 6s
clients:
  - {name: web, to: vendor, key: only, arrivals: {constant: 1/s}, patience: 500ms}
services:
  - {name: vendor, time: 100ms, cache: {hit: 10ms}, faults: [{at: 0s, for: 50ms, fail: 100%}, {at: 100ms, for: 1ms, throttle: 100%, retry_after: 2s}]}
`)
	var answers []engine.LiveAnswer
	ask := func(c *engine.LiveCall) *engine.LiveRequest {
		return l.Request(0, c, func(a engine.LiveAnswer) { answers = append(answers, a) })
	}
	l.until(t, 0)
	require.Len(t, l.calls, 1)
	first := l.calls[0]
	assert.Equal(t, "only", first.Key)
	ask(first)
	l.until(t, 200*time.Millisecond)
	assert.Equal(t, []engine.LiveAnswer{{Outcome: reducer.Throttle, RetryAfter: 2 * time.Second}}, answers)
	ask(first)
	l.until(t, 300*time.Millisecond)
	assert.Equal(t, engine.LiveAnswer{Outcome: reducer.OK, RetryAfter: -1}, answers[1])
	l.End(first, engine.LiveEnd{Outcome: reducer.OK})
	l.End(first, engine.LiveEnd{Outcome: reducer.Fail}) // it is over

	l.until(t, time.Second)
	request := ask(l.calls[1]) // a hit: 10ms
	l.until(t, time.Second+5*time.Millisecond)
	l.GiveUp(request)
	l.GiveUp(request)
	l.End(l.calls[1], engine.LiveEnd{Outcome: reducer.Timeout})

	l.until(t, 2*time.Second)
	l.End(l.calls[2], engine.LiveEnd{Refused: true, Step: "limit", Reason: reducer.ReasonRate})
	ask(l.calls[2]) // of no call that goes on

	l.until(t, 3*time.Second+500*time.Millisecond)
	assert.Equal(t, 1, l.given)
	l.End(l.calls[3], engine.LiveEnd{Outcome: reducer.Fail})
	l.until(t, 4*time.Second)
	ask(nil)
	l.End(l.calls[4], engine.LiveEnd{Refused: true, Step: "breaker", Reason: reducer.ReasonOpen})
	l.until(t, 5*time.Second+400*time.Millisecond)

	r := l.Finish()
	c := r.Client("web")
	assert.Equal(t, engine.ClientResult{
		Name: "web", Verdict: c.Verdict, Calls: 6, OK: 1, Failed: 2, Refused: 2, Unfinished: 1, Attempts: 4,
		Refusals: []engine.Refusal{{Step: "limit", Reason: "rate", Calls: 1}, {Step: "breaker", Reason: "open", Calls: 1}},
		Latency:  c.Latency, Goodput: 1.0 / 6, Amplification: 4.0 / 6, Fairness: 1, Recovery: c.Recovery,
		Worst: engine.Worst{Number: 1, Latency: 300 * time.Millisecond, Attempts: 2},
	}, *c)
	service := r.Service("vendor")
	assert.EqualValues(t, 5, service.Arrived)
	assert.EqualValues(t, 5, service.Served)
	assert.EqualValues(t, 1, service.Wasted)
	assert.Len(t, answers, 4)
}

// TestLiveTimeStandsStill has users who call again at once.
func TestLiveTimeStandsStill(t *testing.T) {
	l := newLive(t, "version: 1\nduration: 6s\nclients: [{name: web, to: vendor, arrivals: {closed: {users: 1, think: 0s}}}]\n"+
		"services: [{name: vendor, time: 100ms}]\n")
	for {
		if err := l.Step(); err != nil {
			assert.ErrorContains(t, err, "time stands still")
			return
		}
		l.End(l.calls[0], engine.LiveEnd{Outcome: reducer.OK})
		l.calls = l.calls[:0]
	}
}
