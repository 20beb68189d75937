package serve

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStreamsPassThrough(t *testing.T) {
	step := make(chan struct{})
	p := run(t, `
version: 1
policies:
  api: {steps: [{retry: 3}, {bulkhead: 1}, {timeout: 1h}]}
routes:
  - {path: /**, policy: api}
`, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 2 {
			_, _ = io.WriteString(w, "data: tick\n\n")
			w.(http.Flusher).Flush()
			<-step
		}
	}))
	r, err := http.NewRequestWithContext(t.Context(), "GET", p.url+"/events", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for range 2 {
		line, err := lines.ReadString('\n') // comes before the upstream goes on
		require.NoError(t, err)
		assert.Equal(t, "data: tick\n", line)
		refused, _ := get(t, p.url+"/other")
		assert.Equal(t, 503, refused.StatusCode, "the stream has the place")
		_, err = lines.ReadString('\n')
		require.NoError(t, err)
		step <- struct{}{}
	}
	_, err = lines.ReadByte()
	assert.Equal(t, io.EOF, err)
	p.journal.await(t, "request")
}

func TestUpgradesPassThroughAndAreDrained(t *testing.T) {
	p := run(t, `
version: 1
policies:
  api: {steps: [{retry: 3}, {bulkhead: 1}, {timeout: 1h}]}
routes:
  - {path: /**, policy: api}
`, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		for {
			line, err := rw.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = rw.WriteString("echo " + line)
			_ = rw.Flush()
		}
	}), func(c *Config) { c.Drain, c.Upgrades = time.Hour, []string{"echo"} })
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	require.Equal(t, 101, resp.StatusCode)
	say := func(text string) {
		_, err := io.WriteString(conn, text+"\n")
		require.NoError(t, err)
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "echo "+text+"\n", line)
	}
	say("hello")
	refused, _ := get(t, p.url+"/other")
	assert.Equal(t, 503, refused.StatusCode)
	assert.Equal(t, "sluice_http_requests_in_flight 1", p.metric(t, "sluice_http_requests_in_flight"))

	p.stop()
	p.journal.await(t, "draining")
	say("still here")
	_, text := get(t, p.admin+"/healthz")
	assert.Equal(t, "draining\n", text)
	conn.Close()
	p.journal.await(t, "stopped")
}

func TestDrainEnds(t *testing.T) {
	begun := make(chan struct{})
	p := run(t, twoAnHour, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}))
	go func() {
		resp, err := http.Get(p.url + "/hangs")
		if err == nil {
			resp.Body.Close()
		}
	}()
	<-begun
	p.stop()
	line := p.journal.await(t, "cut off")
	assert.EqualValues(t, 1, line["in_flight"])
	p.journal.await(t, "stopped")
}
