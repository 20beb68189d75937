package scenarios_test

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
)

// TestBrownOut has an upstream fail: the breaker opens within its window, its probes are
// counted across workers, and it closes when the upstream is well again.
func TestBrownOut(t *testing.T) {
	const window, probes = 40, 3
	var failing, holding atomic.Bool
	held := make(chan struct{})
	upstream := envoytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if holding.Load() {
			<-held
		}
		if failing.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	e := start(t, document("process", `{"breaker":{"window":{"calls":40},"minimum":40,"failure_rate":"50%","open":"300ms","probes":3}}`), upstream.Address())
	load := envoy.Load{Address: e.Address(), Connections: 16, Requests: 200}
	assert.Equal(t, map[int]int64{200: 200}, envoytest.Send(t, load).Statuses)

	failing.Store(true)
	before := upstream.Served()
	result := envoytest.Send(t, load)
	// Half of the window's calls have to fail; requests under way end as well.
	assert.LessOrEqual(t, upstream.Served()-before, int64(window/2+16))
	assert.Positive(t, result.Statuses[503])
	c := envoytest.Clients(t, e)
	refused := c.Get("/")
	assert.Equal(t, 503, refused.Status)
	assert.Equal(t, problem("temporary-reduced-capacity", "Request cannot be satisfied due to temporary server capacity constraints",
		"The service is failing and is given time to recover.", "open", "breaker", 503), refused.Body)
	assert.Equal(t, []string{"1"}, refused.Header.Values("Retry-After"))

	// Half-open, with the upstream still failing: the probes are out at once.
	holding.Store(true)
	stop, done := make(chan struct{}), make(chan envoy.Result, 1)
	go func() {
		result, err := (&envoy.Load{Address: e.Address(), Connections: 32, Duration: time.Minute, Pause: time.Millisecond, Stop: stop}).Run()
		assert.NoError(t, err)
		done <- result
	}()
	envoytest.Eventually(t, "the probes are out", func() bool { return upstream.Running() == probes })
	for range 20 { // refused while they are out, whichever worker has the request
		assert.Equal(t, 503, c.Get("/").Status)
	}
	assert.Equal(t, int64(probes), upstream.Running())
	failing.Store(false)
	holding.Store(false)
	close(held)
	envoytest.Eventually(t, "the breaker closes", func() bool { return c.Get("/").Status == 200 })
	close(stop)
	<-done
	assert.Equal(t, map[int]int64{200: 200}, envoytest.Send(t, load).Statuses)
}

// TestClientsLeave has clients disconnect before the answer, in the middle of it, and in
// the middle of their own bodies: the places of the bulkhead come back.
func TestClientsLeave(t *testing.T) {
	const places = 4
	inEachState(t, func(t *testing.T, state string) {
		release := make(chan struct{})
		upstream := envoytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/middle" {
				_, _ = io.WriteString(w, "a part")
				_ = http.NewResponseController(w).Flush()
			}
			if r.URL.Path != "/" {
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}
		})
		e := start(t, document(state, `{"bulkhead":{"concurrent":4}}`), upstream.Address())
		c := envoytest.HTTP2Client(t, e) // one worker, so that its places are the same in both states
		for _, path := range []string{"/before", "/middle", "/body"} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{}, places)
			for range places {
				var body io.Reader
				if path == "/body" {
					r, w := io.Pipe()
					defer w.Close()
					body = r
				}
				r := c.Request(ctx, http.MethodPost, path, body)
				go func() {
					defer func() { ended <- struct{}{} }()
					resp, err := c.Open(r)
					if err == nil {
						_, err = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
					assert.ErrorIs(t, err, context.Canceled)
				}()
			}
			envoytest.Eventually(t, "all places are taken", func() bool { return upstream.Running() == places })
			refused := c.Get("/")
			assert.Equal(t, 503, refused.Status)
			assert.Equal(t, []string{"full"}, refused.Header.Values("X-Throttle-Reason"))
			cancel()
			for range places {
				<-ended
			}
			envoytest.Eventually(t, "the places come back", func() bool { return c.Get("/").Status == 200 })
			envoytest.Eventually(t, "the upstream is idle", func() bool { return upstream.Running() == 0 })
		}
		assert.Equal(t, int64(places), upstream.Most())
		close(release)
	})
}

// TestBulkheadAcrossWorkers never has more requests at the upstream than places, from
// whichever workers, and none is lost.
func TestBulkheadAcrossWorkers(t *testing.T) {
	const places = 5
	upstream := envoytest.Serve(t, func(http.ResponseWriter, *http.Request) { time.Sleep(time.Millisecond) })
	e := start(t, document("process", `{"bulkhead":{"concurrent":5}}`), upstream.Address())
	load := envoy.Load{Address: e.Address(), Connections: 32, Requests: 3000}
	result := envoytest.Send(t, load)
	assert.Equal(t, int64(places), upstream.Most())
	assert.Positive(t, result.Statuses[503])
	load.Connections = places
	assert.Equal(t, map[int]int64{200: load.Requests}, envoytest.Send(t, load).Statuses, "no place is lost")
}

// TestGRPC has calls of gRPC: their status in the trailers is a vote, and a refusal is an
// answer of gRPC.
func TestGRPC(t *testing.T) {
	inEachState(t, func(t *testing.T, state string) {
		var status atomic.Int32
		upstream := envoytest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			envoy.AnswerGRPC(w, 0, int(status.Load()))
		})
		e := start(t, document(state, `{"limit":{"rate":"8/1h"}},{"breaker":{"window":{"consecutive":3},"open":"1h"}}`), upstream.Address())
		c := envoytest.HTTP2Client(t, e)
		call := func() string {
			a := c.Call("/pkg.Service/Method")
			assert.Equal(t, 200, a.Status)
			if text := a.Trailer.Get("Grpc-Status"); text != "" {
				return text
			}
			return a.Header.Get("Grpc-Status")
		}
		refusedWith := func(code, message, pushback string) {
			a := c.Call("/pkg.Service/Method")
			assert.Equal(t, 200, a.Status)
			assert.Empty(t, a.Body)
			assert.Equal(t, []string{code}, a.Header.Values("Grpc-Status"))
			assert.Equal(t, []string{message}, a.Header.Values("Grpc-Message"))
			assert.Equal(t, []string{pushback}, a.Header.Values("Grpc-Retry-Pushback-Ms"))
			assert.Equal(t, []string{"application/grpc"}, a.Header.Values("Content-Type"))
		}
		assert.Equal(t, "0", call())
		status.Store(5) // NOT_FOUND is no failure of the dependency
		for range 4 {
			assert.Equal(t, "5", call())
		}
		status.Store(14)
		for range 3 {
			assert.Equal(t, "14", call())
		}
		refusedWith("8", "Too many requests for now.", "450000")
		assert.Equal(t, int64(8), upstream.Served())

		f := filter(t, document(state, `{"breaker":{"window":{"consecutive":3},"open":"1h"}}`))
		c = envoytest.HTTP2Client(t, envoytest.Start(t, envoy.Config{Upstream: upstream.Address(), Filters: []envoy.Filter{f.Filter()}}))
		for range 3 {
			assert.Equal(t, "14", call())
		}
		refusedWith("14", "The service is failing and is given time to recover.", "3600000")
	})
}

// TestStreamsOfOneConnection has many requests at once on one connection of HTTP/2.
func TestStreamsOfOneConnection(t *testing.T) {
	upstream := envoytest.Serve(t, func(http.ResponseWriter, *http.Request) {})
	c := envoytest.HTTP2Client(t, start(t, document("process", `{"limit":{"rate":"70/1h"}}`), upstream.Address()))
	statuses := make(chan int)
	for range 100 {
		go func() { statuses <- c.Get("/").Status }()
	}
	counts := map[int]int{}
	for range 100 {
		counts[<-statuses]++
	}
	assert.Equal(t, map[int]int{200: 70, 429: 30}, counts)
}

// TestTrap has a worker's VM fail: Envoy makes another, and what all workers share is
// kept.
func TestTrap(t *testing.T) {
	f := filter(t, document("process", `{"limit":{"rate":"1000/1h"}}`))
	f.Module = envoytest.Trapping(t, f.Module)
	e := envoytest.Start(t, envoy.Config{Filters: []envoy.Filter{f.Filter()}})
	load := envoy.Load{Address: e.Address(), Connections: 32, Requests: 400}
	require.Equal(t, map[int]int64{200: 400}, envoytest.Send(t, load).Statuses)
	assert.Equal(t, 503, envoytest.Clients(t, e).Get("/", envoytest.TrapRequest()...).Status)
	var admitted int64 = 400
	load.Pause = 10 * time.Millisecond
	for {
		result := envoytest.Send(t, load)
		admitted += result.Statuses[200]
		if result.Statuses[503] == 0 && result.Statuses[200] == 0 {
			break
		}
	}
	assert.Equal(t, int64(1000), admitted)
}
