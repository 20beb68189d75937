package nethttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

// bounded has timeouts of a call and of an attempt around places.
var bounded = []string{
	"steps:", "  - timeout: 20s", "  - retry: {attempts: 2, backoff: none}", "  - breaker: {window: {consecutive: 1}, open: 1h}", "  - bulkhead: 2", "  - timeout: 10s",
}

// TestTimeoutsCutBodies has bodies that stall, come slowly, or are not read.
func TestTimeoutsCutBodies(t *testing.T) {
	all := func(resp *http.Response) error { _, err := io.ReadAll(resp.Body); return err }
	for name, c := range map[string]struct {
		answer  func(*http.Request) (*http.Response, error)
		options []nethttp.Option
		read    func(*http.Response) error
		step    string // of the timeout, empty for none
		after   time.Duration
		free    int // when the read has ended
	}{
		"in time":                  {drips(io.EOF, 4*time.Second, 5*time.Second), nil, all, "", 9 * time.Second, 2},
		"stalled":                  {drips(io.EOF, time.Second, time.Hour), nil, all, "timeout-2", 10 * time.Second, 2},
		"slow":                     {drips(io.EOF, 6*time.Second, 6*time.Second), nil, all, "timeout-2", 10 * time.Second, 2},
		"of a failure":             {stalls(500), nil, all, "timeout-2", 10 * time.Second, 2},
		"read late":                {drips(io.EOF, time.Second), nil, func(resp *http.Response) error { time.Sleep(15 * time.Second); return all(resp) }, "timeout-2", 15 * time.Second, 2},
		"not read":                 {drips(io.EOF, time.Hour), nil, func(*http.Response) error { time.Sleep(10 * time.Second); return nil }, "", 10 * time.Second, 2},
		"not read yet":             {drips(io.EOF, time.Hour), nil, func(*http.Response) error { time.Sleep(9 * time.Second); return nil }, "", 9 * time.Second, 1},
		"closed":                   {drips(io.EOF, time.Hour), nil, func(resp *http.Response) error { return resp.Body.Close() }, "", 0, 2},
		"broken":                   {drips(errBroken, time.Second), nil, all, "", time.Second, 2},
		"timeouts of headers":      {drips(io.EOF, time.Minute), []nethttp.Option{nethttp.WithHeaderTimeouts()}, all, "", time.Minute, 2},
		"held without a timeout":   {drips(io.EOF, time.Hour), []nethttp.Option{nethttp.WithHeaderTimeouts()}, func(*http.Response) error { time.Sleep(time.Minute); return nil }, "", time.Minute, 1},
		"idle":                     {drips(io.EOF, 2*time.Second, 2*time.Second, 4*time.Second), []nethttp.Option{nethttp.WithIdleTimeout(3 * time.Second)}, all, "idle", 7 * time.Second, 2},
		"idle, timeout of headers": {drips(io.EOF, 2*time.Minute, 4*time.Minute), []nethttp.Option{nethttp.WithHeaderTimeouts(), nethttp.WithIdleTimeout(3 * time.Minute)}, all, "idle", 5 * time.Minute, 2},
		"busy":                     {drips(io.EOF, 2*time.Second, 2*time.Second, 2*time.Second), []nethttp.Option{nethttp.WithIdleTimeout(3 * time.Second)}, all, "", 6 * time.Second, 2},
		"its reader is idle":       {drips(io.EOF, time.Second), []nethttp.Option{nethttp.WithIdleTimeout(3 * time.Second)}, func(resp *http.Response) error { time.Sleep(8 * time.Second); return all(resp) }, "", 9 * time.Second, 2},
		"its reader pauses": {drips(io.EOF, time.Second, time.Second), []nethttp.Option{nethttp.WithIdleTimeout(3 * time.Second)}, func(resp *http.Response) error {
			if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
				return err
			}
			time.Sleep(5 * time.Second)
			return all(resp)
		}, "", 7 * time.Second, 2},
		"idle, a part of its call": {drips(io.EOF, 4*time.Second), []nethttp.Option{nethttp.WithWholeAnswers(), nethttp.WithIdleTimeout(3 * time.Second)}, all, "idle", 3 * time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := policyOf(t, bounded...)
				var events []string
				p.Listen(func(e sluice.Event) { events = append(events, e.Kind.String()) }, sluice.EventEnd, sluice.EventTimeout)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var sent context.Context
				next := roundTripper(func(r *http.Request) (*http.Response, error) {
					sent = r.Context()
					return c.answer(r)
				})
				resp, err := nethttp.NewTransport(next, p, c.options...).RoundTrip(get(t, target).WithContext(ctx))
				require.NoError(t, err)
				require.NoError(t, sent.Err(), "the context of the attempt lives")
				start, ended := time.Now(), len(events)
				err = c.read(resp)
				assert.Equal(t, c.after, time.Since(start))
				synctest.Wait()
				assert.Equal(t, c.free, free(t, p))
				var cut *sluice.TimeoutError
				if errors.As(err, &cut) {
					var timeout net.Error
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					assert.False(t, errors.As(err, &timeout) && !timeout.Timeout())
					assert.Equal(t, c.step, cut.Step)
				} else {
					assert.Empty(t, c.step)
				}
				if name != "of a failure" && name != "idle, a part of its call" {
					assert.Equal(t, "closed", mode(p), "the headers voted")
					assert.Len(t, events, ended, "the call has ended with the headers")
				}
				resp.Body.Close()
				assert.Equal(t, 2, free(t, p))
				assert.Error(t, sent.Err(), "the context of the attempt ends with the body")
			})
		})
	}
}

// stalls answers with a status and a body of which nothing comes.
func stalls(code int) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := drips(io.EOF, time.Hour)(r)
		resp.StatusCode = code
		return resp, err
	}
}

// TestTimeoutsCutBodiesOfHedges cuts the body of the winner.
func TestTimeoutsCutBodiesOfHedges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - hedge: {after: 1s}", "  - bulkhead: 2", "  - timeout: 10s")
		resp, err := nethttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			if number, _, _ := sluice.AttemptOf(r.Context()); number == 1 {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return drips(io.EOF, time.Second, time.Hour)(r)
		}), p).RoundTrip(get(t, target))
		require.NoError(t, err)
		synctest.Wait()
		assert.Equal(t, 1, free(t, p))
		start := time.Now()
		_, err = io.ReadAll(resp.Body)
		var cut *sluice.TimeoutError
		require.ErrorAs(t, err, &cut)
		assert.Equal(t, 10*time.Second, time.Since(start))
		synctest.Wait()
		assert.Equal(t, 2, free(t, p))
	})
}

// TestBodyOfACallerThatLeaves frees its place although it is not read.
func TestBodyOfACallerThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - bulkhead: 1")
		ctx, cancel := context.WithCancel(t.Context())
		_, err := nethttp.NewTransport(answers(drips(io.EOF, time.Hour)), p).RoundTrip(get(t, target).WithContext(ctx)) //nolint:bodyclose // it is not closed
		require.NoError(t, err)
		assert.Equal(t, 0, free(t, p))
		cancel()
		synctest.Wait()
		assert.Equal(t, 1, free(t, p))
	})
}

// TestTimeoutsOfAProxyEndWithTheHeaders, whose bounds come from the document.
func TestTimeoutsOfAProxyEndWithTheHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - bulkhead: 1", "  - timeout: 10s")
		tr := nethttp.NewTransport(answers(drips(io.EOF, 20*time.Second, 20*time.Second)), p)
		rewrite := func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "upstream" }
		w := httptest.NewRecorder()
		tr.Proxy(&httputil.ReverseProxy{Rewrite: rewrite, Transport: tr}).ServeHTTP(w, get(t, "http://front/"))
		assert.Equal(t, "xx", w.Body.String())
		assert.Equal(t, 1, free(t, p))
	})
}

// TestUpgradedConnectionsAreNotCut by the timeout of the request that made them.
func TestUpgradedConnectionsAreNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - bulkhead: 1", "  - timeout: 10s")
		one, other := net.Pipe()
		defer other.Close()
		resp, err := nethttp.NewTransport(answers(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 101, Header: http.Header{"Upgrade": {"x"}}, Body: one}, nil
		}), p).RoundTrip(get(t, target))
		require.NoError(t, err)
		time.Sleep(time.Minute)
		go func() { _, _ = other.Write([]byte("late")) }()
		b := make([]byte, 4)
		_, err = io.ReadFull(resp.Body, b)
		require.NoError(t, err)
		assert.Equal(t, 0, free(t, p))
		resp.Body.Close()
		assert.Equal(t, 1, free(t, p))
	})
}

// TestBodyThatStallsOverTheWire, with net/http below.
func TestBodyThatStallsOverTheWire(t *testing.T) {
	for name, c := range map[string]struct {
		steps   string
		options []nethttp.Option
	}{
		"timeout": {"[{bulkhead: 1}, {timeout: 10s}]", nil},
		"idle":    {"[{bulkhead: 1}]", []nethttp.Option{nethttp.WithIdleTimeout(10 * time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			gone := 0
			serving(t, func(*testing.T) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.WriteString(w, "a line\n")
					w.(http.Flusher).Flush()
					<-r.Context().Done()
					gone++
				})
			}, func(t *testing.T, dial func(string) net.Conn) {
				p := policyOf(t, "steps: "+c.steps)
				wire := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return dial(""), nil }}
				client := &http.Client{Transport: nethttp.NewTransport(wire, p, c.options...)}
				resp, err := client.Do(get(t, target))
				require.NoError(t, err)
				defer resp.Body.Close()
				_, err = client.Do(get(t, target)) //nolint:bodyclose // it is refused
				require.ErrorIs(t, err, sluice.ErrRejected)
				start := time.Now()
				read, err := io.ReadAll(resp.Body)
				assert.Equal(t, "a line\n", string(read))
				assert.Equal(t, 10*time.Second, time.Since(start))
				var cut *sluice.TimeoutError
				require.ErrorAs(t, err, &cut)
				synctest.Wait()
				assert.Equal(t, 1, free(t, p))
				assert.Equal(t, 1, gone, "the connection is closed")
				wire.CloseIdleConnections()
			})
		})
	}
}

// TestHeldPlaceIsThatOfTheNextAttempt: a retry that looks for a free place finds the one that
// its own failed attempt still has.
func TestHeldPlaceIsThatOfTheNextAttempt(t *testing.T) {
	for _, bulkhead := range []string{"  - bulkhead: 1", "  - bulkhead: {concurrent: 1, per: host}"} {
		p := policyOf(t, "steps:", "  - retry: {attempts: 2, backoff: none, budget: {adaptive: 10s}}", bulkhead)
		next := answers(status(503), status(200))
		resp, err := nethttp.NewTransport(next, p).RoundTrip(get(t, target))
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode, bulkhead)
		text(t, resp)
	}
}
