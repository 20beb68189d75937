package serve

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

const guarded = `
version: 1
policies:
  api: {steps: [{breaker: {window: {consecutive: 1}, open: 1h}}, {bulkhead: 5}, {timeout: 1s}]}
http: {body: {timeout: 10s, min_rate: 1KiB/s}, stream_idle: 1m, lifetime: 1h}
routes:
  - {path: /api/**, policy: api}
`

// reads answers with the body of the request.
func reads(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(500)
		return
	}
	_, _ = w.Write(body)
}

func TestStalledBodyIsCut(t *testing.T) {
	inBubble(t, guarded, reads, func(b *bubble) {
		start := time.Now()
		var stalled []*client
		for range 5 {
			stalled = append(stalled, b.dial("POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nh"))
		}
		assert.Equal(t, 0, b.free("api"))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, 5, b.free("api"))
		for _, c := range stalled {
			resp, body := c.answer()
			assert.Equal(t, 408, resp.StatusCode)
			assert.Contains(t, body, `"status":408`)
			assert.True(t, resp.Close)
			assert.Equal(t, time.Second, time.Since(start))
			c.Close()
		}
		assert.Equal(t, "closed", b.mode("api"))
		resp, _ := b.get("/api/x")
		assert.Equal(t, 200, resp.StatusCode)
	})
}
