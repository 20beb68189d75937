package scenarios_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
)

// TestLimitAcrossWorkers overloads a limit from all workers: it admits no more than its
// bound, and nearly all of it. The burst is wide, so that a machine that stands still for
// half a second loses no permits.
func TestLimitAcrossWorkers(t *testing.T) {
	const rate, burst, duration = 200, 100, 2 * time.Second
	result := envoytest.Send(t, envoy.Load{Address: at(t, "process").Address(), Path: "/overload/", Connections: 64, Duration: duration})
	bound := rate*result.Elapsed.Seconds() + burst
	admitted := float64(result.Statuses[200])
	assert.LessOrEqual(t, admitted, bound)
	assert.GreaterOrEqual(t, admitted, 0.9*(rate*duration.Seconds()+burst))
	assert.Equal(t, result.Total(), result.Statuses[200]+result.Statuses[429])
	t.Logf("%.0f of %.0f admitted of %d offered, %.0f times the limit", admitted, bound, result.Total(), float64(result.Total())/bound)
}

// TestLimitOfEachWorker has state of each worker: a limit counts in each worker alone for each
// of them.
func TestLimitOfEachWorker(t *testing.T) {
	const burst = 50 // one of the policy's hours brings less than one more
	result := envoytest.Send(t, envoy.Load{Address: at(t, "worker").Address(), Path: "/each-worker/", Connections: 64, Requests: 4000})
	assert.Equal(t, map[int]int64{200: burst * envoy.Workers, 429: 4000 - burst*envoy.Workers}, result.Statuses)
}

// TestExactCount has more workers ask at once for fewer permits than requests, of every
// algorithm: none is given twice and none is lost.
func TestExactCount(t *testing.T) {
	for _, algorithm := range []string{"token-bucket", "fixed-window", "sliding-counter", "sliding-log"} {
		t.Run(algorithm, func(t *testing.T) {
			result := envoytest.Send(t, envoy.Load{Address: at(t, "process").Address(), Path: "/" + algorithm + "/", Connections: 64, Requests: 5000})
			admitted := int64(500)
			if algorithm == "token-bucket" { // a permit every 7.2 s
				admitted += int64(result.Elapsed / (7200 * time.Millisecond))
			}
			assert.Equal(t, map[int]int64{200: admitted, 429: 5000 - admitted}, result.Statuses)
		})
	}
}

// TestShadow counts what a limit in shadow would refuse, and refuses nothing.
func TestShadow(t *testing.T) {
	inEachState(t, func(t *testing.T, s *site) {
		c := envoytest.HTTP2Client(t, s.Envoy)
		assert.Equal(t, map[int]int{200: 5}, statusesOf(c, 5, "/shadow/"))
		envoytest.Eventually(t, "counters are told with a tick", func() bool {
			return envoytest.Stat(t, s.Envoy, "wasmcustom.sluice.shadow.limit.shadow_reject.rate") == 4
		})
	})
}

// TestMetrics counts decisions of all workers.
func TestMetrics(t *testing.T) {
	inEachState(t, func(t *testing.T, s *site) {
		result := envoytest.Send(t, envoy.Load{Address: s.Address(), Path: "/metrics/", Connections: 16, Requests: 1000})
		envoytest.Eventually(t, "counters are told with a tick", func() bool {
			stats, err := s.Stats("wasmcustom.sluice.metrics.")
			require.NoError(t, err)
			return stats["wasmcustom.sluice.metrics.admit"] == result.Statuses[200] && stats["wasmcustom.sluice.metrics.limit.reject.rate"] == result.Statuses[429]
		})
	})
}

// TestWait has requests wait for their turn, and pass in time. All of them come before the
// first turn, for which they have half a second.
func TestWait(t *testing.T) {
	inEachState(t, func(t *testing.T, s *site) {
		c := envoytest.HTTP2Client(t, s.Envoy)
		type one struct {
			status int
			took   time.Duration
		}
		answers := make(chan one)
		begin := time.Now()
		for range 6 {
			go func() {
				a := c.Get("/wait/")
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
		assert.GreaterOrEqual(t, last, 1500*time.Millisecond, "the third that waits")
	})
}
