package apitest_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/reducer"
)

func TestMapResult(t *testing.T) {
	p := guarded(t, []string{"retry: {attempts: 2, backoff: none}"})
	attempts := 0
	text := func(n int, err error) (string, error) {
		attempts++
		if err != nil {
			return "", errors.New("mapped: " + err.Error())
		}
		return strconv.Itoa(n), nil
	}
	value, err := sluice.MapResult(sluice.Wrap(p, ok), text)(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "1", value)
	_, err = sluice.MapResult(sluice.Wrap(p, fails), text)(t.Context())
	require.EqualError(t, err, "mapped: sluice: p.retry: gave up after 2 attempts (attempts): boom")
	assert.Equal(t, 2, attempts, "once for each call")
	_, err = sluice.Wrap(p, sluice.MapResult(fails, text))(t.Context())
	require.ErrorContains(t, err, "gave up after 2 attempts (attempts): mapped: boom")
	assert.Equal(t, 4, attempts, "once for each attempt")
}

// text returns a fallback function with a value and an error of its own.
func text(value string, err error) func(context.Context, error) (string, error) {
	return func(context.Context, error) (string, error) { return value, err }
}

func TestOrElse(t *testing.T) {
	rejected := &sluice.RejectedError{Step: "limit", RetryAfter: time.Second}
	late := &sluice.TimeoutError{Step: "timeout"}
	byType := sluice.FallbackAs(func(_ context.Context, e *sluice.TimeoutError) (string, error) { return "late at " + e.Step, nil })
	cached := sluice.FallbackOn(sluice.ErrRejected, text("cached", nil))
	broken := sluice.FallbackOn(sluice.ErrRejected, text("half", io.ErrUnexpectedEOF))
	onEOF := sluice.FallbackIf(func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }, text("second", nil))
	for name, c := range map[string]struct {
		err   error
		chain []sluice.Fallback[string]
		value string
		want  error
	}{
		"success":                              {nil, []sluice.Fallback[string]{sluice.FallbackTo("none")}, "own", nil},
		"no chain":                             {errBoom, nil, "own", errBoom},
		"by target":                            {rejected, []sluice.Fallback[string]{byType, cached}, "cached", nil},
		"by type":                              {late, []sluice.Fallback[string]{cached, byType}, "late at timeout", nil},
		"by type, wrapped":                     {&sluice.RetryError{Err: late}, []sluice.Fallback[string]{byType}, "late at timeout", nil},
		"by a function":                        {io.ErrUnexpectedEOF, []sluice.Fallback[string]{cached, onEOF}, "second", nil},
		"any":                                  {errBoom, []sluice.Fallback[string]{cached, byType, sluice.FallbackTo("any")}, "any", nil},
		"the first wins":                       {rejected, []sluice.Fallback[string]{cached, sluice.FallbackTo("any")}, "cached", nil},
		"none matches":                         {errBoom, []sluice.Fallback[string]{cached, byType, {}}, "own", errBoom},
		"the chain goes on with the new error": {rejected, []sluice.Fallback[string]{broken, onEOF}, "second", nil},
		"and with the old one":                 {rejected, []sluice.Fallback[string]{broken, cached}, "cached", nil},
		"the last one fails":                   {rejected, []sluice.Fallback[string]{broken}, "half", &sluice.FallbackError{Err: io.ErrUnexpectedEOF, Replaced: rejected}},
	} {
		value, err := sluice.OrElse(t.Context(), "own", c.err, c.chain...)
		assert.Equal(t, c.value, value, name)
		assert.Equal(t, c.want, err, name)
	}
	failed := error(&sluice.FallbackError{Err: io.ErrUnexpectedEOF, Replaced: rejected})
	assert.EqualError(t, failed, "sluice: the fallback failed: unexpected EOF (in place of: sluice: limit: rejected: , retry after 1s)")
	require.ErrorIs(t, failed, sluice.ErrRejected)
	require.ErrorIs(t, failed, io.ErrUnexpectedEOF)
}

// TestFallbacksAndContexts checks that a caller that has cancelled gets its error, and one
// whose deadline has passed a value.
func TestFallbacksAndContexts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 1"})
		f := sluice.WrapFallback(sluice.Wrap(p, takes(time.Minute)), sluice.FallbackTo(7))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		value, err := f(ctx)
		require.NoError(t, err)
		assert.Equal(t, 7, value)
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		value, err = f(ctx)
		require.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, value)
	})
}

// TestFallbackOf uses the fallback of a policy document for functions.
func TestFallbackOf(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set, err := sluice.Parse("test.yaml", []byte(`
version: 1
policies:
  p: {steps: [limit: 4/1h, retry: {attempts: 1}, timeout: 1s], fallback: {status: 503, body: later}}
  none: {steps: [limit: 1/1h]}
`))
		require.NoError(t, err)
		answer := func(c sluice.FallbackConfig) (string, error) { return strconv.Itoa(c.Status) + " " + c.Body, nil }
		p := set.Pipeline("p")
		for _, c := range []struct {
			fn    func(context.Context) (string, error)
			value string
			err   error
		}{
			{func(context.Context) (string, error) { return "own", nil }, "own", nil},
			{func(context.Context) (string, error) { return "", errBoom }, "503 later", nil},
			{func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }, "503 later", nil},
			{func(context.Context) (string, error) { return "", sluice.Ignore(errBoom) }, "", errBoom},
			{func(context.Context) (string, error) { t.Error("fn runs"); return "", nil }, "503 later", nil},
		} {
			value, err := sluice.WrapFallback(sluice.Wrap(p, c.fn), sluice.FallbackOf(p, answer))(t.Context())
			require.ErrorIs(t, err, c.err)
			assert.Equal(t, c.value, value)
		}
		// What an inner policy ends with is an outcome of the attempt, and a call that is denied has no fallback.
		inner := guarded(t, []string{"retry: {attempts: 1}"}, sluice.WithClassifyResult(func(string, any, error) reducer.Outcome { return reducer.Fail }))
		around, err := sluice.New(sluice.Policy{Name: "around", Steps: p.Plan().Policy().Steps[1:], Fallback: p.Fallback(),
			Deny: condition.Condition{{All: []condition.Entry{{Attribute: "key", Values: []string{"a"}}}}}})
		require.NoError(t, err)
		ignored := sluice.Wrap(inner, func(context.Context) (string, error) { return "", sluice.Ignore(errBoom) })
		_, err = sluice.WrapFallback(sluice.Wrap(around, ignored), sluice.FallbackOf(around, answer))(t.Context())
		require.ErrorIs(t, err, errBoom)
		_, err = sluice.WrapFallback(sluice.WrapWith(around, sluice.Request{Key: "a"}, ignored), sluice.FallbackOf(around, answer))(t.Context())
		require.ErrorIs(t, err, sluice.ErrRejected)
		none := set.Pipeline("none")
		f := sluice.WrapFallback(sluice.WrapWith(none, sluice.Request{Cost: 2}, func(context.Context) (string, error) { return "", nil }), sluice.FallbackOf(none, answer))
		_, err = f(t.Context())
		require.ErrorIs(t, err, sluice.ErrRejected)
		missing := set.Pipeline("typo")
		_, err = sluice.WrapFallback(sluice.Wrap(missing, func(context.Context) (string, error) { return "", nil }), sluice.FallbackOf(missing, answer))(t.Context())
		require.Equal(t, missing.Err(), err)
	})
}
