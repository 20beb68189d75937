package nethttp_test

import (
	"bufio"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/internal/pipes"
	"github.com/sluice-go/sluice/policy"
)

// serving runs a test with a server of net/http in virtual time.
func serving(t *testing.T, h func(t *testing.T) http.Handler, test func(t *testing.T, dial func(text string) net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		wires := pipes.Listen()
		server := &http.Server{Handler: h(t), ErrorLog: log.New(io.Discard, "", 0)}
		done := make(chan error)
		go func() { done <- server.Serve(wires) }()
		test(t, func(text string) net.Conn {
			conn, err := wires.Dial(t.Context(), "", "")
			require.NoError(t, err)
			go func() { _, _ = io.WriteString(conn, text) }()
			synctest.Wait()
			return conn
		})
		require.NoError(t, server.Close())
		assert.ErrorIs(t, <-done, http.ErrServerClosed)
		// The server waits a moment before it closes a connection on which the
		// client may still send.
		time.Sleep(time.Second)
		synctest.Wait()
	})
}

// answerOf reads an answer with its body.
func answerOf(t *testing.T, conn net.Conn) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	return resp, text(t, resp)
}

// strict opens its breaker at the first failure.
var strict = []string{"steps:", "  - breaker: {window: {consecutive: 1}, open: 1h}", "  - bulkhead: 2", "  - timeout: 20s"}

// bounds are short.
var bounds = nethttp.WithHTTP(policy.HTTP{BodyTimeout: 10 * time.Second, StreamIdle: time.Minute})

const (
	stalled = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nh"
	plain   = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
)

// TestClientsTimeIsNotTheHandlers has handlers that answer 500 to every
// error.
func TestClientsTimeIsNotTheHandlers(t *testing.T) {
	for name, c := range map[string]struct {
		bounds policy.HTTP
		send   string
		leave  time.Duration // when the client goes, 0 for never
		status int           // of the answer, 0 for none
		after  time.Duration
		mode   string
	}{
		"stalls until the body's timeout": {policy.HTTP{BodyTimeout: 10 * time.Second}, stalled, 0, 408, 10 * time.Second, "closed"},
		"stalls until the policy's":       {policy.HTTP{}, stalled, 0, 408, 20 * time.Second, "closed"},
		"drips":                           {policy.HTTP{BodyRate: policy.ByteRate{Bytes: 1, Period: time.Hour}}, stalled, 0, 408, 20 * time.Second, "closed"},
		"breaks a chunk":                  {policy.HTTP{}, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 0, 500, 0, "closed"},
		"leaves within the body":          {policy.HTTP{}, stalled, time.Second, 0, time.Second, "closed"},
		"leaves":                          {policy.HTTP{}, plain, time.Second, 0, time.Second, "closed"},
		"waits":                           {policy.HTTP{BodyTimeout: time.Second}, plain, 0, 500, 20 * time.Second, "open"},
		"waits with a whole body":         {policy.HTTP{BodyTimeout: time.Second}, stalled + "ello", 0, 500, 20 * time.Second, "open"},
	} {
		t.Run(name, func(t *testing.T) {
			var p *sluice.Pipeline
			serving(t, func(t *testing.T) http.Handler {
				p = policyOf(t, strict...)
				return nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if _, err := io.Copy(io.Discard, r.Body); err == nil {
						<-r.Context().Done()
					}
					w.WriteHeader(500)
				}), p, nethttp.WithHTTP(c.bounds))
			}, func(t *testing.T, dial func(string) net.Conn) {
				start := time.Now()
				conn := dial(c.send)
				defer conn.Close()
				if c.leave > 0 {
					time.Sleep(c.leave)
					conn.Close()
				} else {
					resp, _ := answerOf(t, conn)
					assert.Equal(t, c.status, resp.StatusCode)
					assert.Equal(t, c.status != 500 || c.send != plain && c.mode == "closed", resp.Close)
				}
				synctest.Wait()
				assert.Equal(t, c.after, time.Since(start))
				assert.Equal(t, 2, free(t, p))
				assert.Equal(t, c.mode, p.State()[0].Mode)
			})
		})
	}
}

// TestHandlerThatWaitsForItsOwnReasons has not read the body when it is cut.
func TestHandlerThatWaitsForItsOwnReasons(t *testing.T) {
	var p *sluice.Pipeline
	serving(t, func(t *testing.T) http.Handler {
		p = policyOf(t, strict...)
		return nethttp.NewHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = r.Body.Read(make([]byte, 1))
			<-r.Context().Done()
		}), p, bounds)
	}, func(t *testing.T, dial func(string) net.Conn) {
		conn := dial(stalled)
		defer conn.Close()
		resp, _ := answerOf(t, conn)
		assert.Equal(t, 503, resp.StatusCode)
		assert.Equal(t, "open", p.State()[0].Mode)
	})
}

// TestServersOwnTimeoutHolds has a server with a ReadTimeout, which the bounds do not
// lift.
func TestServersOwnTimeoutHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wires := pipes.Listen()
		p := policyOf(t, strict...)
		server := &http.Server{ReadTimeout: 3 * time.Second, ErrorLog: log.New(io.Discard, "", 0), Handler: nethttp.NewHandler(
			http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }), p, bounds)}
		done := make(chan error)
		go func() { done <- server.Serve(wires) }()
		conn, err := wires.Dial(t.Context(), "", "")
		require.NoError(t, err)
		start := time.Now()
		go func() { _, _ = io.WriteString(conn, stalled) }()
		resp, _ := answerOf(t, conn)
		assert.Equal(t, 408, resp.StatusCode)
		assert.Equal(t, 3*time.Second, time.Since(start))
		conn.Close()
		require.NoError(t, server.Close())
		<-done
		time.Sleep(time.Second)
	})
}

// TestHandlersOwnDeadlineHolds has a handler bound the body itself, which the bounds do
// not lift either, and lift its bound again.
func TestHandlersOwnDeadlineHolds(t *testing.T) {
	serving(t, func(t *testing.T) http.Handler {
		return nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			if r.URL.Path == "/lifted" {
				assert.NoError(t, rc.SetReadDeadline(time.Now().Add(time.Second)))
				assert.NoError(t, rc.SetReadDeadline(time.Time{}))
			} else {
				assert.NoError(t, rc.SetReadDeadline(time.Now().Add(3*time.Second)))
			}
			_, _ = io.Copy(io.Discard, r.Body)
		}), policyOf(t, strict...), bounds)
	}, func(t *testing.T, dial func(string) net.Conn) {
		for path, after := range map[string]time.Duration{"/": 3 * time.Second, "/lifted": 10 * time.Second} {
			start := time.Now()
			conn := dial(strings.Replace(stalled, "/", path, 1))
			resp, _ := answerOf(t, conn)
			assert.Equal(t, 408, resp.StatusCode)
			assert.Equal(t, after, time.Since(start), path)
			conn.Close()
		}
	})
}

func TestHandlersAnswerThatIsNotReadIsCut(t *testing.T) {
	var p *sluice.Pipeline
	for name, write := range map[string]func(w http.ResponseWriter) error{
		"pieces": func(w http.ResponseWriter) error { _, err := w.Write(make([]byte, 100)); return err },
		"whole":  func(w http.ResponseWriter) error { _, err := w.Write(make([]byte, 1<<20)); return err },
		"copied": func(w http.ResponseWriter) error {
			_, err := io.Copy(w, onlyReader{strings.NewReader(strings.Repeat("x", 1<<20))})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			serving(t, func(t *testing.T) http.Handler {
				p = policyOf(t, strict...)
				return nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					for write(w) == nil {
					}
					assert.Error(t, r.Context().Err())
				}), p, bounds)
			}, func(t *testing.T, dial func(string) net.Conn) {
				conn := dial(plain)
				defer conn.Close()
				// A client that takes 64 KiB in time goes on.
				time.Sleep(59 * time.Second)
				_, err := io.CopyN(io.Discard, conn, 200<<10)
				require.NoError(t, err)
				time.Sleep(59 * time.Second)
				synctest.Wait()
				assert.Equal(t, 1, free(t, p))
				time.Sleep(time.Second)
				synctest.Wait()
				assert.Equal(t, 2, free(t, p))
				assert.Equal(t, "closed", p.State()[0].Mode)
			})
		})
	}
}

// TestHandlersConnectionIsCut has a handler that takes the connection over and
// returns.
func TestHandlersConnectionIsCut(t *testing.T) {
	var p *sluice.Pipeline
	serving(t, func(t *testing.T) http.Handler {
		p = policyOf(t, strict...)
		return nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, both, err := w.(http.Hijacker).Hijack()
			require.NoError(t, err)
			go func() {
				defer conn.Close()
				for {
					line, err := both.ReadString('\n')
					if err != nil {
						return
					}
					_, _ = both.WriteString("echo " + line)
					_ = both.Flush()
				}
			}()
		}), p, bounds)
	}, func(t *testing.T, dial func(string) net.Conn) {
		conn := dial(plain + "one\n") // what comes behind the head is not lost
		defer conn.Close()
		r := bufio.NewReader(conn)
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "echo one\n", line)
		time.Sleep(59 * time.Second)
		go func() { _, _ = io.WriteString(conn, "two\n") }()
		line, err = r.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "echo two\n", line)
		assert.Equal(t, 1, free(t, p))
		start := time.Now()
		_, err = r.ReadByte()
		assert.Error(t, err)
		assert.Equal(t, time.Minute, time.Since(start))
		synctest.Wait()
		assert.Equal(t, 2, free(t, p))
	})
}

// TestBoundsOfTheDocument has a handler of one policy take the bounds of its document.
func TestBoundsOfTheDocument(t *testing.T) {
	for name, routed := range map[string]bool{"of a pipeline": false, "of a route": true} {
		t.Run(name, func(t *testing.T) {
			serving(t, func(t *testing.T) http.Handler {
				set := parse(t, `
version: 1
policies: {p: {steps: [bulkhead: 1]}}
http: {body: {timeout: 7s}}
routes: [{path: /**, policy: p, http: {body: {timeout: 5s}}}]
`)
				next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
				if routed {
					return nethttp.NewRoutedHandler(next, set)
				}
				return nethttp.NewHandler(next, set.Pipeline("p"))
			}, func(t *testing.T, dial func(string) net.Conn) {
				start := time.Now()
				conn := dial(stalled)
				defer conn.Close()
				resp, body := answerOf(t, conn)
				assert.Equal(t, 408, resp.StatusCode)
				assert.JSONEq(t, `{"type":"about:blank","title":"Request Timeout","status":408,"detail":"The body of the request did not arrive in time.","reason":"body"}`, body)
				assert.Equal(t, map[bool]time.Duration{true: 5 * time.Second, false: 7 * time.Second}[routed], time.Since(start))
			})
		})
	}
}

// writers of which each can do something else.
type (
	bare        struct{ http.ResponseWriter }
	flusher     struct{ bare }
	hijacker    struct{ bare }
	flushHijack struct{ bare }
	wrapping    struct{ http.ResponseWriter }
)

func (flusher) Flush()     {}
func (flushHijack) Flush() {}
func (hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, http.ErrNotSupported
}
func (flushHijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, http.ErrNotSupported
}
func (w wrapping) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestWriterClaimsWhatItCanDo has writers that can flush and be taken over, or not.
func TestWriterClaimsWhatItCanDo(t *testing.T) {
	r := httptest.NewRecorder()
	for name, c := range map[string]struct {
		writer           http.ResponseWriter
		flushes, hijacks bool
	}{
		"neither":         {bare{r}, false, false},
		"flushes":         {flusher{bare{r}}, true, false},
		"hijacks":         {hijacker{bare{r}}, false, true},
		"both":            {flushHijack{bare{r}}, true, true},
		"wrapped neither": {wrapping{bare{r}}, false, false},
		"wrapped both":    {wrapping{flushHijack{bare{r}}}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			check := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, flushes := w.(http.Flusher)
				_, hijacks := w.(http.Hijacker)
				assert.Equal(t, c.flushes, flushes)
				assert.Equal(t, c.hijacks, hijacks)
				err := http.NewResponseController(w).Flush()
				assert.Equal(t, c.flushes, err == nil, err)
			})
			p := policyOf(t, "steps:", "  - bulkhead: 2")
			nethttp.NewHandler(nethttp.NewHandler(check, p), p).ServeHTTP(c.writer, get(t, "/"))
		})
	}
}

// TestCallersBodyThatStalls has a program of this process send a body slowly, by a
// round tripper that waits for it.
func TestCallersBodyThatStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, strict...)
		start := time.Now()
		read, write := io.Pipe()
		defer write.Close()
		next := roundTripper(func(r *http.Request) (*http.Response, error) {
			defer r.Body.Close()
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return nil, err
			}
			return status(200)(r)
		})
		_, err := nethttp.NewTransport(next, p).RoundTrip(request(t, "POST", target, read))
		var late *nethttp.ClientError
		require.ErrorAs(t, err, &late)
		assert.Equal(t, 408, late.Status)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 20*time.Second, time.Since(start))
		assert.Equal(t, "closed", p.State()[0].Mode)
		assert.Equal(t, 2, free(t, p))

		// One that does not take the body is the dependency's failure.
		deaf := roundTripper(func(r *http.Request) (*http.Response, error) {
			defer r.Body.Close()
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		_, err = nethttp.NewTransport(deaf, p).RoundTrip(request(t, "POST", target, onlyReader{strings.NewReader("body")}))
		var cut *sluice.TimeoutError
		require.ErrorAs(t, err, &cut)
		assert.Equal(t, "open", p.State()[0].Mode)
	})
}

// TestClientsOfHTTP2 has streams of one connection: one that stalls, one whose answer
// is not read, one that is silent, and an honest one.
func TestClientsOfHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wires := pipes.Listen()
		p := policyOf(t, "steps:", "  - breaker: {window: {consecutive: 1}, open: 1h}", "  - bulkhead: 3", "  - timeout: 1h")
		guard := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/reads":
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					w.WriteHeader(500)
				}
			case "/writes":
				for {
					if _, err := w.Write(make([]byte, 64<<10)); err != nil {
						return
					}
				}
			case "/silent":
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
		}), p, bounds)
		server := &http.Server{Handler: guard, Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0)}
		server.Protocols.SetUnencryptedHTTP2(true)
		done := make(chan error)
		go func() { done <- server.Serve(wires) }()
		transport := &http.Transport{DialContext: wires.Dial, Protocols: server.Protocols}
		start := time.Now()
		read, write := io.Pipe()
		send := func(path string, body io.Reader) (*http.Response, error) {
			r, err := http.NewRequestWithContext(t.Context(), "POST", "http://x"+path, body)
			require.NoError(t, err)
			return transport.RoundTrip(r)
		}
		go func() { _, _ = write.Write([]byte("h")) }()
		unread, err := send("/writes", nil)
		require.NoError(t, err)
		silent, err := send("/silent", nil)
		require.NoError(t, err)
		late, err := send("/reads", read)
		require.NoError(t, err)
		assert.Equal(t, 408, late.StatusCode)
		assert.Equal(t, "HTTP/2.0", late.Proto)
		assert.Equal(t, 10*time.Second, time.Since(start))
		text(t, late)
		synctest.Wait()
		assert.Equal(t, 1, free(t, p))
		honest, err := send("/reads", strings.NewReader("hello"))
		require.NoError(t, err)
		assert.Equal(t, 200, honest.StatusCode)
		text(t, honest)
		_, err = silent.Body.Read(make([]byte, 1))
		assert.Error(t, err)
		assert.Equal(t, time.Minute, time.Since(start))
		synctest.Wait()
		assert.Equal(t, 3, free(t, p))
		assert.Equal(t, "closed", p.State()[0].Mode)
		unread.Body.Close()
		write.Close()
		transport.CloseIdleConnections()
		require.NoError(t, server.Close())
		<-done
		synctest.Wait()
	})
}
