package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// counting is a connection whose written bytes are counted.
type counting struct {
	net.Conn
	written *atomic.Int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// h2 is a client of HTTP/2 that writes what it likes.
type h2 struct {
	b       *bubble
	conn    *counting
	framer  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
	stream  uint32
	answers sync.Map   // status by stream
	acks    sync.Mutex // of the framer, for it has one buffer
}

func (b *bubble) h2() *h2 {
	b.t.Helper()
	conn, err := b.front.Dial(b.t.Context(), "", "")
	require.NoError(b.t, err)
	c := &h2{b: b, conn: &counting{conn, new(atomic.Int64)}}
	c.framer, c.encoder = http2.NewFramer(c.conn, c.conn), hpack.NewEncoder(&c.block)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	go func() {
		for {
			frame, err := c.framer.ReadFrame()
			if err != nil {
				return
			}
			switch f := frame.(type) {
			case *http2.MetaHeadersFrame:
				c.answers.Store(f.StreamID, f.PseudoValue("status"))
			case *http2.SettingsFrame:
				if !f.IsAck() {
					go c.acknowledge()
				}
			}
		}
	}()
	_, err = io.WriteString(c.conn, http2.ClientPreface)
	require.NoError(b.t, err)
	c.acks.Lock()
	err = c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
	c.acks.Unlock()
	require.NoError(b.t, err)
	synctest.Wait()
	return c
}

func (c *h2) acknowledge() {
	c.acks.Lock()
	defer c.acks.Unlock()
	_ = c.framer.WriteSettingsAck()
}

// request begins a stream with fields.
func (c *h2) request(fields ...hpack.HeaderField) {
	c.b.t.Helper()
	c.stream += 2
	id := c.stream - 1
	c.block.Reset()
	for _, f := range append([]hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"},
		{Name: ":path", Value: "/x"}, {Name: ":authority", Value: "x"}}, fields...) {
		require.NoError(c.b.t, c.encoder.WriteField(f))
	}
	rest, first := c.block.Bytes(), true
	for first || len(rest) > 0 {
		part := rest[:min(len(rest), 16<<10)]
		rest = rest[len(part):]
		if first {
			require.NoError(c.b.t, c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: part, EndStream: true,
				EndHeaders: len(rest) == 0}))
		} else {
			require.NoError(c.b.t, c.framer.WriteContinuation(id, len(rest) == 0, part))
		}
		first = false
	}
	synctest.Wait()
}

// statuses counts the answers.
func (c *h2) statuses() map[string]int {
	all := map[string]int{}
	c.answers.Range(func(_, status any) bool { all[status.(string)]++; return true })
	return all
}

// TestCompressedHeaders has a client of HTTP/2 repeat a large field by an index of one byte:
// what the upstream gets is bounded for each request.
func TestCompressedHeaders(t *testing.T) {
	for _, c := range []struct {
		repeated int    // times 3,900 bytes
		status   string // of the answers
		most     int64  // bytes at the upstream
	}{{230, "431", 0}, {17, "431", 0}, {16, "200", 800 * 64 << 10}} {
		var upstream atomic.Int64
		inBubble(t, stepsOf("[{limit: 100000/1s}]"), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }, func(b *bubble) {
			next := b.connect
			b.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := next(ctx, network, address)
				return &counting{conn, &upstream}, err
			}
			client := b.h2()
			defer client.conn.Close()
			large := hpack.HeaderField{Name: "x", Value: strings.Repeat("a", 3900)}
			fields := make([]hpack.HeaderField, c.repeated)
			for i := range fields {
				fields[i] = large
			}
			for range 800 {
				client.request(fields...)
			}
			later(0)
			assert.Equal(t, map[string]int{c.status: 800}, client.statuses())
			assert.LessOrEqual(t, upstream.Load(), c.most)
			t.Logf("%d fields of 3900 bytes in 800 requests: %d bytes of the client, %d at the upstream", c.repeated,
				client.conn.written.Load(), upstream.Load())
		})
	}
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestHeadersThatWait has 250 requests of a connection wait in a queue, with as many bytes
// of headers as they may have, which the connection may not: it holds no more than its
// bound, and frees it.
func TestHeadersThatWait(t *testing.T) {
	goOn := make(chan struct{})
	inBubble(t, stepsOf("[{bulkhead: {concurrent: 1, queue: 1000, wait: 1h}}]"),
		func(w http.ResponseWriter, _ *http.Request) { <-goOn }, func(b *bubble) {
			goOn = make(chan struct{}) // of the bubble
			client := b.h2()
			defer client.conn.Close()
			before := heap()
			for i := range 250 {
				client.request(hpack.HeaderField{Name: "x", Value: strings.Repeat(fmt.Sprintf("%03d", i), 20_000), Sensitive: true})
			}
			later(0)
			held := b.headers.bytes.Load()
			assert.LessOrEqual(t, held, DefaultHeaders.Connection)
			assert.Greater(t, held, DefaultHeaders.Connection*9/10)
			refused := 250 - int(DefaultHeaders.Connection/60_100)
			assert.Equal(t, map[string]int{"431": refused}, client.statuses(), "the others wait")
			grown := heap() - before
			assert.Less(t, grown, 3*DefaultHeaders.Connection, "with the buffers of the test")
			t.Logf("%d bytes of the client; %d held, the heap has grown by %d", client.conn.written.Load(), held, grown)
			close(goOn)
			later(0)
			assert.Zero(t, b.headers.bytes.Load())
			client.request()
			assert.Equal(t, map[string]int{"431": refused, "200": 250 - refused + 1}, client.statuses())
		})
}

// TestHeldHeadersOfTheProcess are bounded over all connections.
func TestHeldHeadersOfTheProcess(t *testing.T) {
	goOn := make(chan struct{})
	inBubble(t, stepsOf("[{bulkhead: {concurrent: 1, queue: 1000, wait: 1h}}]"),
		func(w http.ResponseWriter, _ *http.Request) { <-goOn }, func(b *bubble) {
			goOn = make(chan struct{}) // of the bubble
			request := "GET /x HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("a", 30_000) + "\r\n\r\n"
			for range 3 {
				defer b.dial(request).Close()
			}
			resp, body := b.get("/x", "X-A: "+strings.Repeat("a", 30_000))
			assert.Equal(t, 503, resp.StatusCode, body)
			close(goOn)
			later(0)
			resp, _ = b.get("/x", "X-A: "+strings.Repeat("a", 30_000))
			assert.Equal(t, 200, resp.StatusCode)
			assert.Zero(t, b.headers.bytes.Load())
		}, func(c *Config) { c.Headers.Process = 100_000 })
}

// TestHeaderLimits is what a request and an answer may have, to the byte.
func TestHeaderLimits(t *testing.T) {
	inBubble(t, stepsOf("[{breaker: {window: {calls: 10}}}]"), func(w http.ResponseWriter, r *http.Request) {
		var size, fields int
		_, _ = fmt.Sscanf(r.URL.RawQuery, "%d,%d", &size, &fields)
		w.Header()["Date"] = nil
		w.Header().Set("Content-Length", "0")
		for i := range fields - 1 {
			w.Header().Set(fmt.Sprintf("X-%d", i), "a")
		}
		if size > 0 {
			w.Header().Set("X-Large", strings.Repeat("a", size-len("X-Large: \r\nContent-Length: 0\r\n")))
		}
	}, func(b *bubble) {
		const line = "GET /x HTTP/1.1\r\nHost: x\r\n"
		filler := func(total int) string { return "X-A: " + strings.Repeat("a", total-len(line)-len("X-A: \r\n")) }
		many := func(n int) (lines []string) {
			for i := range n {
				lines = append(lines, fmt.Sprintf("X-%d: a", i))
			}
			return lines
		}
		for name, c := range map[string]struct {
			lines  []string
			path   string
			status int
		}{
			"the bytes":             {[]string{filler(64 << 10)}, "/x", 200},
			"a byte more":           {[]string{filler(64<<10 + 1)}, "/x", 431},
			"a megabyte":            {[]string{filler(1 << 20)}, "/x", 431},
			"the fields":            {many(199), "/x", 200},
			"a field more":          {many(200), "/x", 431},
			"many short fields":     {many(6000), "/x", 431},
			"a long target":         {nil, "/x?" + strings.Repeat("a", 65<<10), 431},
			"bytes of the answer":   {nil, fmt.Sprintf("/x?%d,0", 60<<10), 200},
			"a large answer":        {nil, fmt.Sprintf("/x?%d,0", 65<<10), 502},
			"fields of the answer":  {nil, "/x?0,200", 200},
			"a field more of it":    {nil, "/x?0,201", 502},
			"many of it, with body": {nil, "/x?0,3000", 502},
		} {
			if len(c.lines) > 0 {
				c.lines = append([]string{}, c.lines...)
			}
			resp, _ := b.get(c.path, c.lines...)
			assert.Equal(t, c.status, resp.StatusCode, name)
			if c.status == 431 {
				assert.True(t, resp.Close, name)
			}
		}
		for _, request := range []string{"GET", "POST"} {
			later(2 * time.Second) // the log has a line a second
			resp, _ := b.getBy(request, "/x?1000000,0")
			assert.Equal(t, 502, resp.StatusCode)
			for b.journal.count("no answer from the upstream") > 1 {
				b.journal.await(t, "no answer from the upstream")
			}
			assert.Contains(t, b.journal.await(t, "no answer from the upstream")["error"], "exceed", "the rest is not read")
		}
		assert.Equal(t, "closed failed 5/9", states(b.Server)["breaker"], "an answer that is too large is a failure, a request is not")
	})
}
