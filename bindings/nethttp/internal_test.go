package nethttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
)

func TestDefaultsAreThoseOfADocument(t *testing.T) {
	doc, err := policy.ParseOne("p.yaml", []byte("steps: [retry: 3]"))
	require.NoError(t, err)
	assert.Equal(t, doc.Outcomes, guards.DefaultOutcomes)
	assert.Equal(t, doc.Methods, defaultMethods)
	whole, err := policy.Parse("p.yaml", []byte("version: 1\npolicies: {p: {steps: [retry: 3]}}"))
	require.NoError(t, err)
	assert.Equal(t, whole.HTTP, defaultHTTP)
}

type timeoutError struct{ error }

func (timeoutError) Timeout() bool { return true }

func TestFailureOf(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		err  error
		want policy.Failure
	}{
		{refused, document.Connect},
		{&url.Error{Err: refused}, document.Connect},
		{&net.OpError{Op: "dial", Err: timeoutError{io.EOF}}, document.Connect},
		{&net.DNSError{IsTimeout: true}, document.Connect},
		{&tls.CertificateVerificationError{Err: errors.New("expired")}, document.Connect},
		{timeoutError{errors.New("net/http: TLS handshake timeout")}, document.Connect},
		{timeoutError{errors.New("net/http: timeout awaiting response headers")}, document.NoAnswer},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, document.Reset},
		{io.EOF, document.Reset},
		{fmt.Errorf("http2: %w", io.ErrUnexpectedEOF), document.Reset},
		{errors.New("a round tripper of another package"), document.Reset},
	} {
		assert.Equal(t, c.want, failureOf(c.err), "%v", c.err)
	}
	assert.Equal(t, reducer.Ignore, outcomeOfError(&guards.DefaultOutcomes, errors.New(`unsupported protocol scheme "ftp"`)))
	assert.Equal(t, reducer.OK, outcomeOfError(&guards.DefaultOutcomes, timeoutError{io.EOF}), "not named")
}

// A real transport gives these errors.
func TestFailureOfARealTransport(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	broken := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer broken.Close()
	untrusted := httptest.NewUnstartedServer(nil)
	untrusted.Config.ErrorLog = quiet
	untrusted.StartTLS()
	defer untrusted.Close()
	mute := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer mute.Close()
	next := &http.Transport{ResponseHeaderTimeout: time.Millisecond}
	defer next.CloseIdleConnections()
	for target, want := range map[string]policy.Failure{
		closed: document.Connect, broken.URL: document.Reset, untrusted.URL: document.Connect, mute.URL: document.NoAnswer,
	} {
		tr := next
		if want == document.Reset {
			tr = &http.Transport{}
		}
		req, err := http.NewRequestWithContext(t.Context(), "POST", target, nil)
		require.NoError(t, err)
		_, err = tr.RoundTrip(req)
		require.Error(t, err)
		assert.Equal(t, want, failureOf(err), "%v", err)
	}
}

func TestRetryAfterOfManyDigits(t *testing.T) {
	got, ok := retryAfter(http.Header{"Retry-After": {strings.Repeat("9", 40)}}, time.Now)
	assert.True(t, ok)
	assert.Greater(t, got, 100*365*24*time.Hour)
}

func TestAttributes(t *testing.T) {
	in := httptest.NewRequest("GET", "http://API.Test:8443/a%20b/c?x=1&y=a%26b&x=2", nil)
	in.Header.Set("X-Tenant", "acme")
	in.AddCookie(&http.Cookie{Name: "sid", Value: "42"})
	in.Pattern = "GET /a b/{c}"
	out, err := http.NewRequest("", "https://API.Test:443/p", nil)
	require.NoError(t, err)
	out.Header["X-List"] = []string{"a", "b"}
	s := &settings{ipv6: DefaultIPv6Prefix}
	server := attributes{req: in, server: true, s: s}
	client := attributes{req: out, target: target{route: "/p/**"}, s: s}
	for _, c := range []struct {
		of         *attributes
		name, want string
	}{
		{&server, "ip", "192.0.2.1"},
		{&server, "host", "api.test"},
		{&server, "method", "GET"},
		{&server, "path", "/a%20b/c"},
		{&server, "route", "GET /a b/{c}"},
		{&server, "header:x-tenant", "acme"},
		{&server, "header:host", "API.Test:8443"},
		{&server, "header:none", ""},
		{&server, "cookie:sid", "42"},
		{&server, "cookie:none", ""},
		{&server, "query:x", "1"},
		{&server, "query:y", "a&b"},
		{&server, "query:z", ""},
		{&server, "weather", ""},
		{&client, "host", "api.test"},
		{&client, "method", "GET"},
		{&client, "route", "/p/**"},
		{&client, "header:host", "API.Test:443"},
		{&client, "header:x-list", "a, b"},
	} {
		assert.Equal(t, c.want, c.of.lookup(c.name), c.name)
	}
}

func TestClientIP(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104"), netip.MustParsePrefix("2001:db8::/32")}
	for _, c := range []struct {
		peer, want string
		forwarded  []string
	}{
		{"203.0.113.9:80", "203.0.113.9", []string{"198.51.100.1"}},
		{"10.0.0.1:80", "10.0.0.1", nil},
		{"10.0.0.1:80", "198.51.100.1", []string{"198.51.100.1"}},
		{"10.0.0.1:80", "198.51.100.1", []string{"6.6.6.6, 198.51.100.1", "10.0.0.2"}},
		{"10.0.0.1:80", "198.51.100.1", []string{" 198.51.100.1:4711 ,10.0.0.2 "}},
		{"10.0.0.1:80", "10.0.0.2", []string{"6.6.6.6, unknown, 10.0.0.2"}},
		{"10.0.0.1:80", "10.0.0.3", []string{"10.0.0.3, 10.0.0.2"}},
		{"[2001:db8::1]:80", "2001:dead::1/64", []string{"[2001:dead::1]:99"}},
		{"[::ffff:10.0.0.1]:80", "198.51.100.1", []string{"::ffff:198.51.100.1"}},
		{"@", "@", []string{"198.51.100.1"}},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		s := newSettings(true, []Option{WithTrustedProxies(trusted...)})
		a := attributes{req: r, s: &s}
		assert.Equal(t, c.want, a.lookup("ip"), "%+v", c)
	}
}

func TestIPv6Prefix(t *testing.T) {
	r := &http.Request{RemoteAddr: "[2001:db8:1:2:3:4:5:6%eth0]:80"}
	mapped := &http.Request{RemoteAddr: "[::ffff:192.0.2.9]:80"}
	for bits, want := range map[int]string{64: "2001:db8:1:2:3:4:5:6/64", 56: "2001:db8:1:2:3:4:5:6/56", 128: "2001:db8:1:2:3:4:5:6", 999: "2001:db8:1:2:3:4:5:6", 0: "2001:db8:1:2:3:4:5:6/1"} {
		s := newSettings(true, []Option{WithIPv6Prefix(bits)})
		a := attributes{req: r, s: &s}
		assert.Equal(t, want, a.lookup("ip"), bits)
		a.req = mapped
		assert.Equal(t, "192.0.2.9", a.lookup("ip"), bits)
	}
}

// blocked is a body that gives nothing until it is told to.
type blocked struct {
	data   chan string
	closed chan struct{}
}

func (b *blocked) Read(p []byte) (int, error) {
	select {
	case text, ok := <-b.data:
		if !ok {
			return 0, io.EOF
		}
		return copy(p, text), nil
	case <-b.closed:
		return 0, errors.New("closed")
	}
}

func (b *blocked) Close() error { close(b.closed); return nil }

// An attempt may be over while its transport still reads the body. What it gets
// belongs to the next attempt.
func TestLateReadOfAnAbandonedAttemptIsNotLost(t *testing.T) {
	b := &blocked{data: make(chan string), closed: make(chan struct{})}
	u := &upload{source: b, most: 8}
	first, err := u.next(true)
	require.NoError(t, err)
	late := make(chan struct{})
	go func() {
		defer close(late)
		for range 2 {
			_, _ = first.Read(make([]byte, 100))
		}
	}()
	b.data <- "hello " // the second read begins now, or when the attempt is over
	require.True(t, u.repeatable())
	second, err := u.next(false)
	require.NoError(t, err)
	go func() {
		b.data <- "world"
		close(b.data)
	}()
	all, err := io.ReadAll(second)
	require.NoError(t, err)
	assert.Equal(t, "hello world", string(all), "more than is kept, and no reader follows the second")
	<-late
	u.finish()
	require.NoError(t, first.Close())
	select {
	case <-b.closed:
		t.Fatal("closed while an attempt may read it")
	default:
	}
	require.NoError(t, second.Close())
	<-b.closed
	assert.False(t, u.repeatable())
}

func TestBodyThatGrewTooLongIsNotSentAgain(t *testing.T) {
	u := &upload{source: io.NopCloser(strings.NewReader("123456789")), most: 8}
	first, err := u.next(true)
	require.NoError(t, err)
	n, err := first.Read(make([]byte, 5))
	require.NoError(t, err)
	assert.Equal(t, 5, n)
	assert.True(t, u.repeatable())
	_, err = first.Read(make([]byte, 5))
	assert.Equal(t, errAbandoned, err, "another attempt may follow")
	_, err = u.next(false)
	assert.Equal(t, errBodyLost, err)
	assert.False(t, u.repeatable())
}

var quiet = log.New(io.Discard, "", 0)
