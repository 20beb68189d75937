package apitest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
)

// answer is a value that its function returns without an error.
type answer struct {
	code  int
	after time.Duration
}

// RetryAfter implements sluice.RetryAfterer.
func (a answer) RetryAfter() (time.Duration, bool) { return a.after, a.after > 0 }

// answers returns a function that returns one answer after the other.
func answers(all ...answer) func(context.Context) (answer, error) {
	return func(context.Context) (answer, error) {
		next := all[0]
		all = all[1:]
		return next, nil
	}
}

// byCode classifies answers as a client of HTTP may do: the breaker named strict counts
// throttling as a failure, and the one named lenient counts nothing but 500.
var byCode = sluice.ClassifyAs(func(step string, a answer, err error) reducer.Outcome {
	switch {
	case err != nil:
		return 0
	case step == "strict" && a.code == 429:
		return reducer.Fail
	case step == "lenient" && a.code != 500:
		return reducer.OK
	case a.code == 429:
		return reducer.Throttle
	case a.code >= 500:
		return reducer.Fail
	case a.code >= 400:
		return reducer.Ignore
	}
	return 0
})

var classified = []string{
	"retry: {attempts: 3, backoff: {constant: 1s}, jitter: none}",
	"breaker: {name: strict, window: {calls: 10}, minimum: 10}",
	"breaker: {name: lenient, window: {calls: 10}, minimum: 10}",
	"breaker: {name: plain, window: {calls: 10}, minimum: 10}",
}

// TestClassifyResultByStep checks what each step counts and what the retry does, with the
// option and with the request.
func TestClassifyResultByStep(t *testing.T) {
	for name, c := range map[string]struct {
		answers                []answer
		events                 []string
		strict, lenient, plain string
		err                    string
	}{
		"ok": {[]answer{{code: 200}}, []string{"0s admit 1", "0s end 1 ok"}, "0/1", "0/1", "0/1", ""},
		"retried": {
			[]answer{{code: 503}, {code: 500}, {code: 200}},
			[]string{"0s admit 1", "0s retry 1 fail until 1s", "1s admit 2", "1s retry 2 fail until 2s", "2s admit 3", "2s end 3 ok"},
			"2/3", "1/3", "2/3", "",
		},
		"throttled, with a retry delay": {
			[]answer{{429, 5 * time.Second}, {code: 200}},
			[]string{"0s admit 1", "0s retry 1 throttle until 5s", "5s admit 2", "5s end 2 ok"},
			"1/2", "0/2", "0/1", "",
		},
		"ignored": {[]answer{{code: 404}}, []string{"0s admit 1", "0s end 1 ignore"}, "0/0", "0/1", "0/0", ""},
		"exhausted": {
			[]answer{{code: 503}, {code: 503}, {code: 503}},
			[]string{"0s admit 1", "0s retry 1 fail until 1s", "1s admit 2", "1s retry 2 fail until 2s", "2s admit 3", "2s end 3 fail attempts"},
			"3/3", "0/3", "3/3", "sluice: p.retry: gave up after 3 attempts (attempts): sluice: the value was classified as fail",
		},
	} {
		for _, byRequest := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				var q sluice.Request
				options := []sluice.Option{sluice.WithClassifyResult(byCode)}
				if byRequest {
					q.Classify = byCode
					options = []sluice.Option{sluice.WithClassifyResult(func(string, any, error) reducer.Outcome { return reducer.Fail })}
				}
				p := guarded(t, classified, options...)
				j := listen(p)
				value, err := sluice.DoWith(t.Context(), p, q, answers(c.answers...))
				assert.Equal(t, c.events, j.all(), name)
				assert.Equal(t, "closed failed "+c.strict, state(t, p, "strict").Text, name)
				assert.Equal(t, "closed failed "+c.lenient, state(t, p, "lenient").Text, name)
				assert.Equal(t, "closed failed "+c.plain, state(t, p, "plain").Text, name)
				assert.Equal(t, c.answers[len(c.answers)-1], value, name)
				last, none := sluice.LastValue(value, err)
				require.NoError(t, none, name)
				assert.Equal(t, value, last)
				if c.err == "" {
					require.NoError(t, err, name)
				} else {
					require.EqualError(t, err, c.err, name)
				}
			})
		}
	}
}

// TestClassifyResultOfCutAttempts checks that steps count a timeout and a cancellation as
// what they are, whatever the classifier returns.
func TestClassifyResultOfCutAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		always := sluice.WithClassifyResult(func(string, any, error) reducer.Outcome { return reducer.OK })
		p := guarded(t, []string{"breaker: {window: {calls: 10}, minimum: 10}", "timeout: 1s"}, always)
		_, err := sluice.Do(t.Context(), p, takes(time.Minute))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, "closed failed 1/1", state(t, p, "breaker").Text)
		_, err = sluice.Do(t.Context(), p, stubborn(2*time.Second))
		require.NoError(t, err, "a late success is returned")
		assert.Equal(t, "closed failed 2/2", state(t, p, "breaker").Text)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		_, err = sluice.Do(ctx, p, takes(time.Minute))
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, "closed failed 2/2", state(t, p, "breaker").Text)
		_, err = sluice.Do(t.Context(), p, fails)
		require.Equal(t, errBoom, err, "an error that is called a success is returned")
		assert.Equal(t, "closed failed 2/3", state(t, p, "breaker").Text)
	})
}

// TestClassifyResultOfHedges has the first attempt return an answer that is classified as
// a failure while the hedge runs.
func TestClassifyResultOfHedges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"breaker: {name: plain, window: {calls: 10}, minimum: 10}", "hedge: {after: 1s}", "breaker: {name: lenient, window: {calls: 10}, minimum: 10}"},
			sluice.WithClassifyResult(byCode), sluice.WithAttemptInfo())
		j := listen(p)
		value, err := sluice.Do(t.Context(), p, func(ctx context.Context) (answer, error) {
			info, _ := sluice.AttemptInfoOf(ctx)
			time.Sleep(2 * time.Second)
			if info.Number == 1 {
				return answer{code: 503}, nil
			}
			return answer{code: 200}, nil
		})
		require.NoError(t, err)
		assert.Equal(t, 200, value.code)
		assert.Equal(t, []string{"0s admit 1", "1s hedge 2 hedge", "1s admit 2", "2s failed 1 fail", "3s end 2 ok won 2"}, j.all())
		assert.Equal(t, "closed failed 0/1", state(t, p, "plain").Text)
		assert.Equal(t, "closed failed 0/2", state(t, p, "lenient").Text)

		value, err = sluice.DoWith(t.Context(), p, sluice.Request{NoHedge: "once"}, answers(answer{code: 503}))
		assert.Equal(t, &sluice.ResultError{Result: reducer.Fail}, err)
		assert.Equal(t, 503, value.code)
	})
}

func TestClassifyResultPanics(t *testing.T) {
	p := guarded(t, []string{"breaker: {window: {calls: 10}, minimum: 10}", "bulkhead: 1"},
		sluice.WithClassifyResult(func(string, any, error) reducer.Outcome { panic("classifier") }))
	assert.Equal(t, "classifier", recovered(func() { _ = do(p, ok) }))
	assert.EqualValues(t, 1, state(t, p, "bulkhead").Free)
	assert.Equal(t, "closed failed 0/1", state(t, p, "breaker").Text)
}

func TestLastValueKeepsOtherErrors(t *testing.T) {
	result := &sluice.ResultError{Result: reducer.Fail}
	for _, err := range []error{
		errBoom, &sluice.RejectedError{Err: result}, &sluice.TimeoutError{Err: result},
		&sluice.CancelError{Err: context.Canceled, Cause: context.Canceled, Last: result}, &sluice.RetryError{Err: errBoom},
	} {
		value, got := sluice.LastValue(1, err)
		assert.Equal(t, err, got)
		assert.Equal(t, 1, value)
	}
	_, err := sluice.LastValue(1, &sluice.RetryError{Err: &sluice.RetryError{Err: result}})
	require.NoError(t, err)
}

func TestClassifyAs(t *testing.T) {
	c := sluice.ClassifyAs(func(_ string, value int, _ error) reducer.Outcome {
		if value == 0 {
			return reducer.Ignore
		}
		return reducer.Fail
	})
	assert.Equal(t, reducer.Fail, c("", 1, nil))
	assert.Equal(t, reducer.Ignore, c("", nil, nil), "without a value")
	assert.Zero(t, c("", "text", nil), "of another type")
}
