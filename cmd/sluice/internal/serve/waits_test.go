package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestWaitsAreMeasured by policy and step.
func TestWaitsAreMeasured(t *testing.T) {
	inBubble(t, timed, func(http.ResponseWriter, *http.Request) {}, func(b *bubble) {
		start := time.Now()
		for range 3 {
			b.get("/queued/x")
		}
		assert.Equal(t, 20*time.Second, time.Since(start))
		w := httptest.NewRecorder()
		b.admin().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/metrics", nil))
		var lines []string
		for line := range strings.Lines(w.Body.String()) {
			if strings.HasPrefix(line, "sluice_wait_seconds") && !strings.Contains(line, "_bucket") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		assert.Equal(t, []string{
			`sluice_wait_seconds_sum{policy="api",step="bulkhead"} 0`, `sluice_wait_seconds_count{policy="api",step="bulkhead"} 0`,
			`sluice_wait_seconds_sum{policy="queued",step="limit"} 20`, `sluice_wait_seconds_count{policy="queued",step="limit"} 2`,
			`sluice_wait_seconds_sum{policy="raced",step="bulkhead"} 0`, `sluice_wait_seconds_count{policy="raced",step="bulkhead"} 0`,
		}, lines)
		assert.Contains(t, w.Body.String(), "sluice_wait_seconds_bucket{policy=\"queued\",step=\"limit\",le=\"5\"} 0\n")
		assert.Contains(t, w.Body.String(), "sluice_wait_seconds_bucket{policy=\"queued\",step=\"limit\",le=\"10\"} 2\n")
	})
}
