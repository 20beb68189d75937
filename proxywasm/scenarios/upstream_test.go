package scenarios_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
	"github.com/sluice-go/sluice/proxywasm/scenarios/exchanges"
)

// TestBrownOut has an upstream fail: the breaker opens within its window, its probes are
// counted across workers, and it closes when the upstream is well again.
func TestBrownOut(t *testing.T) {
	const window, probes, connections = 40, 3, 16
	s := at(t, "process")
	var failing, holding atomic.Bool
	var served, out atomic.Int64
	release := make(chan struct{})
	s.handle("brown-out", func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		if holding.Load() {
			out.Add(1)
			<-release
			out.Add(-1)
		}
		if failing.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	load := envoy.Load{Address: s.Address(), Path: "/brown-out/", Connections: connections, Requests: 200}
	assert.Equal(t, map[int]int64{200: 200}, envoytest.Send(t, load).Statuses)

	failing.Store(true)
	before := served.Load()
	result := envoytest.Send(t, load)
	// Half of the window's calls have to fail; requests under way end as well.
	assert.LessOrEqual(t, served.Load()-before, int64(window/2+connections+probes))
	assert.Positive(t, result.Statuses[503])
	c := envoytest.Clients(t, s.Envoy)
	var refused envoytest.Answer
	envoytest.Eventually(t, "the breaker is open", func() bool {
		refused = c.Get("/brown-out/")
		return refused.Header.Get("X-Throttle-Reason") == "open"
	})
	assert.Equal(t, 503, refused.Status)
	assert.Equal(t, exchanges.Problem("temporary-reduced-capacity", "Request cannot be satisfied due to temporary server capacity constraints",
		"The service is failing and is given time to recover.", "open", "breaker", 503), refused.Body)
	fields(t, refused.Header, map[string]string{"Retry-After": "1"})

	// Half-open: all probes are out, and stay out.
	holding.Store(true)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, err := (&envoy.Load{Address: s.Address(), Path: "/brown-out/", Connections: 32, Duration: time.Minute, Pause: time.Millisecond, Stop: stop}).Run()
		assert.NoError(t, err)
	}()
	envoytest.Eventually(t, "the probes are out", func() bool { return out.Load() == probes })
	for range 20 { // whichever worker has the request
		a := c.Get("/brown-out/")
		assert.Equal(t, 503, a.Status)
		fields(t, a.Header, map[string]string{"X-Throttle-Reason": "probes"})
	}
	assert.Equal(t, int64(probes), out.Load())
	failing.Store(false)
	holding.Store(false)
	close(release)
	envoytest.Eventually(t, "the breaker closes", func() bool { return c.Get("/brown-out/").Status == 200 })
	close(stop)
	<-done
	assert.Equal(t, map[int]int64{200: 200}, envoytest.Send(t, load).Statuses)
}

// TestClientsLeave has clients disconnect before the answer, in the middle of it, and in
// the middle of their own bodies: the places of the bulkhead come back.
func TestClientsLeave(t *testing.T) {
	inEachState(t, func(t *testing.T, s *site) {
		var inside atomic.Int64
		s.handle("leave", func(w http.ResponseWriter, r *http.Request) {
			inside.Add(1)
			defer inside.Add(-1)
			switch r.URL.Path {
			case "/leave/at-once":
				return
			case "/leave/middle":
				_, _ = io.WriteString(w, "a part")
				_ = http.NewResponseController(w).Flush()
			}
			_, _ = io.Copy(io.Discard, r.Body) // a server by HTTP/1.1 notices behind the body that a client left
			<-r.Context().Done()
		})
		clients := []*envoytest.Client{envoytest.HTTP2Client(t, s.Envoy)} // one worker, so that its places are the same in both states
		if s == at(t, "process") {
			clients = append(clients, envoytest.Clients(t, s.Envoy)) // all workers, by HTTP/1.1
		}
		for _, c := range clients {
			leave(t, c, &inside)
		}
	})
}

const places = 4 // of the bulkhead of TestClientsLeave

// leave has clients take all places and disconnect, at each time at which they may.
func leave(t *testing.T, c *envoytest.Client, inside *atomic.Int64) {
	for _, path := range []string{"/leave/before", "/leave/middle", "/leave/body"} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{}, places)
		for range places {
			var body io.Reader
			if path == "/leave/body" {
				r, w := io.Pipe()
				context.AfterFunc(ctx, func() { w.CloseWithError(context.Canceled) })
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
		envoytest.Eventually(t, "all places are taken", func() bool { return inside.Load() == places })
		refused := c.Get("/leave/at-once")
		assert.Equal(t, 503, refused.Status)
		fields(t, refused.Header, map[string]string{"X-Throttle-Reason": "full"})
		cancel()
		for range places {
			<-ended
		}
		envoytest.Eventually(t, "the places come back", func() bool { return c.Get("/leave/at-once").Status == 200 })
		envoytest.Eventually(t, "the upstream is idle", func() bool { return inside.Load() == 0 })
	}
}

// TestBulkheadAcrossWorkers never has more requests at the upstream than places, from
// whichever workers, and loses none.
func TestBulkheadAcrossWorkers(t *testing.T) {
	const places = 5
	s := at(t, "process")
	var inside, most atomic.Int64
	s.handle("bulkhead", func(http.ResponseWriter, *http.Request) {
		n := inside.Add(1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		time.Sleep(time.Millisecond) // work that other requests meet
		inside.Add(-1)
	})
	load := envoy.Load{Address: s.Address(), Path: "/bulkhead/", Connections: 32, Requests: 3000}
	result := envoytest.Send(t, load)
	assert.Equal(t, int64(places), most.Load())
	assert.Positive(t, result.Statuses[503])
	c := envoytest.Clients(t, s.Envoy)
	assert.Equal(t, map[int]int{200: 100}, statusesOf(c, 100, "/bulkhead/"), "no place is lost")
}

// TestVotes has the upstream close connections in place of an answer, and answer late:
// both are votes.
func TestVotes(t *testing.T) {
	s := at(t, "process")
	s.handle("resets", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			conn.Close()
		}
	})
	s.handle("slow", func(http.ResponseWriter, *http.Request) { time.Sleep(60 * time.Millisecond) })
	c := envoytest.Clients(t, s.Envoy)
	for _, path := range []string{"/resets/", "/slow/"} {
		for range 3 {
			a := c.Get(path)
			assert.Empty(t, a.Header.Values("X-Throttle-Reason"), path)
		}
		a := c.Get(path)
		assert.Equal(t, 503, a.Status)
		fields(t, a.Header, map[string]string{"X-Throttle-Reason": "open"})
	}
}

// TestStreamsOfOneConnection has many requests at once on one connection of HTTP/2.
func TestStreamsOfOneConnection(t *testing.T) {
	c := envoytest.HTTP2Client(t, at(t, "process").Envoy)
	statuses := make(chan int)
	for range 100 {
		go func() { statuses <- c.Get("/streams/").Status }()
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
	f := filter(t, document("process", `{"limit":{"rate":"1000/100h"}}`)) // a permit every six minutes
	f.Module = envoytest.Trapping(t, f.Module)
	e := envoytest.Start(t, envoy.Config{Filters: []envoy.Filter{f.Filter()}})
	load := envoy.Load{Address: e.Address(), Connections: 32, Requests: 400}
	require.Equal(t, map[int]int64{200: 400}, envoytest.Send(t, load).Statuses)
	assert.Equal(t, 503, envoytest.Clients(t, e).Get("/", envoytest.TrapRequest()...).Status)
	admitted := int64(400)
	for {
		result := envoytest.Send(t, load)
		if admitted += result.Statuses[200]; result.Statuses[503] == 0 && result.Statuses[200] == 0 {
			break // every worker has a VM again, and no permit is left
		}
	}
	assert.Equal(t, int64(1000), admitted)
}

// TestTrapEndsLeases has the VM of a worker fail while requests hold places: those are
// free again when their leases end.
func TestTrapEndsLeases(t *testing.T) {
	var inside atomic.Int64
	release := make(chan struct{})
	upstream := envoytest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			inside.Add(1)
			defer inside.Add(-1)
			<-release
		}
	})
	f := filter(t, document("process", `{"bulkhead":{"concurrent":4,"lease":"1s"}}`))
	f.Module = envoytest.Trapping(t, f.Module)
	e := envoytest.Start(t, envoy.Config{Upstream: upstream.Address(), Filters: []envoy.Filter{f.Filter()}})
	c := envoytest.HTTP2Client(t, e) // one worker has all requests
	ended := make(chan int, places)
	for range places {
		go func() { ended <- c.Get("/hold").Status }()
	}
	envoytest.Eventually(t, "all places are taken", func() bool { return inside.Load() == places })
	assert.Equal(t, 503, c.Get("/", envoytest.TrapRequest()...).Status)
	close(release)
	for range places {
		assert.Equal(t, 503, <-ended, "the answer has no VM to pass")
	}
	other := envoytest.Clients(t, e)
	envoytest.Eventually(t, "the places come back", func() bool { return other.Get("/").Status == 200 })
	envoytest.Eventually(t, "every place is back", func() bool {
		var group sync.WaitGroup
		var refused atomic.Int64
		for range places {
			group.Go(func() {
				if other.Get("/").Status != 200 {
					refused.Add(1)
				}
			})
		}
		group.Wait()
		return refused.Load() == 0
	})
}
