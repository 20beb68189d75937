package serve

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func whole(c *Config) { c.WholeAnswers = true }

// begins sends the head of an answer and a byte of its body.
func begins(w http.ResponseWriter) {
	_, _ = io.WriteString(w, "x")
	_ = http.NewResponseController(w).Flush()
}

// TestWholeAnswers has answers whose heads come at once. Their bodies are a part of the
// call when asked.
func TestWholeAnswers(t *testing.T) {
	hangs := func(w http.ResponseWriter, r *http.Request) {
		begins(w)
		<-r.Context().Done()
	}
	breaks := func(w http.ResponseWriter, r *http.Request) {
		begins(w)
		time.Sleep(100 * time.Millisecond)
		panic(http.ErrAbortHandler)
	}
	takes := func(d time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			begins(w)
			time.Sleep(d)
			_, _ = io.WriteString(w, "y")
		}
	}
	for name, c := range map[string]struct {
		path          string
		upstream      http.HandlerFunc
		headers, body string        // the mode of the breaker without and with the option
		after         time.Duration // the end of the answer, with the option
		broken        bool          // the client gets less than all, with the option
	}{
		"that hangs":     {"/api/x", hangs, "closed", "open", time.Second, true},
		"that breaks":    {"/api/x", breaks, "closed", "open", 100 * time.Millisecond, true},
		"in time":        {"/api/x", takes(900 * time.Millisecond), "closed", "closed", 900 * time.Millisecond, false},
		"that is slow":   {"/slow/x", takes(3 * time.Second), "closed", "open", 3 * time.Second, false},
		"not so slow":    {"/slow/x", takes(2 * time.Second), "closed", "closed", 2 * time.Second, false},
		"without a body": {"/api/x", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, "closed", "closed", 0, false},
		"of 500":         {"/api/x", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "open", "open", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, on := range []bool{false, true} {
				change := func(config *Config) { config.WholeAnswers = on }
				inBubble(t, guarded, c.upstream, func(b *bubble) {
					start := time.Now()
					conn := b.open("GET " + c.path + " HTTP/1.1\r\nHost: x\r\n\r\n")
					defer conn.Close()
					resp, err := http.ReadResponse(conn.r, nil)
					require.NoError(t, err)
					_, err = io.Copy(io.Discard, resp.Body)
					later(0)
					policy := c.path[1 : len(c.path)-2]
					if on {
						assert.Equal(t, c.broken, err != nil)
						assert.Equal(t, c.after, time.Since(start))
						assert.Equal(t, c.body, b.mode(policy))
					} else {
						assert.Equal(t, c.headers, b.mode(policy))
					}
					assert.Equal(t, 5, b.freeAfterGrace(policy))
				}, change)
			}
		})
	}
}

// TestWholeAnswerHoldsItsPlace while its body comes.
func TestWholeAnswerHoldsItsPlace(t *testing.T) {
	inBubble(t, guarded, func(w http.ResponseWriter, r *http.Request) {
		begins(w)
		time.Sleep(10 * time.Second)
	}, func(b *bubble) {
		c := b.open("GET /slow/x HTTP/1.1\r\nHost: x\r\n\r\n")
		defer c.Close()
		go func() { _, _ = io.Copy(io.Discard, c.r) }()
		later(9 * time.Second)
		assert.Equal(t, 4, b.free("slow"))
		later(time.Second)
		assert.Equal(t, 5, b.free("slow"))
	}, whole)
}

// TestClientThatDoesNotReadIsNoFailure, whatever the timeouts of the policy: they end the
// attempt at their mark, with its place, and the client's own bounds the rest.
func TestClientThatDoesNotReadIsNoFailure(t *testing.T) {
	floods := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000000000")
		piece := make([]byte, 64<<10)
		for {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
	inBubble(t, guarded, floods, func(b *bubble) {
		c := b.dial("GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n")
		defer c.Close()
		later(time.Second - 1)
		assert.Equal(t, 4, b.free("api"))
		later(1)
		assert.Equal(t, 5, b.free("api"))
		assert.Equal(t, "closed", b.mode("api"))
		assert.Equal(t, int64(1), b.meter.inFlight.Load())
		later(time.Minute - time.Second)
		assert.Equal(t, int64(0), b.meter.inFlight.Load())
	}, whole)
	inBubble(t, guarded, floods, func(b *bubble) {
		c := b.dial("GET /api/x HTTP/1.1\r\nHost: x\r\n\r\n")
		later(time.Second / 2)
		c.Close()
		later(0)
		assert.Equal(t, 5, b.freeAfterGrace("api"))
		assert.Equal(t, "closed", b.mode("api"))
	}, whole)
}

// TestSlowReaderIsNoSlowAnswer: without the pauses of the client it would have come in time.
func TestSlowReaderIsNoSlowAnswer(t *testing.T) {
	const length = 1 << 20
	inBubble(t, guarded, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1048576")
		_, _ = w.Write(make([]byte, length))
	}, func(b *bubble) {
		start := time.Now()
		c := b.dial("GET /slow/x HTTP/1.1\r\nHost: x\r\n\r\n")
		defer c.Close()
		resp, err := http.ReadResponse(c.r, nil)
		require.NoError(t, err)
		for range 4 {
			time.Sleep(time.Second)
			_, err = io.CopyN(io.Discard, resp.Body, length/4)
			require.NoError(t, err)
		}
		later(0)
		assert.Equal(t, 4*time.Second, time.Since(start))
		assert.Equal(t, "closed", b.mode("slow"))
		assert.Equal(t, 5, b.free("slow"))
	}, whole)
}
