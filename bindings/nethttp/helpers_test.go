package nethttp_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/mechanism"
)

// parse makes the pipelines of a document.
func parse(t testing.TB, document string) *sluice.Set {
	t.Helper()
	set, err := sluice.Parse("policy.yaml", []byte(document))
	require.NoError(t, err)
	return set
}

// policyOf is a pipeline of the steps and settings of one policy, one a line.
func policyOf(t testing.TB, lines ...string) *sluice.Pipeline {
	t.Helper()
	return parse(t, "version: 1\npolicies:\n  p:\n    "+strings.Join(lines, "\n    ")+"\n").Pipeline("p")
}

// roundTripper is a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// script answers with one function after the other, and with the last one from
// then on. It keeps what it was sent.
type script struct {
	mu      sync.Mutex
	answers []func(*http.Request) (*http.Response, error)
	sent    []string
	seen    []*http.Request
	bodies  atomic.Int64 // of answers that are not closed
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	n := len(s.seen)
	answer := s.answers[min(n, len(s.answers)-1)]
	s.seen = append(s.seen, r)
	s.mu.Unlock()
	sent := ""
	if r.Body != nil {
		all, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, err
		}
		sent = string(all)
	}
	s.mu.Lock()
	s.sent = append(s.sent, sent)
	s.mu.Unlock()
	resp, err := answer(r)
	if resp != nil && resp.Body != nil && resp.Body != http.NoBody {
		s.bodies.Add(1)
		resp.Body = &counted{ReadCloser: resp.Body, open: &s.bodies}
	}
	if resp != nil && resp.Request == nil {
		resp.Request = r
	}
	return resp, err
}

// counted is a body that is counted until it is closed.
type counted struct {
	io.ReadCloser
	open *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.ReadCloser.Close()
}

// status answers with a status, a body that says the same, and headers in pairs.
func status(code int, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Add(header[i], header[i+1])
		}
		return &http.Response{
			StatusCode: code, Header: h, ProtoMajor: 1, ProtoMinor: 1,
			Body: io.NopCloser(strings.NewReader(http.StatusText(code))),
		}, nil
	}
}

func failure(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func answers(list ...func(*http.Request) (*http.Response, error)) *script {
	return &script{answers: list}
}

func get(t testing.TB, target string) *http.Request {
	t.Helper()
	return request(t, http.MethodGet, target, nil)
}

func request(t testing.TB, method, target string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, body)
	require.NoError(t, err)
	return r
}

// text reads a body and closes it.
func text(t testing.TB, resp *http.Response) string {
	t.Helper()
	all, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return string(all)
}

// free returns how many places of a pipeline's bulkhead are free.
func free(t testing.TB, p *sluice.Pipeline) int {
	t.Helper()
	for _, s := range p.State() {
		if s.Kind == mechanism.Bulkhead {
			return int(s.Free)
		}
	}
	t.Fatal("there is no bulkhead")
	return 0
}
