package nethttp_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// votes returns the text of the breaker of a policy.
func votes(t testing.TB, p *sluice.Pipeline) string {
	t.Helper()
	for _, s := range p.State() {
		if s.Kind == mechanism.Breaker {
			return s.Text
		}
	}
	t.Fatal("there is no breaker")
	return ""
}

// TestStatusThatIsNone has handlers and round trippers answer with what is no status of an
// answer: a failure, and nothing is held.
func TestStatusThatIsNone(t *testing.T) {
	for _, status := range []int{-1, 0, 99, 1000, 1 << 40} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			p := policyOf(t, "steps: [{breaker: {window: {calls: 10}}}, {bulkhead: 1}]")
			for name, rest := range map[string]func(w http.ResponseWriter){
				"panics": func(http.ResponseWriter) {},
				"answers instead": func(w http.ResponseWriter) {
					defer func() { _ = recover(); w.WriteHeader(http.StatusInternalServerError) }()
					w.WriteHeader(status)
				},
			} {
				before := votes(t, p)
				h := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					rest(w)
					if name == "panics" {
						w.WriteHeader(status)
					}
				}), p)
				func() {
					defer func() { _ = recover() }()
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
				}()
				assert.Equal(t, 1, free(t, p), name)
				assert.NotEqual(t, before, votes(t, p), name)
			}
			assert.Equal(t, "closed failed 2/2", votes(t, p))

			upstream := answers(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("x"))}, nil
			})
			_, err := nethttp.NewTransport(upstream, p).RoundTrip(get(t, target))
			require.ErrorContains(t, err, "the answer has the status "+strconv.Itoa(status))
			assert.Zero(t, upstream.bodies.Load())
			assert.Equal(t, 1, free(t, p))
			assert.Equal(t, "closed failed 3/3", votes(t, p))
		})
	}
}

// TestClassifierOfAPipelinePanics is TestClassifierPanics for code that runs when the attempt
// has returned.
func TestClassifierOfAPipelinePanics(t *testing.T) {
	for _, steps := range []string{"[{breaker: {window: {calls: 10}}}, {bulkhead: 1}]", "[{hedge: {after: 1h}}, {breaker: {window: {calls: 10}}}, {bulkhead: 1}]"} {
		upstream := answers(status(200))
		set, err := sluice.Parse("", []byte("version: 1\npolicies: {p: {steps: "+steps+"}}\n"), sluice.WithClassifyResult(func(string, any, error) reducer.Outcome { panic("a bug") }))
		require.NoError(t, err)
		assert.Panics(t, func() { _, _ = nethttp.NewTransport(upstream, set.Pipeline("p")).RoundTrip(get(t, target)) })
		assert.Zero(t, upstream.bodies.Load())
		assert.Equal(t, 1, free(t, set.Pipeline("p")))
	}
}

// TestClassifierPanics has code of the user panic between the answer and its reader: the
// answer is closed, nothing is held, and the vote is that without the function.
func TestClassifierPanics(t *testing.T) {
	for _, steps := range []string{"[{breaker: {window: {calls: 10}}}, {bulkhead: 1}]", "[{hedge: {after: 1h}}, {breaker: {window: {calls: 10}}}, {bulkhead: 1}]"} {
		upstream := answers(status(200))
		p := policyOf(t, "steps: "+steps)
		rt := nethttp.NewTransport(upstream, p, nethttp.WithResponseOutcome(func(*http.Response, reducer.Outcome) reducer.Outcome { panic(errors.New("a bug")) }))
		assert.Panics(t, func() { _, _ = rt.RoundTrip(get(t, target)) })
		assert.Zero(t, upstream.bodies.Load())
		assert.Equal(t, 1, free(t, p))
		assert.Equal(t, "closed failed 0/1", votes(t, p), "the outcome that holds without the function")
	}
}
