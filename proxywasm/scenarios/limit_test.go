package scenarios_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
)

// TestLimitAcrossWorkers overloads a limit from all workers: it admits no more than its
// bound, and nearly all of it. The burst is wide, so that a machine that stands still for
// a moment loses no permits.
func TestLimitAcrossWorkers(t *testing.T) {
	const rate, burst = 200, 100
	e := start(t, document("process", fmt.Sprintf(`{"limit":{"rate":"%d/1s","burst":%d}}`, rate, burst)), "")
	result := envoytest.Send(t, envoy.Load{Address: e.Address(), Connections: 64, Duration: 2 * time.Second})
	bound := rate*result.Elapsed.Seconds() + burst
	admitted := float64(result.Statuses[200])
	assert.LessOrEqual(t, admitted, bound)
	assert.GreaterOrEqual(t, admitted, 0.98*bound-1)
	assert.Equal(t, result.Total(), result.Statuses[200]+result.Statuses[429])
	assert.Greater(t, float64(result.Total()), 15*bound, "the load")
}

// TestLimitOfEachWorker has state of each worker: a limit is up to that of one worker for
// each of them.
func TestLimitOfEachWorker(t *testing.T) {
	const burst = 50
	e := start(t, document("worker", fmt.Sprintf(`{"limit":{"rate":"1/1h","burst":%d}}`, burst)), "")
	result := envoytest.Send(t, envoy.Load{Address: e.Address(), Connections: 64, Requests: 4000})
	assert.Equal(t, int64(burst*envoy.Workers), result.Statuses[200])
	assert.Equal(t, 4000-result.Statuses[200], result.Statuses[429])
}

// TestExactCount has more workers ask at once for fewer permits than requests, of every
// algorithm: none is given twice and none is lost.
func TestExactCount(t *testing.T) {
	for _, algorithm := range []string{"token-bucket", "fixed-window", "sliding-counter", "sliding-log"} {
		t.Run(algorithm, func(t *testing.T) {
			e := start(t, document("process", fmt.Sprintf(`{"limit":{"rate":"500/1h","algorithm":%q}}`, algorithm)), "")
			result := envoytest.Send(t, envoy.Load{Address: e.Address(), Connections: 64, Requests: 5000})
			assert.Equal(t, map[int]int64{200: 500, 429: 4500}, result.Statuses)
		})
	}
}

// TestKeys gives every value of a header permits of its own, whichever workers serve it.
func TestKeys(t *testing.T) {
	e := start(t, document("process", `{"limit":{"rate":"3/1h","per":"header:x-tenant"}}`), "")
	c := envoytest.Clients(t, e)
	for _, tenant := range []string{"a", "b", "c"} {
		assert.Equal(t, map[int]int{200: 3, 429: 5}, statusesOf(c, 8, "/", "X-Tenant: "+tenant), tenant)
	}
	assert.Equal(t, map[int]int{200: 3, 429: 2}, statusesOf(c, 5, "/"), "without the header")
}

// TestRefusalOfLimit compares a whole answer.
func TestRefusalOfLimit(t *testing.T) {
	inEachState(t, func(t *testing.T, state string) {
		upstream := envoytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		e := start(t, document(state, `{"limit":{"rate":"1/1h"}}`), upstream.Address())
		c := envoytest.HTTP2Client(t, e) // one connection, so that one worker serves all
		admitted := c.Get("/")
		assert.Equal(t, 204, admitted.Status)
		assert.Empty(t, admitted.Header.Values("RateLimit"), "headers are on refusals alone")
		refused := c.Get("/")
		assert.Equal(t, 429, refused.Status)
		assert.Equal(t, problem("quota-exceeded", "Request cannot be satisfied as assigned quota has been exceeded", "Too many requests for now.", "rate", "limit", 429), refused.Body)
		for name, want := range map[string]string{
			"Retry-After": "3600", "RateLimit": `"limit";r=0;t=3600`, "RateLimit-Policy": `"limit";q=1;w=3600`,
			"Content-Type": "application/problem+json", "Cache-Control": "no-store", "X-Throttle-Reason": "rate",
		} {
			assert.Equal(t, []string{want}, refused.Header.Values(name), name)
		}
		assert.Equal(t, int64(1), upstream.Served())
	})
}

// TestAllHeaders has the headers of limits on admitted answers, too.
func TestAllHeaders(t *testing.T) {
	inEachState(t, func(t *testing.T, state string) {
		src := fmt.Sprintf(`{"version":1,"policies":{"all":{"steps":[{"limit":{"rate":"2/1h"}}]}},"routes":[{"path":"/**","policy":"all"}],"proxy":{"state":%q,"headers":"all"}}`, state)
		c := envoytest.HTTP2Client(t, start(t, src, ""))
		for _, want := range []string{`"limit";r=1;t=1800`, `"limit";r=0;t=1800`} {
			admitted := c.Get("/")
			assert.Equal(t, 200, admitted.Status)
			assert.Equal(t, []string{want}, admitted.Header.Values("RateLimit"))
			assert.Equal(t, []string{`"limit";q=2;w=3600`}, admitted.Header.Values("RateLimit-Policy"))
		}
	})
}

// TestFallback answers as the document says.
func TestFallback(t *testing.T) {
	src := `{"version":1,"policies":{"all":{"steps":[{"limit":{"rate":"1/1h"}}],"fallback":{"status":418,"body":"{\"tea\":true}"}}},"routes":[{"path":"/**","policy":"all"}]}`
	c := envoytest.Clients(t, start(t, src, ""))
	assert.Equal(t, 200, c.Get("/").Status)
	refused := c.Get("/")
	assert.Equal(t, 418, refused.Status)
	assert.Equal(t, `{"tea":true}`, refused.Body)
	assert.Equal(t, []string{"application/json"}, refused.Header.Values("Content-Type"))
	assert.Equal(t, []string{"3600"}, refused.Header.Values("Retry-After"))
}

// TestRoutes has routes of the document, and requests that none matches.
func TestRoutes(t *testing.T) {
	src := `{"version":1,"policies":{"one":{"steps":[{"limit":{"rate":"1/1h"}}]},"two":{"steps":[{"limit":{"rate":"2/1h"}}]}},
		"routes":[{"path":"/a/*","method":"POST","policy":"one"},{"path":"/a/**","policy":"two"},{"path":"/b","host":"b.test","policy":"one"}]}`
	c := envoytest.Clients(t, start(t, src, ""))
	assert.Equal(t, map[int]int{200: 2, 429: 2}, statusesOf(c, 4, "/a/x"))
	assert.Equal(t, 429, c.Get("/%61/y/../x?q").Status, "the same path")
	assert.Equal(t, map[int]int{200: 4}, statusesOf(c, 4, "/b"), "no route matches the host")
	assert.Equal(t, map[int]int{200: 4}, statusesOf(c, 4, "/"))
	post := func() int {
		return c.Do(c.Request(t.Context(), http.MethodPost, "/a/x", nil)).Status
	}
	assert.Equal(t, []int{200, 429}, []int{post(), post()})
}

// TestMetadata has a route of Envoy name the policy of its requests.
func TestMetadata(t *testing.T) {
	src := `{"version":1,"policies":{"one":{"steps":[{"limit":{"rate":"1/1h"}}]},"two":{"steps":[{"limit":{"rate":"2/1h"}}]}},"routes":[{"path":"/**","policy":"two"}]}`
	e := envoytest.Start(t, envoy.Config{
		Routes:  []envoy.Route{{Name: "strict", Prefix: "/strict", Policy: "one"}},
		Filters: []envoy.Filter{filter(t, src).Filter()},
	})
	c := envoytest.Clients(t, e)
	assert.Equal(t, map[int]int{200: 1, 429: 2}, statusesOf(c, 3, "/strict"))
	assert.Equal(t, map[int]int{200: 2, 429: 1}, statusesOf(c, 3, "/other"))
}

// TestShadow counts what a limit in shadow would refuse, and refuses nothing.
func TestShadow(t *testing.T) {
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, document(state, `{"limit":{"rate":"1/1h","shadow":true}}`), "")
		c := envoytest.HTTP2Client(t, e)
		assert.Equal(t, map[int]int{200: 5}, statusesOf(c, 5, "/"))
		envoytest.Eventually(t, "counters are told with a tick", func() bool {
			return envoytest.Stat(t, e, "wasmcustom.sluice.all.limit.shadow_reject.rate") == 4
		})
	})
}

// TestMetrics counts decisions of all workers.
func TestMetrics(t *testing.T) {
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, document(state, `{"limit":{"rate":"100/1h"}}`), "")
		result := envoytest.Send(t, envoy.Load{Address: e.Address(), Connections: 16, Requests: 1000})
		want := map[string]int64{"wasmcustom.sluice.all.admit": result.Statuses[200], "wasmcustom.sluice.all.limit.reject.rate": result.Statuses[429]}
		var stats map[string]int64
		envoytest.Eventually(t, "counters are told with a tick", func() bool {
			var err error
			stats, err = e.Stats("wasmcustom.sluice.all")
			require.NoError(t, err)
			for name, n := range want {
				if stats[name] != n {
					return false
				}
			}
			return true
		})
	})
}

// TestWait has requests wait for their turn, and pass in time.
func TestWait(t *testing.T) {
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, document(state, `{"limit":{"rate":"20/1s","burst":1,"wait":"300ms","queue":3}}`), "")
		c := envoytest.HTTP2Client(t, e)
		type one struct {
			status int
			took   time.Duration
		}
		answers := make(chan one)
		begin := time.Now()
		for range 6 {
			go func() {
				a := c.Get("/")
				answers <- one{a.Status, time.Since(begin)}
			}()
		}
		statuses := map[int]int{}
		var last time.Duration
		for range 6 {
			a := <-answers
			if statuses[a.status]++; a.status == 200 {
				last = max(last, a.took)
			}
		}
		assert.Equal(t, map[int]int{200: 4, 429: 2}, statuses)
		assert.GreaterOrEqual(t, last, 150*time.Millisecond, "the third that waits")
	})
}
