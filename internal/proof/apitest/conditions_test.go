package apitest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/policy"
)

// having makes a call with a key and attributes.
func having(p *sluice.Pipeline, key string, attributes map[string]string, fn func(context.Context) (int, error)) error {
	_, err := sluice.DoWith(context.Background(), p, sluice.Request{Key: key, Lookup: func(name string) string { return attributes[name] }}, fn)
	return err
}

// conditional returns the pipeline of a policy.
func conditional(t *testing.T, body string) *sluice.Pipeline {
	t.Helper()
	one, err := policy.ParseOne("policy.yaml", []byte(body))
	require.NoError(t, err)
	p, err := sluice.New(one.Policy)
	require.NoError(t, err)
	return p
}

// TestStepsOfSomeCalls: a step is not there for a call that its when does not match.
func TestStepsOfSomeCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := conditional(t, `steps:
  - timeout: {after: 1s, when: {key: hasty}}
  - retry: {attempts: 3, backoff: none, when: {not: {method: POST}}}
  - limit: {rate: 1/1h, when: {"header:plan": free}}
  - breaker: {window: {consecutive: 2}, open: 1m, when: {key: watched}}
  - bulkhead: {concurrent: 1, when: {key: placed}}`)
		j := listen(p)
		assert.Equal(t, errBoom, having(p, "", map[string]string{"method": "POST"}, func(context.Context) (int, error) { return 0, errBoom }))
		assert.Equal(t, []string{"0s admit 1", "0s end 1 fail"}, j.take(), "not retried, and refused by no limit")
		assert.Error(t, having(p, "watched", nil, func(context.Context) (int, error) { return 0, errBoom }))
		assert.Equal(t, []string{"0s admit 1", "0s retry 1 fail until 0s", "0s admit 2", "0s breaker open", "0s end 2 fail open"}, j.take())
		require.NoError(t, having(p, "", nil, takes(2*time.Second)), "neither cut nor refused by the open breaker")
		assert.ErrorIs(t, having(p, "watched", nil, ok), sluice.ErrRejected)
		assert.ErrorIs(t, having(p, "hasty", nil, takes(2*time.Second)), context.DeadlineExceeded)
		require.NoError(t, having(p, "", map[string]string{"header:plan": "free"}, ok))
		assert.ErrorIs(t, having(p, "", map[string]string{"header:plan": "free"}, ok), sluice.ErrRejected)
		j.take()
		var limits []sluice.LimitState
		assert.Empty(t, p.Limits(sluice.Request{}, limits), "no limit applies")
		assert.Len(t, p.Limits(sluice.Request{Lookup: func(string) string { return "free" }}, limits), 1)
	})
}

// TestClasses: a call takes from the limit of its class.
func TestClasses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := conditional(t, `steps: [{limit: {rate: 1/1h, class: "header:plan", rates: {free: 2/1h, pro: 3/1h}, per: key}}]`)
		for plan, most := range map[string]int{"free": 2, "pro": 3, "gold": 1, "": 1} {
			key, admitted, step := "k"+plan, 0, ""
			for range 5 {
				err := having(p, key, map[string]string{"header:plan": plan}, ok)
				var refused *sluice.RejectedError
				if errors.As(err, &refused) {
					step = refused.Step
				} else {
					admitted++
				}
			}
			assert.Equal(t, most, admitted, plan)
			assert.Equal(t, map[string]string{"free": "limit-free", "pro": "limit-pro", "gold": "limit", "": "limit"}[plan], step)
		}
	})
}

// TestAllowAndDeny: who is allowed passes every step, who is denied none.
func TestAllowAndDeny(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := conditional(t, `{allow: {key: admin}, deny: {ip: 192.0.2.0/24}, steps: [{bulkhead: {concurrent: 1}}, {limit: 1/1h}], fallback: {status: 503}}`)
		j := listen(p)
		require.NoError(t, do(p, ok))
		assert.ErrorIs(t, do(p, ok), sluice.ErrRejected)
		j.take()
		require.NoError(t, having(p, "admin", nil, ok))
		assert.Equal(t, []string{"0s admit 1 allowed", "0s end 1 ok"}, j.take())
		err := having(p, "admin", map[string]string{"ip": "192.0.2.1"}, ok)
		var refused *sluice.RejectedError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, []any{"deny", sluice.ReasonDenied}, []any{refused.Step, refused.Reason})
		after, told := refused.Delay()
		assert.True(t, told && after < 0, "no retry can help")
		assert.Equal(t, []string{"0s reject deny denied"}, j.take(), "without the fallback")
	})
}

// TestConditionsAreAskedOnce: a call has the steps that applied when it began, also where it
// leaves the fast path, and whatever its attributes say by then.
func TestConditionsAreAskedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := conditional(t, `steps:
  - retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}
  - bulkhead: {name: some, concurrent: 1, when: {"header:x-plan": free}}
  - limit: {rate: 3/1h}
  - timeout: {after: 5s, when: {"header:x-plan": [free, paid]}}`)
		j := listen(p)
		asked := 0
		call := func(fn func(context.Context) (int, error)) error {
			plans := []string{"paid", "paid", "free", "free"}
			asked = 0
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{Lookup: func(string) string { asked++; return plans[asked-1] }}, fn)
			return err
		}
		require.NoError(t, call(ok))
		assert.Equal(t, []string{"0s admit 1", "0s end 1 ok"}, j.take())
		assert.Equal(t, 2, asked, "once for each condition")
		assert.ErrorIs(t, call(takes(time.Hour)), context.DeadlineExceeded, "the timeout applies")
		assert.Equal(t, []string{"0s admit 1", "5s timeout 1 timeout", "5s retry 1 timeout until 6s", "6s admit 2", "11s timeout 2 timeout", "11s end 2 timeout attempts"}, j.take())
		assert.Equal(t, 2, asked)
		assert.Equal(t, "held 0/1", state(t, p, "some").Text)
		assert.ErrorIs(t, call(ok), sluice.ErrRejected, "the limit applies to all")
		assert.Equal(t, 2, asked)
	})
}

// TestConditionsOutliveSettings: allow and deny stay when the settings of a step change, by
// hand or by another policy that shares the mechanism.
func TestConditionsOutliveSettings(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set := sharing(t, `{m: {limit: 1/1h}}`, `{a: {allow: {key: admin}, deny: {key: eve}, steps: [{use: m}]}, b: {steps: [{use: m}]}}`)
		a := set.Pipeline("a")
		holds := func() {
			t.Helper()
			require.NoError(t, having(a, "admin", nil, ok))
			require.NoError(t, having(a, "admin", nil, ok))
			var refused *sluice.RejectedError
			require.ErrorAs(t, having(a, "eve", nil, ok), &refused)
			assert.Equal(t, sluice.ReasonDenied, refused.Reason)
		}
		holds()
		require.NoError(t, a.Step("m").Configure(sluice.LimiterConfig{Count: 2, Period: time.Hour}))
		holds()
		require.NoError(t, set.Pipeline("b").Step("m").Configure(sluice.LimiterConfig{Count: 3, Period: time.Hour}))
		assert.EqualValues(t, 3, a.Plan().Step(0).Config.(sluice.LimiterConfig).Count)
		holds()
	})
}

// TestShareOfCalls: the values of a share are enforced for, the others are in shadow.
func TestShareOfCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := conditional(t, `steps: [{limit: {rate: 1/1h, name: limit, enforce: {share: 50%, by: key}}}]`)
		require.NoError(t, do(p, ok))
		j := listen(p)
		for range 2 {
			require.NoError(t, having(p, "ada", nil, ok))
			assert.Equal(t, []string{"0s reject limit rate after 1h0m0s shadow", "0s admit 1", "0s end 1 ok"}, j.take())
			assert.ErrorIs(t, having(p, "bob", nil, ok), sluice.ErrRejected)
			assert.Equal(t, []string{"0s reject limit rate after 1h0m0s"}, j.take())
		}
		drawn := conditional(t, `steps: [{limit: {rate: 1/1h, enforce: 30%}}]`)
		require.NoError(t, do(drawn, ok))
		refused := 0
		for range 1_000 {
			if do(drawn, ok) != nil {
				refused++
			}
		}
		assert.InDelta(t, 300, refused, 60)
	})
}
