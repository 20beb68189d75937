package serve

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/cmd/sluice/internal/http1"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// guarded opens its breaker at the first failure.
const guarded = `
version: 1
policies:
  api: {steps: [{breaker: {window: {consecutive: 1}, open: 1h}}, {bulkhead: 5}, {timeout: 1s}]}
  slow: {steps: [{breaker: {window: {calls: 1}, minimum: 1, slow: {over: 2s, rate: 1%}, open: 1h}}, {bulkhead: 5}, {timeout: 1h}]}
http: {body: {timeout: 10s, min_rate: 1KiB/s}, stream_idle: 1m, lifetime: 1h}
routes:
  - {path: /api/**, policy: api}
  - {path: /slow/**, policy: slow}
`

// reads answers with the body of the request, and with 500 where it cannot.
func reads(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(500)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// post is the head of a request with a body of some bytes.
func post(path string, length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", path, length)
}

// later lets virtual time pass.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestStalledBodyIsCutAtTheTimeout(t *testing.T) {
	inBubble(t, guarded, reads, func(b *bubble) {
		start := time.Now()
		var stalled []*client
		for range 5 {
			stalled = append(stalled, b.dial(post("/api/x", 5)+"h"))
		}
		assert.Equal(t, 0, b.free("api"))
		later(time.Second)
		for _, c := range stalled {
			resp, body := c.answer()
			assert.Equal(t, 408, resp.StatusCode)
			assert.Contains(t, body, `"status":408`)
			assert.True(t, resp.Close)
			assert.Equal(t, time.Second, time.Since(start))
			c.Close()
		}
		assert.Equal(t, 0, b.free("api"), "the upstream may not know of it yet")
		assert.Equal(t, 5, b.freeAfterGrace("api"))
		assert.Equal(t, "closed", b.mode("api"))
		resp, _ := b.get("/api/x")
		assert.Equal(t, 200, resp.StatusCode)
	})
}

func TestUpstreamThatHangsIsVotedAgainst(t *testing.T) {
	inBubble(t, guarded, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}, func(b *bubble) {
		c := b.dial(post("/api/x", 5) + "hello")
		defer c.Close()
		later(time.Second)
		resp, _ := c.answer()
		assert.Equal(t, 504, resp.StatusCode)
		assert.Equal(t, "open", b.mode("api"))
	})
}

func TestBodyIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		path  string
		part  string        // that is sent
		every time.Duration // again and again
		after time.Duration // the answer comes
	}{
		"silence":       {"/slow/x", "h", time.Hour, 10 * time.Second},
		"drip":          {"/slow/x", "h", 3 * time.Second, 10*time.Second + 4*time.Second/1024},
		"too slow":      {"/slow/x", strings.Repeat("x", 500), time.Second, 10*time.Second + 20*500*time.Second/1024},
		"without route": {"/other", "h", time.Hour, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, guarded, reads, func(b *bubble) {
				start := time.Now()
				conn := b.dial(post(c.path, 1<<20))
				defer conn.Close()
				stop := make(chan struct{})
				defer close(stop)
				go func() {
					for {
						if _, err := io.WriteString(conn, c.part); err != nil {
							return
						}
						select {
						case <-time.After(c.every):
						case <-stop:
							return
						}
					}
				}()
				resp, _ := conn.answer()
				assert.Equal(t, 408, resp.StatusCode)
				assert.InDelta(t, c.after, time.Since(start), float64(time.Microsecond))
				assert.Equal(t, 5, b.freeAfterGrace("slow"))
				assert.Equal(t, "closed", b.mode("slow"))
			})
		})
	}
}

func TestSlowBodyThatKeepsItsRateSucceeds(t *testing.T) {
	inBubble(t, guarded, reads, func(b *bubble) {
		part := strings.Repeat("x", 1024)
		c := b.dial(post("/slow/x", 60*len(part)))
		defer c.Close()
		for range 60 {
			c.send(part)
			later(time.Second)
		}
		resp, body := c.answer()
		assert.Equal(t, 200, resp.StatusCode)
		assert.Len(t, body, 60*len(part))
		assert.Equal(t, "closed", b.mode("slow"), "the minute was the client's")
		resp, _ = b.get("/slow/x")
		assert.Equal(t, 200, resp.StatusCode)
	})
}

func TestSlowUpstreamIsVotedAgainst(t *testing.T) {
	inBubble(t, guarded, func(w http.ResponseWriter, r *http.Request) {
		reads(w, r)
		time.Sleep(3 * time.Second)
	}, func(b *bubble) {
		c := b.dial(post("/slow/x", 5))
		defer c.Close()
		later(5 * time.Second)
		c.send("hello")
		resp, _ := c.answer()
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, "open", b.mode("slow"))
	})
}

func TestClientThatLeavesGivesNoVote(t *testing.T) {
	for name, text := range map[string]string{
		"within the body":  post("/api/x", 5) + "h",
		"before the body":  post("/api/x", 5),
		"after the body":   post("/api/x", 5) + "hello",
		"within a chunk":   "POST /api/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
		"without any body": "GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, guarded, func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.Copy(io.Discard, r.Body); err == nil {
					<-r.Context().Done()
				}
				w.WriteHeader(500)
			}, func(b *bubble) {
				c := b.dial(text)
				assert.Equal(t, 4, b.free("api"))
				c.Close()
				later(http1.Patience)
				later(time.Second) // the timeout of the policy
				assert.Equal(t, 5, b.freeAfterGrace("api"))
				assert.Equal(t, "closed", b.mode("api"))
			})
		})
	}
}

func TestBrokenBodyIs400(t *testing.T) {
	inBubble(t, guarded, reads, func(b *bubble) {
		for _, path := range []string{"/api/x", "/other"} {
			c := b.dial("POST " + path + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n")
			resp, body := c.answer()
			assert.Equal(t, 400, resp.StatusCode)
			assert.Contains(t, body, `"reason":"body"`)
			assert.True(t, resp.Close)
			c.Close()
		}
		assert.Equal(t, "closed", b.mode("api"))
		assert.Equal(t, 5, b.freeAfterGrace("api"))
	})
}

// TestAnswerBeforeTheBody has an upstream that answers 500 before it has the body,
// as one does whose own timeout for bodies is shorter.
func TestAnswerBeforeTheBody(t *testing.T) {
	inBubble(t, guarded, func(w http.ResponseWriter, r *http.Request) {
		_, _ = r.Body.Read(make([]byte, 1))
		w.Header().Set("Connection", "close")
		w.WriteHeader(500)
	}, func(b *bubble) {
		ended := make(chan reducer.Outcome, 2)
		defer b.set.Listen(func(e sluice.Event) {
			if e.Kind == decision.End {
				ended <- e.Outcome
			}
		})()
		c := b.open(post("/api/x", 2) + "h")
		defer c.Close()
		assert.Equal(t, reducer.Cancelled, <-ended)
		// The server of net/http goes on reading before it answers.
		_, err := io.WriteString(c, "i")
		require.NoError(t, err)
		resp, _ := c.answer()
		assert.Equal(t, 500, resp.StatusCode)
		later(0)
		assert.Equal(t, 5, b.free("api"))
		assert.Equal(t, "closed", b.mode("api"))
		resp, _ = b.get("/api/x")
		assert.Equal(t, 500, resp.StatusCode)
		assert.Equal(t, "open", b.mode("api"), "a whole request votes")
	})
}

// TestRefusedRequestWithoutItsBody has the server itself read a body that no handler reads.
func TestRefusedRequestWithoutItsBody(t *testing.T) {
	inBubble(t, strings.Replace(guarded, "{bulkhead: 5}, {timeout: 1s}", "{limit: {rate: 1/1h}}", 1), reads, func(b *bubble) {
		b.get("/api/x")
		start := time.Now()
		c := b.dial(post("/api/x", 5))
		defer c.Close()
		resp, _ := c.answer()
		assert.Equal(t, 429, resp.StatusCode)
		assert.True(t, resp.Close)
		assert.Equal(t, 10*time.Second, time.Since(start))
	})
}

func TestClientThatDoesNotReadIsCut(t *testing.T) {
	inBubble(t, guarded, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000000")
		piece := make([]byte, 64<<10)
		for {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}, func(b *bubble) {
		c := b.dial("GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n")
		defer c.Close()
		later(59 * time.Second)
		assert.Equal(t, 4, b.free("api"))
		later(time.Second)
		assert.Equal(t, 5, b.freeAfterGrace("api"))
		assert.Equal(t, "closed", b.mode("api"))
	})
}

func TestSilentStreamIsCut(t *testing.T) {
	inBubble(t, guarded, func(w http.ResponseWriter, r *http.Request) {
		for _, wait := range []time.Duration{59 * time.Second, 59 * time.Second, time.Hour} {
			_, _ = io.WriteString(w, "tick\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
				return
			}
		}
	}, func(b *bubble) {
		start := time.Now()
		c := b.open("GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n")
		defer c.Close()
		resp, err := http.ReadResponse(c.r, nil)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.Equal(t, "tick\ntick\ntick\n", string(body))
		assert.Equal(t, (59+59+60)*time.Second, time.Since(start))
		later(0)
		assert.Equal(t, 5, b.freeAfterGrace("api"))
	})
}

func TestLifetimeOfAStream(t *testing.T) {
	inBubble(t, guarded, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "tick\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Second)
		}
	}, func(b *bubble) {
		start := time.Now()
		c := b.open("GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n")
		defer c.Close()
		_, _ = io.Copy(io.Discard, c.r)
		assert.Equal(t, time.Hour, time.Since(start))
		later(time.Second)
		assert.Equal(t, 5, b.free("api"))
	})
}

// echoes upgrades a connection and sends back what it reads.
func echoes(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "websocket" {
		reads(w, r)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	_ = rw.Flush()
	_, _ = io.Copy(conn, rw)
}

const upgrade = "GET /api/x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

func TestIdleUpgradeIsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		pings int
		every time.Duration
		after time.Duration
	}{
		"idle": {0, 0, time.Minute},
		"used": {3, 59 * time.Second, 3*59*time.Second + time.Minute},
		"old":  {100, 59 * time.Second, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, guarded, echoes, func(b *bubble) {
				start := time.Now()
				conn := b.dial(upgrade)
				defer conn.Close()
				resp, err := http.ReadResponse(conn.r, nil)
				require.NoError(t, err)
				require.Equal(t, 101, resp.StatusCode)
				for range c.pings {
					time.Sleep(c.every)
					if time.Since(start) > time.Hour {
						break
					}
					conn.send("ping")
					_, err := conn.r.Discard(4)
					require.NoError(t, err)
				}
				if c.after < time.Hour {
					_, err = conn.r.ReadByte()
					assert.Error(t, err)
					assert.Equal(t, c.after, time.Since(start))
				}
				later(0)
				assert.Equal(t, 5, b.free("api"))
			})
		})
	}
}
