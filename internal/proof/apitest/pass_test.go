package apitest_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
)

// TestPolicyWithoutSteps runs calls by a policy without steps: each is admitted, and ends as its
// function does. A reload gives it steps, and takes them away again.
func TestPolicyWithoutSteps(t *testing.T) {
	const passing = "version: 1\npolicies: {p: {pass: true}}"
	set, err := sluice.Parse("test.yaml", []byte(passing))
	require.NoError(t, err)
	p := set.Pipeline("p")
	j := listen(p)
	failed := errors.New("failed")
	for range 3 {
		value, err := sluice.Do(t.Context(), p, func(context.Context) (int, error) { return 5, nil })
		require.NoError(t, err)
		assert.Equal(t, 5, value)
		_, err = sluice.Do(t.Context(), p, func(context.Context) (int, error) { return 0, failed })
		assert.Equal(t, failed, err)
	}
	assert.Len(t, j.all(), 12, "admit, end")
	assert.Empty(t, p.State())
	var out bytes.Buffer
	tr, err := p.Trace(sluice.TraceOptions{Writer: &out})
	require.NoError(t, err)
	require.NoError(t, tr.Stop())
	assert.Contains(t, out.String(), `"body":{"pass":true}`)
	call, err := p.Begin(t.Context(), sluice.Request{Key: "k", Cost: 1 << 20})
	require.NoError(t, err)

	require.NoError(t, set.Reload("test.yaml", []byte("version: 1\npolicies: {p: {steps: [limit: 1/1h]}}")))
	_, err = sluice.Do(t.Context(), p, func(context.Context) (int, error) { return 0, nil })
	require.NoError(t, err)
	_, err = sluice.Do(t.Context(), p, func(context.Context) (int, error) { return 0, nil })
	var refused *sluice.RejectedError
	assert.ErrorAs(t, err, &refused)
	call.Done(reducer.OK)

	require.NoError(t, set.Reload("test.yaml", []byte(passing)))
	_, err = sluice.Do(t.Context(), p, func(context.Context) (int, error) { return 0, nil })
	assert.NoError(t, err)

	_, err = sluice.New(sluice.Policy{})
	assert.EqualError(t, err, "steps: a policy has 1 to 16 steps, or Pass")
	_, err = sluice.New(sluice.Policy{Pass: true})
	assert.NoError(t, err)
}

// TestPoliciesThatExtendAnother have steps with states of their own, and keep them when the
// document is written in another way.
func TestPoliciesThatExtendAnother(t *testing.T) {
	set, err := sluice.Parse("test.yaml", []byte(`version: 1
defaults: {limit: {algorithm: fixed-window}}
policies:
  a: {steps: [limit: 2/1h]}
  b: {extends: a, change: [limit: 1/1h]}
`))
	require.NoError(t, err)
	run := func(name string) error {
		_, err := sluice.Do(t.Context(), set.Pipeline(name), func(context.Context) (int, error) { return 0, nil })
		return err
	}
	require.NoError(t, run("a"))
	require.NoError(t, run("b"))
	require.Error(t, run("b"))
	require.NoError(t, set.Reload("test.yaml", []byte(`version: 1
policies:
  a: {steps: [limit: {rate: 2/1h, algorithm: fixed-window}]}
  b: {steps: [limit: {rate: 1/1h, algorithm: fixed-window}]}
`)))
	require.NoError(t, run("a"))
	require.Error(t, run("a"))
	require.Error(t, run("b"))
}
