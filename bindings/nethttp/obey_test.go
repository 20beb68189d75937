package nethttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/bindings/nethttp"
)

const obeys = "steps: [{breaker: {window: {calls: 10}, obey_retry_after: 1m}}]"

// TestHandlerObeysAnswers: an answer of the handler that says when to come back opens a
// breaker that obeys it.
func TestHandlerObeysAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		steps  string
		answer func(w http.ResponseWriter)
		grpc   bool
		want   string // Retry-After of the next request, empty where it is served
	}{
		"seconds":   {answer: func(w http.ResponseWriter) { w.Header().Set("Retry-After", "20"); w.WriteHeader(503) }, want: "20"},
		"throttled": {answer: func(w http.ResponseWriter) { w.Header().Set("Retry-After", "20"); w.WriteHeader(429) }, want: "20"},
		"date": {answer: func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", time.Now().Add(30*time.Second).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		}, want: "30"},
		"at most": {answer: func(w http.ResponseWriter) { w.Header().Set("Retry-After", "9999"); w.WriteHeader(503) }, want: "60"},
		"success": {answer: func(w http.ResponseWriter) { w.Header().Set("Retry-After", "20") }},
		"ignored": {answer: func(w http.ResponseWriter) { w.Header().Set("Retry-After", "20"); w.WriteHeader(404) }},
		"unread":  {answer: func(w http.ResponseWriter) { w.Header().Set("Retry-After", "soon"); w.WriteHeader(503) }},
		"deaf": {steps: "steps: [{breaker: {window: {calls: 10}}}]", answer: func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(503)
		}},
		"gRPC": {grpc: true, answer: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "14")
			w.Header().Set(http.TrailerPrefix+"Grpc-Retry-Pushback-Ms", "15000")
		}, want: "15"},
		"gRPC without trailers": {grpc: true, answer: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "14")
			w.Header().Set("Grpc-Retry-Pushback-Ms", "15000")
			w.WriteHeader(200)
		}, want: "15"},
		"no retry": {grpc: true, answer: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "14")
			w.Header().Set("Grpc-Retry-Pushback-Ms", "-1")
			w.WriteHeader(200)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps, r := obeys, get(t, "http://a.test/")
				if c.steps != "" {
					steps = c.steps
				}
				if c.grpc {
					r = request(t, "POST", "http://a.test/s/m", nil)
					r.Header.Set("Content-Type", "application/grpc")
				}
				served := 0
				h := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					served++
					c.answer(w)
				}), policyOf(t, steps))
				h.ServeHTTP(httptest.NewRecorder(), r)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if c.want == "" {
					assert.Equal(t, 2, served)
					return
				}
				assert.Equal(t, 1, served)
				assert.Equal(t, c.want, w.Result().Header.Get("Retry-After"))
			})
		})
	}
}

// TestTransportObeysAnswers in both forms of Retry-After.
func TestTransportObeysAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, value := range []string{"20", time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat)} {
			wire := answers(status(503, "Retry-After", value), status(200))
			client := nethttp.NewTransport(wire, policyOf(t, obeys))
			resp, err := client.RoundTrip(get(t, "http://a.test/"))
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			_, err = client.RoundTrip(get(t, "http://a.test/"))
			assert.ErrorContains(t, err, "rejected: open, retry after 20s", value)
		}
	})
}
