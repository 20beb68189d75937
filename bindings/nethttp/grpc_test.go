package nethttp_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/internal/pipes"
)

// trailing is the body of an answer of gRPC, which has its status at its end.
type trailing struct {
	io.Reader
	resp   *http.Response
	status string
	closed bool
}

func (b *trailing) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		b.resp.Trailer = http.Header{"Grpc-Status": {b.status}, "Grpc-Message": {"m"}}
	}
	return n, err
}

func (b *trailing) Close() error {
	b.closed = true
	return nil
}

// grpcAnswer is an answer with its status in the trailers behind messages; without
// messages and with early it is in the headers.
func grpcAnswer(status, messages string, early bool) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: 200, ProtoMajor: 2, Header: http.Header{"Content-Type": {"application/grpc+proto"}}, Request: r}
		if early {
			resp.Header.Set("Grpc-Status", status)
			resp.Body = http.NoBody
			return resp, nil
		}
		resp.Body = &trailing{Reader: strings.NewReader(messages), resp: resp, status: status}
		return resp, nil
	}
}

// unary is a call of gRPC whose message was sent.
func unary(t testing.TB, ctx context.Context) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://x/pkg.Service/Method", strings.NewReader("message"))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/grpc+proto")
	r.Header.Set("Te", "trailers")
	return r
}

// TestVotesOfGRPC has answers of gRPC with each status in their headers, their trailers,
// and their trailers behind a message, and looks at a breaker that one failure opens and
// a retry of everything.
func TestVotesOfGRPC(t *testing.T) {
	attempts := map[string][2]int{} // with the status before a message, behind one
	for code := range 17 {
		attempts[fmt.Sprint(code)] = [2]int{1, 1}
	}
	for _, code := range []string{"2", "4", "8", "13", "14", "15"} {
		attempts[code] = [2]int{2, 1}
	}
	attempts["17"], attempts["x"] = [2]int{2, 1}, [2]int{2, 1} // no codes: UNKNOWN
	opens := func(code string) bool { return attempts[code][0] == 2 && code != "8" }
	for code, want := range attempts {
		for form, answer := range map[string]func(*http.Request) (*http.Response, error){
			"headers":  grpcAnswer(code, "", true),
			"trailers": grpcAnswer(code, "", false),
			"message":  grpcAnswer(code, "message", false),
		} {
			p := policyOf(t, "steps:", "  - retry: {attempts: 2, backoff: none, methods: [POST]}", "  - breaker: {window: {consecutive: 2}, open: 1h}", "  - bulkhead: 1")
			up := answers(answer)
			resp, err := nethttp.NewTransport(up, p).RoundTrip(unary(t, t.Context()))
			require.NoError(t, err)
			number, opened := want[0], opens(code)
			if form == "message" {
				number, opened = want[1], false
			}
			assert.Len(t, up.seen, number, "%s in the %s", code, form)
			assert.Equal(t, opened, p.State()[0].Mode == "open", "%s in the %s", code, form)
			got := resp.Header.Get("Grpc-Status")
			body := text(t, resp)
			if form != "headers" {
				got = resp.Trailer.Get("Grpc-Status")
			}
			assert.Equal(t, code, got)
			assert.Equal(t, form == "message", body == "message")
			assert.Equal(t, 1, free(t, p))
			assert.Zero(t, up.bodies.Load())
		}
	}
}

// TestOutcomesOfGRPC has a document that says otherwise, by the HTTP statuses that the
// codes stand for.
func TestOutcomesOfGRPC(t *testing.T) {
	p := policyOf(t, "outcomes: {fail: [404], ignore: [5xx]}", "steps:", "  - breaker: {window: {consecutive: 1}, open: 1h}")
	transport := nethttp.NewTransport(answers(grpcAnswer("14", "", true), grpcAnswer("5", "", true)), p)
	for _, mode := range []string{"closed", "open"} {
		_, err := transport.RoundTrip(unary(t, t.Context()))
		require.NoError(t, err)
		assert.Equal(t, mode, p.State()[0].Mode)
	}
}

// TestGRPCBreaksOff has an answer that ends without trailers before its first message,
// which is as good as none.
func TestGRPCBreaksOff(t *testing.T) {
	broken := func(r *http.Request) (*http.Response, error) {
		resp, err := grpcAnswer("0", "", false)(r)
		resp.Body = io.NopCloser(io.MultiReader(breaking{io.ErrUnexpectedEOF}))
		return resp, err
	}
	up := answers(broken, grpcAnswer("0", "message", false))
	p := policyOf(t, "steps:", "  - retry: {attempts: 2, backoff: none, methods: [POST]}", "  - bulkhead: 1")
	resp, err := nethttp.NewTransport(up, p).RoundTrip(unary(t, t.Context()))
	require.NoError(t, err)
	assert.Equal(t, "message", text(t, resp))
	assert.Len(t, up.seen, 2)
	assert.Equal(t, 1, free(t, p))
}

type breaking struct{ err error }

func (f breaking) Read([]byte) (int, error) { return 0, f.err }

// TestPushbackOfGRPC has answers say when the next attempt may come.
func TestPushbackOfGRPC(t *testing.T) {
	for value, c := range map[string]struct {
		attempts int
		after    time.Duration
	}{"1500": {2, 1500 * time.Millisecond}, "0": {2, time.Second}, "-1": {1, 0}, "soon": {1, 0}, "": {2, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			p := policyOf(t, "steps:", "  - retry: {attempts: 2, backoff: {constant: 1s}, jitter: none, methods: [POST]}")
			first := func(r *http.Request) (*http.Response, error) {
				resp, err := grpcAnswer("14", "", true)(r)
				if value != "" {
					resp.Header.Set("Grpc-Retry-Pushback-Ms", value)
				}
				return resp, err
			}
			start := time.Now()
			up := answers(first, grpcAnswer("0", "message", false))
			resp, err := nethttp.NewTransport(up, p).RoundTrip(unary(t, t.Context()))
			require.NoError(t, err)
			text(t, resp)
			assert.Len(t, up.seen, c.attempts, value)
			assert.Equal(t, c.after, time.Since(start), value)
		})
	}
}

// TestStreamsOfGRPC has a client that waits for the headers before it sends on: they
// must not wait for a message.
func TestStreamsOfGRPC(t *testing.T) {
	p := policyOf(t, "steps:", "  - bulkhead: 1", "  - timeout: 1h")
	read, write := io.Pipe()
	defer write.Close()
	down, up := io.Pipe()
	transport := nethttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := grpcAnswer("0", "", false)(r)
		resp.Body = down
		return resp, err
	}), p)
	r := unary(t, t.Context())
	r.Body, r.ContentLength, r.GetBody = read, -1, nil
	resp, err := transport.RoundTrip(r)
	require.NoError(t, err)
	go func() {
		_, _ = up.Write([]byte("message"))
		up.Close()
	}()
	assert.Equal(t, "message", text(t, resp))
}

// TestRefusalsOfGRPC has each kind of refusal by a Transport and by a Handler.
func TestRefusalsOfGRPC(t *testing.T) {
	for name, c := range map[string]struct {
		lines    []string
		before   int // requests
		code     string
		message  string
		pushback string
	}{
		"a limit":   {[]string{"steps:", "  - limit: 1/1m"}, 1, "8", "Too many requests for now.", "60000"},
		"no room":   {[]string{"steps:", "  - limit: {rate: 1/1m, burst: 1, wait: 1s}"}, 1, "8", "The wait would take, or took, too long.", "59000"},
		"a breaker": {[]string{"steps:", "  - breaker: {window: {consecutive: 1}, open: 1h}"}, 1, "14", "The service is failing and is given time to recover.", "3600000"},
		"a timeout": {[]string{"steps:", "  - timeout: 1s"}, 0, "4", "The request took longer than it may.", ""},
		"a limit with a fallback": {
			[]string{"steps:", "  - limit: 1/1m", "fallback: {status: 200, body: fine}"}, 1, "8", "Too many requests for now.", "60000",
		},
		"a breaker with a fallback": {
			[]string{"steps:", "  - breaker: {window: {consecutive: 1}, open: 1h}", "fallback: {status: 200, body: fine}"},
			1, "14", "The service is failing and is given time to recover.", "3600000",
		},
	} {
		check := func(t *testing.T, kind string, h http.Header, status int, body string) {
			t.Helper()
			assert.Equal(t, 200, status, kind)
			assert.Equal(t, "application/grpc+proto", h.Get("Content-Type"), kind)
			assert.Equal(t, c.code, h.Get("Grpc-Status"), kind)
			assert.Equal(t, c.message, h.Get("Grpc-Message"), kind)
			assert.Equal(t, c.pushback, h.Get("Grpc-Retry-Pushback-Ms"), kind)
			assert.NotEmpty(t, h.Get("X-Throttle-Reason"), kind)
			assert.Empty(t, body, kind)
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := policyOf(t, c.lines...)
				transport := nethttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
					if c.before == 0 {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					return grpcAnswer("14", "", true)(r)
				}), p, nethttp.WithRefusalAnswers())
				for range c.before {
					resp, err := transport.RoundTrip(unary(t, t.Context()))
					require.NoError(t, err)
					assert.Equal(t, "14", resp.Header.Get("Grpc-Status"), "the fallback is no message")
					assert.Empty(t, resp.Header.Get("Grpc-Message"), "it is the answer itself")
					assert.Empty(t, text(t, resp))
				}
				resp, err := transport.RoundTrip(unary(t, t.Context()))
				require.NoError(t, err)
				check(t, "transport", resp.Header, resp.StatusCode, text(t, resp))
			})
			synctest.Test(t, func(t *testing.T) {
				h := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if c.before == 0 {
						<-r.Context().Done()
						return
					}
					w.Header().Set("Content-Type", "application/grpc+proto")
					w.Header().Set("Grpc-Status", "14")
				}), policyOf(t, c.lines...))
				for range c.before {
					assert.Equal(t, "14", serve(h, unary(t, t.Context())).Header().Get("Grpc-Status"))
				}
				w := serve(h, unary(t, t.Context()))
				check(t, "handler", w.Header(), w.Code, w.Body.String())
				assert.Empty(t, w.Header().Get("Content-Length"))
			})
		})
	}
}

// TestRefusalsBeforeThePolicyOfGRPC has a request without a route.
func TestRefusalsBeforeThePolicyOfGRPC(t *testing.T) {
	set := parse(t, "version: 1\npolicies: {p: {steps: [timeout: 1s]}}\nroutes: [{path: /other/**, policy: p}]\nhttp: {default: deny}\n")
	transport := nethttp.NewRoutedTransport(answers(grpcAnswer("0", "", true)), set, nethttp.WithRefusalAnswers())
	w := serve(transport.Proxy(http.NotFoundHandler()), unary(t, t.Context()))
	assert.Equal(t, []any{200, "7"}, []any{w.Code, w.Header().Get("Grpc-Status")})
	resp, err := transport.RoundTrip(unary(t, t.Context()))
	require.NoError(t, err)
	assert.Equal(t, "7", resp.Header.Get("Grpc-Status"))
	text(t, resp)
}

func TestAnswerGRPC(t *testing.T) {
	w := httptest.NewRecorder()
	assert.False(t, nethttp.AnswerGRPC(w, get(t, "/"), 502, "x"))
	for status, code := range map[int]string{400: "13", 403: "7", 404: "12", 408: "4", 413: "8", 429: "8", 500: "13", 501: "12", 502: "14", 503: "14", 504: "4", 508: "14"} {
		w := httptest.NewRecorder()
		assert.True(t, nethttp.AnswerGRPC(w, unary(t, t.Context()), status, "50 % größer\n"))
		assert.Equal(t, []any{200, code, "50 %25 gr%C3%B6%C3%9Fer%0A"}, []any{w.Code, w.Header().Get("Grpc-Status"), w.Header().Get("Grpc-Message")}, status)
	}
}

// TestHandlerVotesOfGRPC has handlers say their status in each way.
func TestHandlerVotesOfGRPC(t *testing.T) {
	begin := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
	}
	atOnce := func(w http.ResponseWriter, status string) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", status)
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		mode    string
	}{
		"in the headers":      {func(w http.ResponseWriter, _ *http.Request) { atOnce(w, "14") }, "open"},
		"good in the headers": {func(w http.ResponseWriter, _ *http.Request) { atOnce(w, "5") }, "closed"},
		"in trailers":         {func(w http.ResponseWriter, _ *http.Request) { begin(w); w.Header().Set("Grpc-Status", "14") }, "open"},
		"in unannounced ones": {func(w http.ResponseWriter, _ *http.Request) {
			begin(w)
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "14")
		}, "open"},
		"good in trailers": {func(w http.ResponseWriter, _ *http.Request) { begin(w); w.Header().Set("Grpc-Status", "0") }, "closed"},
		"behind a message": {func(w http.ResponseWriter, _ *http.Request) {
			begin(w)
			_, _ = io.WriteString(w, "m")
			w.Header().Set("Grpc-Status", "14")
		}, "closed"},
		"a status of HTTP": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, "open"},
		"a panic":          {func(w http.ResponseWriter, _ *http.Request) { begin(w); panic(http.ErrAbortHandler) }, "open"},
		"a panic afterwards": {func(w http.ResponseWriter, _ *http.Request) {
			begin(w)
			_, _ = io.WriteString(w, "m")
			panic(http.ErrAbortHandler)
		}, "closed"},
		"later than a timeout": {func(w http.ResponseWriter, r *http.Request) { begin(w); <-r.Context().Done() }, "open"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := policyOf(t, "steps:", "  - breaker: {window: {consecutive: 1}, open: 1h}", "  - bulkhead: 1", "  - timeout: 1s")
				h := nethttp.NewHandler(c.handler, p)
				func() {
					defer func() { _ = recover() }()
					serve(h, unary(t, t.Context()))
				}()
				assert.Equal(t, c.mode, p.State()[0].Mode)
				assert.Equal(t, 1, free(t, p))
			})
		})
	}
}

// overHTTP2 serves a handler in virtual time and runs a test with connections to it.
func overHTTP2(t *testing.T, h http.Handler, test func(transport *http.Transport)) {
	t.Helper()
	wires := pipes.Listen()
	server := &http.Server{Handler: h, Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0)}
	server.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan error)
	go func() { done <- server.Serve(wires) }()
	transport := &http.Transport{DialContext: wires.Dial, Protocols: server.Protocols}
	test(transport)
	transport.CloseIdleConnections()
	require.NoError(t, server.Close())
	<-done
	synctest.Wait()
}

// TestTurnsOfGRPC has both sides of a stream wait for each other for longer than a body
// may, and at last the client for ever.
func TestTurnsOfGRPC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - breaker: {window: {consecutive: 1}, open: 1h}", "  - bulkhead: 1")
		h := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			for b := make([]byte, 1); ; {
				_ = http.NewResponseController(w).Flush()
				if _, err := r.Body.Read(b); err != nil {
					return
				}
				_, _ = w.Write(b)
			}
		}), p, bounds)
		overHTTP2(t, h, func(transport *http.Transport) {
			read, write := io.Pipe()
			r := unary(t, t.Context())
			r.Body, r.ContentLength, r.GetBody = read, -1, nil
			resp, err := transport.RoundTrip(r)
			require.NoError(t, err)
			got := make([]byte, 1)
			for range 5 {
				time.Sleep(30 * time.Second) // a body may pause for 10 s, a stream for a minute
				_, err := write.Write([]byte("m"))
				require.NoError(t, err)
				_, err = io.ReadFull(resp.Body, got)
				require.NoError(t, err)
			}
			start := time.Now()
			_, err = resp.Body.Read(got)
			assert.Error(t, err)
			assert.Equal(t, time.Minute, time.Since(start))
			write.Close()
			resp.Body.Close()
			synctest.Wait()
			assert.Equal(t, 1, free(t, p))
			assert.Equal(t, "closed", p.State()[0].Mode)
		})
	})
}

// TestClientsThatClaimGRPC has a client say that it speaks gRPC to a handler that does
// not: the bounds of its body stay.
func TestClientsThatClaimGRPC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, took := time.Now(), time.Duration(0)
		h := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, err := io.Copy(io.Discard, r.Body)
			assert.Error(t, err)
			took = time.Since(start)
		}), policyOf(t, "steps:", "  - bulkhead: 1"), bounds)
		overHTTP2(t, h, func(transport *http.Transport) {
			read, write := io.Pipe()
			r := unary(t, t.Context())
			r.Body, r.ContentLength, r.GetBody = read, -1, nil
			resp, err := transport.RoundTrip(r)
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			write.Close()
			synctest.Wait()
			assert.Equal(t, 10*time.Second, took)
		})
	})
}
