package nethttp_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/bindings/nethttp"
)

// onlyReader hides what http.NewRequest would make a GetBody of.
type onlyReader struct{ io.Reader }

func TestBodyIsSentAgain(t *testing.T) {
	long := strings.Repeat("x", nethttp.DefaultMaxBody)
	for name, c := range map[string]struct {
		body     io.Reader
		length   int64
		want     string
		attempts int
	}{
		"by GetBody":        {bytes.NewReader([]byte("hello")), 5, "hello", 3},
		"kept":              {onlyReader{strings.NewReader("hello")}, -1, "hello", 3},
		"as long as is":     {onlyReader{strings.NewReader(long)}, -1, long, 3},
		"too long, unknown": {onlyReader{strings.NewReader(long + "x")}, -1, long + "x", 1},
		"too long, known":   {onlyReader{strings.NewReader(long + "x")}, int64(len(long) + 1), long + "x", 1},
		"long with GetBody": {strings.NewReader(long + "x"), int64(len(long) + 1), long + "x", 3},
	} {
		t.Run(name, func(t *testing.T) {
			next := answers(status(503))
			r := request(t, "PUT", target, c.body)
			r.ContentLength = c.length
			resp, err := nethttp.NewTransport(next, policyOf(t, thrice...)).RoundTrip(r)
			require.NoError(t, err)
			assert.Equal(t, "Service Unavailable", text(t, resp))
			require.Len(t, next.sent, c.attempts)
			for _, sent := range next.sent {
				assert.True(t, c.want == sent, "%d bytes sent", len(sent))
			}
			info, _ := nethttp.Info(resp)
			assert.Equal(t, c.attempts == 1, info.NoRetry != "", info.NoRetry)
		})
	}
}

func TestMaxBody(t *testing.T) {
	for most, attempts := range map[int64]int{0: 1, 4: 1, 5: 3} {
		next := answers(status(503))
		r := request(t, "PUT", target, onlyReader{strings.NewReader("hello")})
		resp, err := nethttp.NewTransport(next, policyOf(t, thrice...), nethttp.WithMaxBody(most)).RoundTrip(r)
		require.NoError(t, err)
		text(t, resp)
		assert.Len(t, next.sent, attempts, "at most %d bytes", most)
		assert.Equal(t, "hello", next.sent[0])
	}
}

func TestRequestBodyIsClosedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		next http.RoundTripper
		per  string
	}{
		"good":     {answers(status(200)), "  - retry: {attempts: 3, backoff: none}"},
		"repeated": {answers(status(503)), "  - retry: {attempts: 3, backoff: none}"},
		"refused":  {answers(status(200)), "  - limit: {rate: 1/h, burst: 1}"},
		"panics": {roundTripper(func(r *http.Request) (*http.Response, error) {
			r.Body.Close()
			panic("boom")
		}), "  - retry: 3"},
		"panics and leaves it": {roundTripper(func(*http.Request) (*http.Response, error) { panic("boom") }), "  - retry: 3"},
		"no answer":            {roundTripper(func(r *http.Request) (*http.Response, error) { r.Body.Close(); return nil, nil }), "  - retry: 3"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := nethttp.NewTransport(c.next, policyOf(t, "steps:", c.per))
			for range 2 {
				closes := 0
				r := request(t, "PUT", target, nil)
				r.Body = closer{strings.NewReader("body"), func() { closes++ }}
				r.ContentLength = -1
				func() {
					defer func() { _ = recover() }()
					if resp, err := tr.RoundTrip(r); err == nil {
						text(t, resp)
					}
				}()
				assert.Equal(t, 1, closes)
			}
		})
	}
}

type closer struct {
	io.Reader
	closed func()
}

func (c closer) Close() error { c.closed(); return nil }

func TestBodyOfTheCallerThatFailsIsNotTheVendorsFault(t *testing.T) {
	own := errors.New("disk on fire")
	next := answers(status(200))
	p := policyOf(t, "steps:", "  - retry: {attempts: 3, backoff: none}", "  - breaker: {window: {consecutive: 1}}")
	_, err := nethttp.NewTransport(next, p).RoundTrip(request(t, "PUT", target, io.MultiReader(strings.NewReader("a"), failing{own})))
	assert.ErrorIs(t, err, own)
	assert.Len(t, next.seen, 1)
	assert.Equal(t, "closed", p.State()[len(p.State())-1].Mode)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
