package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// priorKnowledge are the protocols of a client that speaks HTTP/2 without TLS.
func priorKnowledge() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

func TestHTTP2WithoutTLS(t *testing.T) {
	inBubble(t, "version: 1\npolicies: {api: {steps: [limit: 1/1h]}}\nroutes: [{path: /api/**, policy: api}]\n",
		func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s %s", r.Proto, r.Header.Get("Via")[:2])
		}, func(b *bubble) {
			transport := &http.Transport{DialContext: b.front.Dial, Protocols: priorKnowledge()}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for _, want := range []int{200, 429} {
				resp, err := client.Get("http://x/api/x")
				text := body(t, resp, err)
				assert.Equal(t, want, resp.StatusCode)
				assert.Equal(t, "HTTP/2.0", resp.Proto)
				if want == 200 {
					assert.Equal(t, "HTTP/1.1 2 ", text)
				}
			}
			resp, text := b.get("/x")
			assert.Equal(t, 200, resp.StatusCode)
			assert.Equal(t, "HTTP/1.1 1.", text)
		})
}

// TestStreamsAreBounded has a client send three requests on a connection that may have
// two under way.
func TestStreamsAreBounded(t *testing.T) {
	var now atomic.Int64
	goOn := make(chan struct{})
	inBubble(t, open, func(http.ResponseWriter, *http.Request) {
		now.Add(1)
		<-goOn
		now.Add(-1)
	}, func(b *bubble) {
		goOn = make(chan struct{}) // of the bubble
		transport := &http.Transport{
			DialContext: b.front.Dial, Protocols: priorKnowledge(), HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true},
		}
		client := &http.Client{Transport: transport}
		done := make(chan error, 3)
		for range 3 {
			go func() {
				resp, err := client.Get("http://x/")
				if err == nil {
					err = resp.Body.Close()
				}
				done <- err
			}()
			synctest.Wait() // the first answers of the server have its settings
		}
		assert.EqualValues(t, 2, now.Load())
		goOn <- struct{}{}
		synctest.Wait()
		assert.EqualValues(t, 2, now.Load(), "the third has the place of the first")
		close(goOn)
		for range 3 {
			assert.NoError(t, <-done)
		}
		transport.CloseIdleConnections()
	}, func(c *Config) { c.MaxStreams = 2 })
}

// TestVanishedPeersOfHTTP2 has a client whose network is gone: nothing it sends
// arrives, and no end of its connection.
func TestVanishedPeersOfHTTP2(t *testing.T) {
	inBubble(t, "version: 1\npolicies: {api: {steps: [bulkhead: 1]}}\nroutes: [{path: /**, policy: api}]\n",
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		func(b *bubble) {
			// The preface, empty settings, and GET / of host x as stream 1, in static and literal fields of HPACK.
			c := b.dial("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" +
				"\x00\x00\x06\x01\x05\x00\x00\x00\x01" + "\x82\x84\x86\x41\x01x")
			go func() { // the network takes what the server sends
				for buffer := make([]byte, 1024); ; {
					if _, err := c.Read(buffer); err != nil {
						return
					}
				}
			}()
			synctest.Wait()
			assert.Equal(t, 0, b.free("api"))
			time.Sleep(pingAfter + 15*time.Second + DefaultAbandonedWait)
			synctest.Wait()
			assert.Equal(t, 1, b.freeAfterGrace("api"))
			c.Close()
		})
}

// TestSilentClientsBeforeARequest has clients stop in the middle of what comes before
// the first request.
func TestSilentClientsBeforeARequest(t *testing.T) {
	files := newPair(t)
	for name, c := range map[string]struct {
		sent string
		set  func(*Config)
	}{
		"of TLS, silent":              {"", files.config},
		"of TLS, half a hello":        {"\x16\x03\x01\x02\x00\x01", files.config},
		"without TLS, silent":         {"", func(*Config) {}},
		"of HTTP/2, half a preface":   {"PRI * HTTP/2.0\r\n\r\nSM", func(*Config) {}},
		"of HTTP/2, without settings": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", func(*Config) {}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, open, tells, func(b *bubble) {
				start := time.Now()
				conn := b.open(c.sent)
				_, _ = io.Copy(io.Discard, conn)
				assert.LessOrEqual(t, time.Since(start), headerTime)
				conn.Close()
			}, c.set)
		})
	}
}

// TestIdleConnectionsOfHTTP2 has a client answer pings and send no request.
func TestIdleConnectionsOfHTTP2(t *testing.T) {
	inBubble(t, open, tells, func(b *bubble) {
		dials := 0
		transport := &http.Transport{Protocols: priorKnowledge(),
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				dials++
				return b.front.Dial(ctx, network, address)
			}}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		for _, pause := range []time.Duration{0, DefaultIdleTimeout - time.Second, DefaultIdleTimeout + time.Second} {
			time.Sleep(pause)
			synctest.Wait()
			resp, err := client.Get("http://x/x")
			body(t, resp, err)
		}
		assert.Equal(t, 2, dials)
	})
}

// TestIdleTimeouts has connections of clients closed and those to upstreams not used
// again after their times.
func TestIdleTimeouts(t *testing.T) {
	set := func(c *Config) { c.IdleTimeout, c.UpstreamIdleTimeout = 10*time.Minute, 5*time.Second }
	for _, c := range []struct {
		change       func(*Config)
		front        time.Duration
		kept, others time.Duration // pauses after which a connection to an upstream is used and is not
	}{
		{func(*Config) {}, 120 * time.Second, 89 * time.Second, 91 * time.Second},
		{set, 10 * time.Minute, 4 * time.Second, 6 * time.Second},
	} {
		inFleet(t, 1, func(int, http.ResponseWriter, *http.Request) {}, func(f *fleet) {
			start := time.Now()
			conn := f.open("GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
			_, _ = io.Copy(io.Discard, conn.r)
			conn.Close()
			assert.Equal(t, c.front, time.Since(start))
			// Package http1 tests the same for requests without a body, on sockets.
			send := func() {
				conn := f.open(post("/x", 5) + "hello")
				conn.answer()
				conn.Close()
			}
			send()
			dials := f.dials[0].Load()
			time.Sleep(c.kept)
			send()
			assert.Equal(t, dials, f.dials[0].Load())
			time.Sleep(c.others)
			send()
			assert.Equal(t, dials+1, f.dials[0].Load())
		}, c.change)
	}
}

// TestDrainDelayOfHTTP2 has a client send on while the proxy is not ready any more: it
// is told to open another connection.
func TestDrainDelayOfHTTP2(t *testing.T) {
	over := make(chan time.Time)
	p := run(t, open, http.HandlerFunc(tells), func(c *Config) {
		c.DrainDelay = time.Hour
		c.after = func(time.Duration) <-chan time.Time { return over }
	})
	end := sync.OnceFunc(func() { close(over) })
	t.Cleanup(end) // of a test that fails, too
	var dials atomic.Int64
	transport := &http.Transport{Protocols: priorKnowledge(),
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for range 20 {
		resp, err := client.Get(p.url)
		body(t, resp, err)
	}
	// The first connection may be in the pool only after the first answer.
	before := dials.Load()
	require.LessOrEqual(t, before, int64(2))
	p.stop()
	p.journal.await(t, "not ready any more")
	for range 1000 { // the notice may come after the next request
		resp, err := client.Get(p.url)
		body(t, resp, err)
		require.Equal(t, 200, resp.StatusCode)
		if dials.Load() > before {
			break
		}
	}
	assert.Greater(t, dials.Load(), before)
	end()
	p.journal.await(t, "stopped")
}

// TestDrainOfHTTP2 ends a proxy with an open connection that has no request.
func TestDrainOfHTTP2(t *testing.T) {
	p := run(t, open, http.HandlerFunc(tells), func(c *Config) { c.Drain = time.Hour })
	transport := &http.Transport{Protocols: priorKnowledge()}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(p.url)
	body(t, resp, err)
	require.Equal(t, "HTTP/2.0", resp.Proto)
	p.stop()
	p.journal.await(t, "stopped")
}
