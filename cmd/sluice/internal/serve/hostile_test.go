package serve

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const contested = `
version: 1
policies:
  api: {steps: [{breaker: {window: {consecutive: 1}, open: 1h}}, {bulkhead: 60}, {timeout: 2s}]}
http: {body: {timeout: 5s}, stream_idle: 10s, lifetime: 15s}
routes:
  - {path: /**, policy: api}
`

// hostile are clients, each of which does its worst on one connection and returns
// when the proxy has ended it.
var hostile = map[string]func(c *client){
	"stalls in a body":  func(c *client) { c.speak(post("/", 5) + "h") },
	"sends no body":     func(c *client) { c.speak(post("/", 5)) },
	"drips":             func(c *client) { c.speak(post("/", 1000), strings.Split(strings.Repeat("x", 100), "")...) },
	"breaks a chunk":    func(c *client) { c.speak("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n") },
	"sends no headers":  func(c *client) { c.speak("GET / HTTP/1.1\r\nHost: x\r\n") },
	"asks for a tunnel": func(c *client) { c.speak("CONNECT upstream.test:80 HTTP/1.1\r\nHost: x\r\n\r\n") },
	"speaks HTTP/2":     func(c *client) { c.speak("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") },
	"idles on a socket": func(c *client) {
		c.speak("GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	},
	"uses a socket": func(c *client) {
		c.speak("GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
			strings.Split(strings.Repeat("x", 100), "")...)
	},
	"leaves in a body": func(c *client) { c.leave(post("/", 5) + "h") },
	"leaves":           func(c *client) { c.leave("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n") },
	"reads nothing":    func(c *client) { c.ignore("GET /long HTTP/1.1\r\nHost: x\r\n\r\n") },
	"pretends to be h2c": func(c *client) {
		c.speak("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
	},
}

// speak sends the first text, then one of the others each second, and reads until the
// connection ends.
func (c *client) speak(text string, more ...string) {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for _, text := range append([]string{text}, more...) {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
	_, _ = io.Copy(io.Discard, c.Conn)
	c.Close()
	<-sent
}

// leave sends a text and goes after half a second.
func (c *client) leave(text string) {
	_, _ = io.WriteString(c, text)
	time.Sleep(500 * time.Millisecond)
	c.Close()
}

// ignore sends a text and reads nothing for as long as an answer may live.
func (c *client) ignore(text string) {
	_, _ = io.WriteString(c, text)
	time.Sleep(20 * time.Second)
	c.Close()
}

// TestHostileClients is half a minute of clients of every kind beside honest ones. These
// are all served, the breaker of one failure stays closed, and nothing is left.
func TestHostileClients(t *testing.T) {
	const length = 30 * time.Second
	inBubble(t, contested, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return
			}
		case "/long":
			w.Header().Set("Content-Length", "1000000000")
			for {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
			}
		case "/socket":
			echoes(w, r)
			return
		}
		reads(w, r)
	}, func(b *bubble) {
		start := time.Now()
		var all sync.WaitGroup
		rounds := map[string]int{}
		var mu sync.Mutex
		for name, attack := range hostile {
			for range 2 {
				all.Go(func() {
					for time.Since(start) < length {
						conn, err := b.front.Dial(b.t.Context(), "", "")
						if !assert.NoError(b.t, err) {
							return
						}
						attack(&client{Conn: conn, b: b, r: bufio.NewReader(conn)})
						mu.Lock()
						rounds[name]++
						mu.Unlock()
						time.Sleep(100 * time.Millisecond)
					}
				})
			}
		}
		for range 5 {
			all.Go(func() {
				for time.Since(start) < length {
					c := b.open(post("/honest", 5) + "hello")
					began := time.Now()
					resp, body := c.answer()
					assert.Equal(b.t, 200, resp.StatusCode)
					assert.Equal(b.t, "hello", body)
					assert.Zero(b.t, time.Since(began))
					c.Close()
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		all.Wait()
		later(30 * time.Second)
		assert.Equal(b.t, 60, b.free("api"))
		assert.Equal(b.t, "closed", b.mode("api"))
		assert.Zero(b.t, b.meter.inFlight.Load())
		for name := range hostile {
			assert.GreaterOrEqual(b.t, rounds[name], 2, name)
		}
	})
}
