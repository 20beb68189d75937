package nethttp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

// dripping is the body of an answer: each read takes a time, or until the end of the
// context.
type dripping struct {
	ctx   context.Context
	parts []time.Duration
	err   error // after the parts
}

func (d *dripping) Read(p []byte) (int, error) {
	if len(d.parts) == 0 {
		return 0, d.err
	}
	select {
	case <-time.After(d.parts[0]):
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
	d.parts = d.parts[1:]
	p[0] = 'x'
	return 1, nil
}

func (d *dripping) Close() error { return nil }

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// drips answers with a body of such parts.
func drips(err error, parts ...time.Duration) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, ContentLength: -1, Header: http.Header{}, Body: &dripping{r.Context(), parts, err}}, nil
	}
}

// voting has a breaker that one failure or one slow answer opens.
var voting = []string{
	"steps:", "  - retry: {attempts: 3, backoff: none}",
	"  - breaker: {window: {calls: 1}, minimum: 1, slow: {over: 3s, rate: 100%}, open: 1h}", "  - bulkhead: 2", "  - timeout: 10s",
}

// mode is the mode of the breaker.
func mode(p *sluice.Pipeline) string {
	for _, s := range p.State() {
		if s.Mode != "" {
			return s.Mode
		}
	}
	return ""
}

var errBroken = errors.New("broken")

func TestTransportOfWholeAnswers(t *testing.T) {
	reads := func(t *testing.T, resp *http.Response) { _, _ = io.Copy(io.Discard, resp.Body) }
	readsAfter := func(pause time.Duration) func(*testing.T, *http.Response) {
		return func(_ *testing.T, resp *http.Response) {
			time.Sleep(pause)
			_, _ = io.Copy(io.Discard, resp.Body)
		}
	}
	for name, c := range map[string]struct {
		answer  func(*http.Request) (*http.Response, error)
		read    func(*testing.T, *http.Response)
		headers string // the mode of the breaker where the call ends with the headers
		mode    string // where it ends with the body
		free    int    // while the body is read to its end and not closed
	}{
		"in time":                 {drips(io.EOF, time.Second, time.Second), reads, "closed", "closed", 2},
		"slow":                    {drips(io.EOF, 2*time.Second, 2*time.Second), reads, "closed", "open", 2},
		"broken":                  {drips(errBroken, time.Second), reads, "closed", "open", 2},
		"cut":                     {drips(io.EOF, time.Hour), reads, "closed", "open", 2},
		"read late":               {drips(io.EOF, time.Second), readsAfter(5 * time.Second), "closed", "closed", 2},
		"slow and read late":      {drips(io.EOF, 4*time.Second), readsAfter(time.Second), "closed", "open", 2},
		"cut while no read waits": {drips(io.EOF, time.Second), readsAfter(time.Minute), "closed", "closed", 2},
		"cut after a pause":       {drips(io.EOF, time.Hour), readsAfter(2 * time.Second), "closed", "closed", 2},
		"cut after a short one":   {drips(io.EOF, time.Hour), readsAfter(time.Second), "closed", "open", 2},
		"closed early":            {drips(io.EOF, time.Hour), func(_ *testing.T, resp *http.Response) { resp.Body.Close() }, "closed", "closed", 2},
		"not read yet":            {drips(io.EOF, time.Hour), func(*testing.T, *http.Response) {}, "closed", "closed", 1},
		"of gRPC, good":           {grpcAnswer("0", "mm", false), reads, "closed", "closed", 2},
		"of gRPC, failed":         {grpcAnswer("14", "mm", false), reads, "closed", "open", 2},
		"of gRPC, its caller's":   {grpcAnswer("3", "mm", false), reads, "closed", "closed", 2},
		"of no success":           {status(404), func(*testing.T, *http.Response) {}, "closed", "closed", 1},
		"without a body": {func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 204, Body: http.NoBody}, nil
		}, reads, "closed", "closed", 2},
	} {
		t.Run(name, func(t *testing.T) {
			for _, whole := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					p, next := policyOf(t, voting...), answers(c.answer)
					var options []nethttp.Option
					want := c.headers
					if whole {
						options, want = append(options, nethttp.WithWholeAnswers()), c.mode
					}
					ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour) // ends what the headers alone do not
					defer cancel()
					resp, err := nethttp.NewTransport(next, p, options...).RoundTrip(get(t, target).WithContext(ctx))
					require.NoError(t, err)
					c.read(t, resp)
					synctest.Wait()
					assert.Equal(t, c.free, free(t, p))
					assert.Equal(t, want, mode(p))
					assert.Len(t, next.seen, 1, "no attempt follows an answer of which a part was handed over")
					require.NoError(t, resp.Body.Close())
					assert.Equal(t, 2, free(t, p))
					assert.Equal(t, want, mode(p))
				})
			}
		})
	}
}

// TestWholeAnswerOfACallerThatLeaves gives no vote.
func TestWholeAnswerOfACallerThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, voting...)
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := nethttp.NewTransport(answers(drips(io.EOF, time.Hour)), p, nethttp.WithWholeAnswers()).RoundTrip(get(t, target).WithContext(ctx))
		require.NoError(t, err)
		time.AfterFunc(5*time.Second, cancel)
		_, err = io.Copy(io.Discard, resp.Body)
		require.ErrorIs(t, err, context.Canceled)
		synctest.Wait()
		assert.Equal(t, "closed", mode(p))
		assert.Equal(t, 2, free(t, p))
		require.NoError(t, resp.Body.Close())
	})
}

// TestWholeAnswersAreNotHedged: whose race is over with the headers.
func TestWholeAnswersAreNotHedged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - breaker: {window: {calls: 1}, open: 1h}", "  - hedge: {after: 1s}", "  - bulkhead: 2")
		resp, err := nethttp.NewTransport(answers(drips(errBroken, time.Second)), p, nethttp.WithWholeAnswers()).RoundTrip(get(t, target))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.ErrorIs(t, err, errBroken)
		assert.Equal(t, "closed", mode(p))
		assert.Equal(t, 2, free(t, p))
	})
}

func TestHandlerOfWholeAnswers(t *testing.T) {
	begins := func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, "x")
		w.(http.Flusher).Flush()
	}
	large := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) }
	copied := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, io.LimitReader(onlyReader{zeros{}}, 1<<20))
	}
	read := func(_ *testing.T, conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		client  func(*testing.T, net.Conn)
		headers string // the mode of the breaker where the call ends with the headers
		mode    string // where it ends with the body
		after   time.Duration
	}{
		"in time": {func(w http.ResponseWriter, _ *http.Request) { begins(w); time.Sleep(time.Second) }, read, "closed", "closed", time.Second},
		"slow":    {func(w http.ResponseWriter, _ *http.Request) { begins(w); time.Sleep(4 * time.Second) }, read, "closed", "open", 4 * time.Second},
		"cut": {func(w http.ResponseWriter, r *http.Request) {
			begins(w)
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}, read,
			"closed", "open", 10 * time.Second},
		"crashed": {func(w http.ResponseWriter, _ *http.Request) { begins(w); panic(http.ErrAbortHandler) }, read, "closed", "open", 0},
		"of gRPC, failed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			begins(w)
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "14")
		}, read, "closed", "open", 0},
		"read late":         {large, func(t *testing.T, conn net.Conn) { time.Sleep(5 * time.Second); read(t, conn) }, "closed", "closed", 5 * time.Second},
		"copied, read late": {copied, func(t *testing.T, conn net.Conn) { time.Sleep(5 * time.Second); read(t, conn) }, "closed", "closed", 5 * time.Second},
		"not read":          {large, func(*testing.T, net.Conn) { time.Sleep(time.Minute) }, "closed", "closed", time.Minute},
		"not read, abandoned": {func(w http.ResponseWriter, r *http.Request) {
			large(w, r)
			panic(http.ErrAbortHandler)
		}, func(_ *testing.T, conn net.Conn) { time.Sleep(time.Second); conn.Close() }, "closed", "closed", time.Second},
		"fails": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, read, "open", "open", 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, whole := range []bool{false, true} {
				var p *sluice.Pipeline
				options, want := []nethttp.Option{bounds}, c.headers
				if whole {
					options, want = append(options, nethttp.WithWholeAnswers()), c.mode
				}
				ended := make(chan time.Duration, 1)
				serving(t, func(t *testing.T) http.Handler {
					p = policyOf(t, voting...)
					start := time.Now()
					return nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						defer func() { ended <- time.Since(start) }()
						c.handler(w, r)
					}), p, options...)
				}, func(t *testing.T, dial func(string) net.Conn) {
					conn := dial("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
					defer conn.Close()
					c.client(t, conn)
					synctest.Wait()
					if whole {
						assert.Equal(t, c.after, <-ended)
					}
					assert.Equal(t, want, mode(p))
					assert.Equal(t, 2, free(t, p))
				})
			}
		})
	}
}

// TestWholeAnswerOfAFallback is decided by the headers, and votes once.
func TestWholeAnswerOfAFallback(t *testing.T) {
	serving(t, func(t *testing.T) http.Handler {
		p := policyOf(t, append(voting[:len(voting):len(voting)], "fallback: {status: 203, body: other}")...)
		return nethttp.NewHandler(says(500, "no"), p, nethttp.WithWholeAnswers())
	}, func(t *testing.T, dial func(string) net.Conn) {
		conn := dial(plain)
		defer conn.Close()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		assert.Equal(t, 203, resp.StatusCode)
		assert.Equal(t, "other", text(t, resp))
	})
}

// TestEmptyAnswersVote: a handler that returns without an answer has given one, whose vote
// counts, also where votes wait for the end of the answer.
func TestEmptyAnswersVote(t *testing.T) {
	for name, options := range map[string][]nethttp.Option{"headers": nil, "whole": {nethttp.WithWholeAnswers()}} {
		t.Run(name, func(t *testing.T) {
			p := policyOf(t, "steps: [{breaker: {window: {calls: 2}, minimum: 2}}]")
			var ends []string
			p.Listen(func(e sluice.Event) { ends = append(ends, e.Outcome.String()) }, sluice.EventEnd)
			serve(nethttp.NewHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), p, options...), get(t, "/"))
			assert.Equal(t, []string{"ok"}, ends)
		})
	}
}
