package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

// byHand writes down what operators did, and the changes of breakers.
func byHand(p *sluice.Pipeline) *[]string {
	var lines []string
	p.Listen(func(e sluice.Event) {
		switch e.Kind {
		case sluice.EventManual:
			text := e.Action + " " + e.Step
			if e.Key != "" {
				text += " key " + e.Key
			}
			if e.Wait > 0 {
				text += " for " + e.Wait.String()
			}
			lines = append(lines, text+" by "+e.By+" because "+e.Why)
		case sluice.EventChange:
			lines = append(lines, e.Step+" is "+e.Mode.String()+" by "+e.By+" because "+e.Why)
		}
	})
	return &lines
}

func TestHandleOfABreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"breaker: {window: {consecutive: 1}, open: 10s, probes: 1}"})
		lines := byHand(p)
		h := p.Step("breaker").By("ann", "deploy")
		require.NoError(t, h.Transition(breaker.ForcedOpen))
		var rejected *sluice.RejectedError
		require.ErrorAs(t, keyed(p, ""), &rejected)
		assert.Equal(t, sluice.ReasonOpen, rejected.Reason)
		assert.Negative(t, rejected.RetryAfter)
		require.NoError(t, h.Transition(breaker.ForcedOpen), "no change")
		require.NoError(t, h.OpenFor(time.Minute))
		s, err := h.State()
		require.NoError(t, err)
		assert.Equal(t, breaker.Open, s.Mode)
		assert.Equal(t, time.Minute, s.Left)
		assert.True(t, s.Own)
		assert.Contains(t, s.Text, "open")
		time.Sleep(time.Minute)
		require.NoError(t, keyed(p, ""), "the probe closes it")
		require.NoError(t, h.Transition(breaker.Open))
		time.Sleep(4 * time.Second)
		s, err = h.State()
		require.NoError(t, err)
		assert.Equal(t, 6*time.Second, s.Left, "the open time of the configuration")
		time.Sleep(7 * time.Second)
		require.NoError(t, h.By("bob", "").Reset())
		require.NoError(t, keyed(p, ""))
		assert.Equal(t, []string{
			"breaker is forced-open by ann because deploy", "transition breaker by ann because deploy",
			"transition breaker by ann because deploy",
			"breaker is open by ann because deploy", "transition breaker by ann because deploy",
			"breaker is half-open by  because ", "breaker is closed by  because ",
			"breaker is open by ann because deploy", "transition breaker by ann because deploy",
			"breaker is half-open by  because ", "breaker is closed by bob because ", "reset breaker by bob because ",
		}, *lines)
	})
}

func TestHandleOfALimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"timeout: 1h", "limit: {rate: 2/10s}"})
		lines := byHand(p)
		h := p.Step("limit").By("ann", "")
		s, err := h.State()
		require.NoError(t, err)
		assert.EqualValues(t, 2, s.Free)
		require.NoError(t, h.Drain())
		s, err = h.State()
		require.NoError(t, err)
		assert.Zero(t, s.Free)
		assert.Equal(t, 5*time.Second, s.Next)
		require.ErrorIs(t, keyed(p, ""), sluice.ErrRejected)
		require.NoError(t, h.Reset())
		require.NoError(t, keyed(p, ""))
		require.NoError(t, keyed(p, ""))
		require.ErrorIs(t, keyed(p, ""), sluice.ErrRejected)
		require.NoError(t, h.Configure(sluice.LimiterConfig{Count: 100, Period: time.Second}))
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, keyed(p, ""), "a permit each 10 ms")
		s, err = h.State()
		require.NoError(t, err)
		assert.EqualValues(t, 100, s.Config.(sluice.LimiterConfig).Count)
		assert.Equal(t, time.Hour, p.Plan().Step(0).Config.(sluice.TimeoutConfig).After, "the other step stays")
		assert.Equal(t, "limit", p.Plan().StepName(1))
		assert.Equal(t, []string{"drain limit by ann because ", "reset limit by ann because ", "configure limit by ann because "}, *lines)
	})
}

// TestReloadUndoesConfigure puts the settings of the document back.
func TestReloadUndoesConfigure(t *testing.T) {
	src := document("bulkhead: {concurrent: 1}")
	set, err := sluice.Parse("test.yaml", src)
	require.NoError(t, err)
	h := set.Pipeline("p").Step("bulkhead")
	require.NoError(t, h.Configure(sluice.BulkheadConfig{Concurrent: 7}))
	s, err := h.State()
	require.NoError(t, err)
	assert.EqualValues(t, 7, s.Free)
	require.NoError(t, set.Reload("test.yaml", src))
	s, err = h.State()
	require.NoError(t, err)
	assert.EqualValues(t, 1, s.Free)
}

// ways are policies in which a call takes each of the ways to the cell of a key.
var ways = map[string][]string{
	"fast path":   {"limit: {rate: 1/1h, per: key}"},
	"queue":       {"limit: {rate: 1/1h, per: key, wait: 1ms, queue: 1}"},
	"behind":      {"bulkhead: 5", "limit: {rate: 1/1h, per: key}"},
	"retry":       {"retry: {attempts: 2, backoff: none}", "limit: {rate: 1/1h, per: key}"},
	"hedge":       {"hedge: {max: 1, after: 1h}", "limit: {rate: 1/1h, per: key}"},
	"no cell yet": {"limit: {rate: 1/1h, per: key, keys: 1, when_full: share}"},
}

func TestBlock(t *testing.T) {
	for way, steps := range ways {
		t.Run(way, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := guarded(t, steps)
				lines := byHand(p)
				h := p.Step("limit").By("ann", "abuse").Key("bad")
				require.NoError(t, h.Block(time.Minute))
				for range 3 {
					var rejected *sluice.RejectedError
					require.ErrorAs(t, keyed(p, "bad"), &rejected)
					assert.Equal(t, sluice.ReasonBlocked, rejected.Reason)
					assert.Equal(t, "limit", rejected.Step)
				}
				_, err := p.Begin(t.Context(), sluice.Request{Key: "bad"})
				var held *sluice.RejectedError
				require.ErrorAs(t, err, &held, "in two phases")
				assert.Equal(t, sluice.ReasonBlocked, held.Reason)
				require.NoError(t, keyed(p, "good"), "another key")
				limits := p.Limits(sluice.Request{Key: "bad"}, nil)
				assert.Zero(t, limits[0].Free)
				assert.Equal(t, time.Minute, limits[0].Next)
				time.Sleep(20 * time.Second)
				var rejected *sluice.RejectedError
				require.ErrorAs(t, keyed(p, "bad"), &rejected)
				assert.Equal(t, 40*time.Second, rejected.RetryAfter)
				s, err := h.State()
				require.NoError(t, err)
				assert.Equal(t, 40*time.Second, s.Blocked)
				all, err := p.Step("limit").Blocked()
				require.NoError(t, err)
				assert.Equal(t, []sluice.BlockedKey{{Key: "bad", Values: []string{"bad"}, Left: 40 * time.Second}}, all)
				time.Sleep(40 * time.Second)
				require.NoError(t, keyed(p, "bad"), "the block took no permit, and is over at its mark")
				require.ErrorIs(t, h.Unblock(), sluice.ErrUnknownKey)
				require.NoError(t, h.Block(time.Hour))
				require.NoError(t, h.Unblock())
				require.ErrorAs(t, keyed(p, "bad"), &rejected)
				assert.NotEqual(t, sluice.ReasonBlocked, rejected.Reason)
				assert.Equal(t, []string{
					"block limit key bad for 1m0s by ann because abuse", "block limit key bad for 1h0m0s by ann because abuse",
					"unblock limit key bad by ann because abuse",
				}, *lines)
			})
		})
	}
}

// TestBlockInShadow reports and refuses nothing.
func TestBlockInShadow(t *testing.T) {
	p := guarded(t, []string{"limit: {rate: 5/1h, per: key, shadow: true}"})
	var reasons []sluice.Reason
	p.Listen(func(e sluice.Event) {
		if e.Kind == sluice.EventReject && e.Shadow {
			reasons = append(reasons, e.Reason)
		}
	})
	require.NoError(t, p.Step("limit").Key("bad").Block(time.Hour))
	require.NoError(t, keyed(p, "bad"))
	assert.Equal(t, []sluice.Reason{sluice.ReasonBlocked}, reasons)
}

func TestForgiveAndForget(t *testing.T) {
	p := guarded(t, []string{"limit: {rate: 1/1h, per: [key, ip]}", "breaker: {window: {consecutive: 1}, open: 1h, per: key}", "bulkhead: {concurrent: 1, per: key}"})
	call := func() error {
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "a", Lookup: func(string) string { return "" }}, ok)
		return err
	}
	limit, circuit, places := p.Step("limit").Key("a", ""), p.Step("breaker").Key("a"), p.Step("bulkhead").Key("a")
	require.ErrorIs(t, limit.Forget(), sluice.ErrUnknownKey)
	require.NoError(t, limit.Forgive(), "an unknown key")
	require.NoError(t, call())
	require.ErrorIs(t, call(), sluice.ErrRejected)
	require.NoError(t, limit.Block(time.Hour))
	all, err := limit.Blocked()
	require.NoError(t, err)
	assert.Equal(t, []string{"a", ""}, all[0].Values)
	require.NoError(t, limit.Forgive())
	require.NoError(t, call())
	s, err := limit.State()
	require.NoError(t, err)
	assert.True(t, s.Own)
	require.NoError(t, limit.Forget())
	assert.Zero(t, state(t, p, "limit").Keys)
	s, err = limit.State()
	require.NoError(t, err)
	assert.False(t, s.Own)
	assert.EqualValues(t, 1, s.Free)

	require.NoError(t, circuit.Transition(breaker.ForcedOpen))
	require.ErrorIs(t, call(), sluice.ErrRejected)
	require.NoError(t, circuit.Forget())
	require.NoError(t, p.Step("limit").Reset(), "all keys")
	require.NoError(t, call())

	require.NoError(t, p.Step("limit").Reset())
	session, err := p.Begin(t.Context(), sluice.Request{Key: "a", Lookup: func(string) string { return "" }})
	require.NoError(t, err)
	require.ErrorIs(t, places.Forget(), sluice.ErrInUse)
	require.NoError(t, places.Reset())
	s, err = places.State()
	require.NoError(t, err)
	assert.EqualValues(t, 1, s.Free, "the call no longer counts")
	session.Done(reducer.OK)
	session.Release()
	s, err = places.State()
	require.NoError(t, err)
	assert.EqualValues(t, 1, s.Free, "its place is not given back twice")
}

func TestHandleErrors(t *testing.T) {
	p := guarded(t, []string{
		"timeout: 1s", "retry: {attempts: 2}", "breaker: {window: {consecutive: 1}}", "limit: {rate: 1/1h, per: key, keys: 1, when_full: share}", "bulkhead: 1", "adaptive: {}",
	})
	require.NoError(t, keyed(p, "own"))
	step := p.Step
	for want, err := range map[string]error{
		"sluice: p.brake: reset: the policy has no such step; it has timeout, retry, breaker, limit, bulkhead, adaptive": step("brake").Reset(),
		"sluice: p.adaptive: drain: the mechanism cannot do it: the mechanism is adaptive":                               step("adaptive").Drain(),
		"sluice: p.timeout: reset: the mechanism cannot do it: the mechanism is timeout":                                 step("timeout").Reset(),
		"sluice: p.limit: transition: the mechanism cannot do it: the mechanism is limit":                                step("limit").Key("own").Transition(breaker.Open),
		"sluice: p.bulkhead: drain: the mechanism cannot do it: the mechanism is bulkhead":                               step("bulkhead").Drain(),
		"sluice: p.limit: drain: the step has a cell for each key; the action needs a key":                               step("limit").Drain(),
		"sluice: p.limit: forget: the step has a cell for each key; the action needs a key":                              step("limit").Forget(),
		"sluice: p.breaker: block: the step has one cell for all calls, and no keys":                                     step("breaker").Block(time.Second),
		"sluice: p.breaker: reset: the step has one cell for all calls, and no keys ":                                    step("breaker").Key("x").Reset(),
		"sluice: p.limit: reset: a key has one value for each attribute of per, key; found 2":                            step("limit").Key("a", "b").Reset(),
		"sluice: p.limit: forgive: the key shares its cell with other keys":                                              step("limit").Key("other").Forgive(),
		"sluice: p.limit: drain: the key shares its cell with other keys":                                                step("limit").Key("other").Drain(),
		"sluice: p.limit: block: the value is not allowed: found 0s; allowed: more than 0":                               step("limit").Key("other").Block(0),
		"sluice: p.breaker: transition: the value is not allowed: there is no mode 9":                                    step("breaker").Transition(9),
		"sluice: p.breaker: transition: the value is not allowed: found -1s; allowed: more than 0":                       step("breaker").OpenFor(-time.Second),
		"sluice: p.limit: configure: the mechanism cannot do it: the mechanism is limit":                                 step("limit").Configure(sluice.BreakerConfig{}),
		"sluice: p.limit: configure: the mechanism cannot do it for a key: all keys have one configuration":              step("limit").Key("own").Configure(sluice.LimiterConfig{}),
	} {
		var handle *sluice.HandleError
		require.ErrorAs(t, err, &handle, want)
		assert.Equal(t, trimmed(want), err.Error())
	}
	err := step("limit").Configure(sluice.LimiterConfig{Period: time.Second})
	require.ErrorContains(t, err, "count")
	_, err = step("limit").State()
	require.ErrorIs(t, err, sluice.ErrKeyNeeded)
	s, err := step("timeout").State()
	require.NoError(t, err)
	assert.Equal(t, time.Second, s.Config.(sluice.TimeoutConfig).After)
	var none *sluice.Pipeline
	require.ErrorAs(t, none.Step("x").Reset(), new(*sluice.UnknownPolicyError))
	require.ErrorAs(t, none.Step("x").OpenFor(time.Second), new(*sluice.UnknownPolicyError))
}

// trimmed removes the space that distinguishes two keys of a map.
func trimmed(text string) string {
	if n := len(text) - 1; text[n] == ' ' {
		return text[:n]
	}
	return text
}

// TestMaxBlocks refuses one more block than there may be, and forgets those that are over.
func TestMaxBlocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"limit: {rate: 1/1h, per: key}"})
		for i := range sluice.MaxBlocks {
			require.NoError(t, p.Step("limit").Key(fmt.Sprint(i)).Block(time.Minute))
		}
		require.ErrorIs(t, p.Step("limit").Key("new").Block(time.Minute), sluice.ErrTooManyBlocks)
		require.NoError(t, p.Step("limit").Key("7").Block(time.Hour), "a longer block of a known key")
		time.Sleep(time.Minute)
		require.NoError(t, p.Step("limit").Key("new").Block(time.Minute))
		all, err := p.Step("limit").Blocked()
		require.NoError(t, err)
		assert.Len(t, all, 2)
	})
}

// modelKey is what a naive reading of Handle knows about a key.
type modelKey struct {
	blocked time.Time
	used    bool // its one permit of the day
}

// TestHandlesAndModel has random calls and operators at random keys, beside a model of
// a limit of one permit for ever.
func TestHandlesAndModel(t *testing.T) {
	const seed = 15
	for round := range uint64(20) {
		bubble(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, round))
			p := guarded(t, ways[[]string{"fast path", "behind", "hedge", "retry"}[round%4]])
			model := map[string]*modelKey{}
			for step := range 300 {
				key := string(rune('a' + rng.IntN(4)))
				m := model[key]
				if m == nil {
					m = &modelKey{}
					model[key] = m
				}
				h := p.Step("limit").Key(key)
				blocked := time.Now().Before(m.blocked)
				at := fmt.Sprintf("seed %d, round %d, step %d, key %s", seed, round, step, key)
				switch op := rng.IntN(10); op {
				case 0:
					d := time.Duration(1+rng.IntN(5)) * time.Second
					require.NoError(t, h.Block(d), at)
					m.blocked = time.Now().Add(d)
				case 1:
					assert.Equal(t, blocked, h.Unblock() == nil, at)
					m.blocked = time.Time{}
				case 2:
					require.NoError(t, h.Forgive(), at)
					*m = modelKey{}
				case 3:
					require.NoError(t, h.Reset(), at)
					m.used = false
				case 4:
					require.NoError(t, h.Drain(), at)
					m.used = true
				case 5:
					// Whether there is a cell the model does not know.
					if err := h.Forget(); !errors.Is(err, sluice.ErrUnknownKey) {
						require.NoError(t, err, at)
					}
					m.used = false
				case 6:
					time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
				default:
					err := keyed(p, key)
					var rejected *sluice.RejectedError
					switch {
					case blocked:
						require.ErrorAs(t, err, &rejected, at)
						assert.Equal(t, sluice.ReasonBlocked, rejected.Reason, at)
						assert.Equal(t, time.Until(m.blocked), rejected.RetryAfter, at)
					case m.used:
						require.ErrorAs(t, err, &rejected, at)
						assert.Equal(t, sluice.ReasonRate, rejected.Reason, at)
					default:
						require.NoError(t, err, at)
						m.used = true
					}
				}
			}
		})
	}
}

// TestOperatorsBesideCalls has operators change all that calls use. The race detector
// checks it; in the end nothing is held.
func TestOperatorsBesideCalls(t *testing.T) {
	p := guarded(t, []string{
		"breaker: {window: {consecutive: 3}, open: 1ms, probes: 1, per: key}", "limit: {rate: 1000000/1s, per: key, keys: 4}",
		"bulkhead: {concurrent: 2, queue: 4, wait: 1s, per: key}",
	})
	p.Listen(func(sluice.Event) {})
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			for range 300 {
				key := string(rune('a' + rng.IntN(6)))
				_, _ = sluice.DoWith(context.Background(), p, sluice.Request{Key: key}, func(context.Context) (int, error) {
					if rng.IntN(4) == 0 {
						return 0, errBoom
					}
					return 1, nil
				})
			}
		})
		group.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(n)))
			for range 200 {
				key := string(rune('a' + rng.IntN(6)))
				h := p.Step([]string{"breaker", "limit", "bulkhead"}[rng.IntN(3)])
				do := []func() error{
					h.Key(key).Forget, h.Key(key).Forgive, h.Key(key).Unblock, h.Key(key).Reset, h.Reset,
					func() error { return h.Key(key).Block(time.Microsecond) },
					func() error { return p.Step("breaker").Key(key).Transition(breaker.Mode(rng.IntN(6))) },
					func() error { return p.Step("limit").Key(key).Drain() },
					func() error {
						return p.Step("bulkhead").Configure(sluice.BulkheadConfig{Concurrent: 1 + uint32(rng.IntN(3)), Queue: 4, Wait: time.Second})
					},
					func() error { _, err := h.Key(key).State(); return err },
				}
				if err := do[rng.IntN(len(do))](); err != nil && !errors.As(err, new(*sluice.HandleError)) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	require.NoError(t, p.Step("bulkhead").Reset())
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		require.NoError(t, p.Step("breaker").Key(key).Reset())
		require.NoError(t, p.Step("limit").Key(key).Forgive())
		for _, step := range []string{"breaker", "bulkhead"} {
			if err := p.Step(step).Key(key).Unblock(); err != nil {
				require.ErrorIs(t, err, sluice.ErrUnknownKey)
			}
		}
		require.NoError(t, keyed(p, key))
	}
}

// TestHandleServesTheQueue has a configuration by hand serve those who wait, and a reset
// refuse them.
func TestHandleServesTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, queue: 5, wait: 1h}"})
		first, err := p.Begin(t.Context(), sluice.Request{})
		require.NoError(t, err)
		answers := make(chan error, 2)
		for range 2 {
			go func() { answers <- keyed(p, "") }()
		}
		synctest.Wait()
		s, err := p.Step("bulkhead").State()
		require.NoError(t, err)
		assert.Equal(t, 2, s.Waiting)
		require.NoError(t, p.Step("bulkhead").Configure(sluice.BulkheadConfig{Concurrent: 3}))
		require.NoError(t, <-answers)
		require.NoError(t, <-answers)
		require.NoError(t, p.Step("bulkhead").Configure(sluice.BulkheadConfig{Concurrent: 1, Queue: 5, Wait: time.Hour}))
		go func() { answers <- keyed(p, "") }()
		synctest.Wait()
		require.NoError(t, p.Step("bulkhead").Reset())
		var rejected *sluice.RejectedError
		require.ErrorAs(t, <-answers, &rejected)
		assert.Equal(t, sluice.ReasonFull, rejected.Reason)
		first.Done(reducer.OK)
		first.Release()
	})
}

// Texts of changes by hand say what was done, who did it and why.
func TestHandleTexts(t *testing.T) {
	for want, e := range map[string]sluice.Event{
		"p.breaker: by hand: transition to open by ann: incident 7": {Policy: "p", Step: "breaker", Kind: sluice.EventManual, Action: sluice.ActionTransition, Mode: breaker.Open, By: "ann", Why: "incident 7"},
		"p.limit[red]: by hand: block for 1m0s":                     {Policy: "p", Step: "limit", Key: "red", Kind: sluice.EventManual, Action: sluice.ActionBlock, Wait: time.Minute},
	} {
		assert.Equal(t, want, e.String())
	}
}

// TestConfigureKeepsThePolicy changes a step of a policy that has all that a policy has.
func TestConfigureKeepsThePolicy(t *testing.T) {
	call := func(p *sluice.Pipeline, key string) error {
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: key}, ok)
		return err
	}
	set, err := sluice.Parse("test.yaml", []byte(`
version: 1
mechanisms: {m: {bulkhead: 5}}
policies:
  a: {allow: {key: admin}, deny: {key: spam}, steps: [{limit: 1/1h}, {use: m}], fallback: {status: 599}}
  b: {steps: [{use: m}]}
`))
	require.NoError(t, err)
	a := set.Pipeline("a")
	before := a.Plan().Policy()
	require.NoError(t, a.Step("limit").Configure(sluice.LimiterConfig{Count: 1, Period: 2 * time.Hour}))
	require.NoError(t, set.Pipeline("b").Step("m").Configure(sluice.BulkheadConfig{Concurrent: 7}), "a takes it over")
	after := a.Plan().Policy()
	assert.Equal(t, sluice.BulkheadConfig{Concurrent: 7}, after.Steps[1].Config)
	before.Steps, after.Steps = nil, nil
	assert.Equal(t, before, after)
	var rejected *sluice.RejectedError
	require.ErrorAs(t, call(a, "spam"), &rejected)
	assert.Equal(t, sluice.ReasonDenied, rejected.Reason)
	require.NoError(t, call(a, "someone"))
	require.NoError(t, call(a, "admin"))
	require.ErrorIs(t, call(a, "someone"), sluice.ErrRejected)
}
