package serve

import (
	"errors"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// written returns the lines of an access log so far, without times.
func (b *bubble) written(j *journal) []map[string]any {
	b.t.Helper()
	synctest.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	for _, line := range lines {
		at, err := time.Parse(time.RFC3339Nano, line["time"].(string))
		assert.NoError(b.t, err)
		assert.WithinDuration(b.t, time.Now(), at, time.Minute)
		delete(line, "time")
	}
	return lines
}

func TestAccessLog(t *testing.T) {
	j := newJournal()
	inBubble(t, `
version: 1
policies:
  api: {steps: [{retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}}, {limit: 2/1h}]}
routes:
  - {path: /api/**, policy: api}
`, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/fails" {
			w.WriteHeader(503)
			return
		}
		if r.URL.Path == "/broken" {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Length", "5")
		_, _ = w.Write([]byte("hello"))
	}, func(b *bubble) {
		b.get("/other?a=1", "User-Agent: test", "Referer: http://r", "X-Forwarded-For: 203.0.113.1", "X-Request-Id: 7d1c")
		b.get("/api/fails")
		b.get("/api/%61")
		b.get("/broken")
		b.get("/api/b", "Content-Type: application/grpc")
		plain := func(more map[string]any) map[string]any {
			line := map[string]any{"method": "GET", "host": "x", "proto": "HTTP/1.1", "peer": "pipe", "seconds": 0.0}
			for name, value := range more {
				line[name] = value
			}
			return line
		}
		lines := b.written(j)
		assert.Len(t, lines, 5)
		assert.Equal(t, plain(map[string]any{
			"path": "/other", "query": "a=1", "status": 200.0, "bytes": 5.0, "user_agent": "test", "referer": "http://r",
			"forwarded_for": "203.0.113.1",
			"request_id":    "7d1c",
		}), lines[0])
		assert.Equal(t, plain(map[string]any{
			"path": "/api/fails", "status": 503.0, "bytes": 0.0, "policy": "api", "route": "/api/**", "attempts": 2.0, "seconds": 1.0,
		}), lines[1])
		assert.Equal(t, 429.0, lines[2]["status"])
		assert.Equal(t, "rate", lines[2]["reason"])
		assert.Equal(t, []any{200.0, "8"}, []any{lines[4]["status"], lines[4]["grpc_status"]})
		assert.Equal(t, "/api/%61", lines[2]["path"], "as the client sent it")
		assert.Equal(t, 502.0, lines[3]["status"])
		assert.NotContains(t, lines[3], "policy")
	}, func(c *Config) { c.Access = j })
}

func TestAccessLogOfASample(t *testing.T) {
	j := newJournal()
	inBubble(t, open, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fails" {
			w.WriteHeader(500)
		}
	}, func(b *bubble) {
		for range 10 {
			b.get("/good")
			b.get("/fails")
		}
		count := map[any]int{}
		for _, line := range b.written(j) {
			count[line["status"]]++
			assert.Equal(t, line["status"] == 200.0, line["sample"] == 4.0)
		}
		assert.Equal(t, map[any]int{200.0: 3, 500.0: 10}, count)
	}, func(c *Config) { c.Access, c.AccessSample = j, 4 })
}

// reopening counts how often it is opened again.
type reopening struct {
	*journal
	opened chan struct{}
}

func (r reopening) Reopen() error {
	r.opened <- struct{}{}
	return errors.New("disk on fire")
}

func TestAccessLogIsOpenedAgain(t *testing.T) {
	r := reopening{newJournal(), make(chan struct{}, 1)}
	p := run(t, open, http.HandlerFunc(tells), func(c *Config) { c.Access = r })
	p.reload <- syscall.SIGHUP
	<-r.opened
	assert.Equal(t, "disk on fire", p.journal.await(t, "access log cannot be opened again")["error"])
}
