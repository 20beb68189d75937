package serve

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/pipes"
)

// sentOn is what an upstream gets, and the client from it.
type sentOn struct {
	method, url, host string
	header            http.Header
	answer            []string // its lines, sorted up to the empty one
}

var errDown = errors.New("down")

// forwardBy has the forwarder, or httputil.ReverseProxy, forward a request to an upstream that gives an answer.
func forwardBy(t *testing.T, request, answer string, trusts, reverse bool) (got sentOn) {
	t.Helper()
	c := Config{
		File: "policy.yaml", Source: []byte(open), Upstreams: []*url.URL{{Scheme: "http", Host: "upstream.test", Path: "/base"}},
		Log: slog.New(slog.DiscardHandler),
	}
	if trusts {
		c.Trusted = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	}
	s, err := New(c)
	require.NoError(t, err)
	s.name = "sluice-test"
	f := s.forwarder(roundTripper(func(r *http.Request) (*http.Response, error) {
		got.method, got.url, got.host, got.header = r.Method, r.URL.String(), r.Host, r.Header.Clone()
		if answer == "" {
			return nil, errDown
		}
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), r)
		require.NoError(t, err)
		return resp, nil
	}), false)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "192.0.2.1:1234"
		if reverse {
			f.reverse.ServeHTTP(w, r)
		} else {
			f.ServeHTTP(w, r.WithContext(r.Context()))
		}
	})
	l := pipes.Listen()
	server := &http.Server{Handler: handler, ErrorLog: s.complaints()}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	conn, err := l.Dial(t.Context(), "", "")
	require.NoError(t, err)
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	text, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-served, http.ErrServerClosed)
	got.answer = strings.SplitAfter(regexp.MustCompile(`Date: .*\r\n`).ReplaceAllString(string(text), ""), "\r\n")
	if end := slices.Index(got.answer, "\r\n"); end > 0 {
		slices.Sort(got.answer[1:end])
	}
	return got
}

// TestForwardsAsReverseProxy compares the forwarder with httputil.ReverseProxy. Streams
// have a type, for whether the server looks for one depends on which comes first, the
// headers' own flush or the first part.
func TestForwardsAsReverseProxy(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, c := range map[string]struct {
		lines, answer string
		method        string // GET by default
		trusts        bool
	}{
		"plain":                      {answer: ok},
		"headers":                    {lines: "A: 1\r\nA: 2\r\nUser-Agent: x\r\nCookie: a=b\r\n", answer: ok},
		"headers of the connection":  {lines: "A: 1\r\nB: 2\r\nKeep-Alive: 5\r\nProxy-Connection: close\r\nProxy-Authorization: x\r\nProxy-Authenticate: y\r\nTe: gzip\r\nTrailer: T\r\n", answer: ok},
		"trailers":                   {lines: "Te: gzip, trailers\r\n", answer: ok},
		"hops":                       {lines: "Via: 1.0 a\r\nX-Forwarded-For: 192.0.2.9\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: https\r\nForwarded: for=a\r\nX_Forwarded_For: a\r\nX-Real-Ip: b\r\n", answer: ok},
		"trusted hops":               {lines: "Via: 1.0 a\r\nX-Forwarded-For: 192.0.2.9\r\nX-Forwarded-For: 192.0.2.10\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: https\r\nForwarded: for=a\r\nX-Real-Ip: b\r\n", answer: ok, trusts: true},
		"trusted hops, listed":       {lines: "X-Forwarded-For: 192.0.2.9\r\nConnection: X-Forwarded-For\r\n", answer: ok, trusts: true},
		"HEAD":                       {method: "HEAD", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
		"POST without a body":        {method: "POST", answer: ok},
		"an expectation":             {lines: "Expect: 100-continue\r\n", answer: ok},
		"headers back":               {answer: "HTTP/1.1 404 Not Found\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nServer: c\r\nDate: today\r\nContent-Length: 2\r\n\r\nno"},
		"those of the connection":    {answer: "HTTP/1.1 200 OK\r\nConnection: a, B\r\nA: 1\r\nB: 2\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\nProxy-Authenticate: y\r\nTe: z\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok"},
		"no content":                 {answer: "HTTP/1.1 204 No Content\r\n\r\n"},
		"not modified":               {answer: "HTTP/1.1 304 Not Modified\r\nEtag: \"a\"\r\n\r\n"},
		"until the end":              {answer: "HTTP/1.0 200 OK\r\nContent-Type: a/b\r\n\r\n" + strings.Repeat("a", 100_000)},
		"chunks":                     {answer: "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		"announced trailers":         {answer: "HTTP/1.1 200 OK\r\nTrailer: A\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: 1\r\n\r\n"},
		"trailers by surprise":       {answer: "HTTP/1.1 200 OK\r\nTrailer: A\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: 1\r\nB: 2\r\n\r\n"},
		"no trailers":                {answer: "HTTP/1.1 200 OK\r\nTrailer: A\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		"events":                     {answer: "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\nContent-Length: 8\r\n\r\ndata: 1\n"},
		"a form that is not one":     {answer: "HTTP/1.1 200 OK\r\nContent-Type: text/event-streams\r\nContent-Length: 2\r\n\r\nok"},
		"no type":                    {answer: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"},
		"a large answer":             {answer: "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("a", 100_000)},
		"a body that breaks off":     {answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"},
		"chunks that break off":      {answer: "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"},
		"101 that was not asked for": {answer: "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"},
		"no answer":                  {},
	} {
		t.Run(name, func(t *testing.T) {
			method := c.method
			if method == "" {
				method = http.MethodGet
			}
			request := method + " /a%2Fb//c?q=1;%&x HTTP/1.1\r\nHost: client.test\r\nConnection: close, B\r\n" + c.lines + "\r\n"
			want, got := forwardBy(t, request, c.answer, c.trusts, true), forwardBy(t, request, c.answer, c.trusts, false)
			assert.Equal(t, want, got)
			assert.Contains(t, got.header["Via"], "1.1 sluice-test")
		})
	}
}

// TestInterimAnswers has an upstream that sends informational answers before its own.
func TestInterimAnswers(t *testing.T) {
	inBubble(t, open, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.WriteHeader(http.StatusProcessing)
		w.Header().Set("X-Last", "1")
		_, _ = io.WriteString(w, "ok")
	}, func(b *bubble) {
		c := b.open("GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
		defer c.Close()
		for _, want := range []struct {
			status     int
			link, last string
		}{{103, "</a>", ""}, {102, "", ""}, {200, "", "1"}} {
			resp, _ := c.answer()
			assert.Equal(t, want.status, resp.StatusCode)
			assert.Equal(t, want.link, resp.Header.Get("Link"))
			assert.Equal(t, want.last, resp.Header.Get("X-Last"))
		}
	})
}
