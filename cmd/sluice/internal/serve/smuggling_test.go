package serve

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sluice-go/sluice/internal/pipes"
)

// TestFramingIsRead has requests whose end servers disagree about, each with another
// request hidden in what some of them take for its body. The upstream must see as many
// requests as the client gets answers, none of which is the hidden one, and one way of
// framing for each.
func TestFramingIsRead(t *testing.T) {
	const hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, text := range map[string]string{
		"length and chunks":          "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n25\r\n" + hidden + "\r\n0\r\n\r\n",
		"chunks and length":          "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 43\r\n\r\n0\r\n\r\n",
		"two lengths":                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 42\r\n\r\nhello" + hidden,
		"a list of lengths":          "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 42\r\n\r\nhello" + hidden,
		"a signed length":            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +42\r\n\r\nhello" + hidden,
		"an unknown coding":          "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\nhello" + hidden,
		"two codings":                "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden,
		"a coding with a space":      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\nhello" + hidden,
		"a coding on another line":   "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\nhello" + hidden,
		"a coding behind a tab":      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\tchunked\r\nContent-Length: 43\r\n\r\n0\r\n\r\n",
		"a bare line feed":           "POST / HTTP/1.1\r\nHost: x\nContent-Length: 5\r\n\r\nhello",
		"a null in a name":           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length\x00: 42\r\n\r\n" + hidden,
		"a chunk that is too long":   "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n" + hidden,
		"a chunk without its end":    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxx0\r\n\r\n" + hidden,
		"chunks of an older version": "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 43\r\n\r\n0\r\n\r\n",
		"two hosts":                  "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
		"no host":                    "GET / HTTP/1.1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var seen []string
			inBubble(t, open, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, r.URL.Path)
				assert.False(t, r.ContentLength >= 0 && len(r.TransferEncoding) > 0)
			}, func(b *bubble) {
				c := b.open(strings.Replace(text, "Host: x\r\n", "Host: x\r\nX-Test: 1\r\n", 1))
				answers, err := io.ReadAll(c.Conn)
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				assert.NotContains(t, seen, "/hidden")
				assert.LessOrEqual(t, len(seen), strings.Count(string(answers), "HTTP/1."))
				assert.LessOrEqual(t, strings.Count(string(answers), " 200 OK"), len(seen))
			})
		})
	}
}

// earlyHeads begin requests whose body a server may answer before it has come. LENGTH is
// the length of the body.
var earlyHeads = map[string]string{
	"expectation":           "Content-Length: LENGTH\r\nExpect: 100-continue\r\n",
	"unknown expectation":   "Content-Length: LENGTH\r\nExpect: y 100-continue\r\n",
	"a length behind a tab": "Content-Length:\tLENGTH\r\nExpect: 100-continue\r\n",
	"no expectation":        "Content-Length: LENGTH\r\n",
	"chunks":                "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n",
}

const hiddenRequest = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"

// sendEarly sends the head of a POST, and when nothing more happens a body that is another
// request. It returns the answers of a minute.
func sendEarly(conn net.Conn, path, head string) string {
	answers := make(chan []byte)
	go func() {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		text, _ := io.ReadAll(conn)
		answers <- text
	}()
	head = strings.Replace(head, "LENGTH", fmt.Sprint(len(hiddenRequest)), 1)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = conn.SetWriteDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\n"+head+"\r\n"); err != nil {
			return
		}
		time.Sleep(time.Second)
		_, _ = io.WriteString(conn, hiddenRequest)
	}()
	text := <-answers
	<-sent
	return string(text)
}

// paths are the paths of the requests that an upstream sees.
type paths struct {
	mu   sync.Mutex
	list []string
}

func (p *paths) add(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, path)
}

func (p *paths) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}

// TestBodyBehindAnEarlyAnswer has the upstream, or the policy, answer before the body of a
// request has come (0.CL). The body must not be read as a request. A proxy that does so is
// found by the same.
func TestBodyBehindAnEarlyAnswer(t *testing.T) {
	for name, head := range earlyHeads {
		for path, status := range map[string]string{"/early": "200", "/api/refused": "429"} {
			t.Run(name+" "+path, func(t *testing.T) {
				var seen paths
				inBubble(t, open, func(_ http.ResponseWriter, r *http.Request) { seen.add(r.URL.Path) }, func(b *bubble) {
					b.get("/api/first") // the only one that the limit admits
					c := b.open("")
					answers := sendEarly(c.Conn, path, head)
					assert.NotContains(t, seen.all(), "/hidden")
					if head != earlyHeads["unknown expectation"] {
						assert.Contains(t, answers, " "+status+" ")
					}
					final := strings.Count(answers, "HTTP/1.1 ") - strings.Count(answers, "HTTP/1.1 100 ")
					assert.Equal(t, 1, final, answers)
				})
			})
		}
		t.Run(name+" at a hole", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen paths
				l := pipes.Listen()
				defer l.Close()
				go func() {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					defer conn.Close()
					for r := bufio.NewReader(conn); ; {
						request, err := http.ReadRequest(r)
						if err != nil {
							return
						}
						seen.add(request.URL.Path)
						if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
							return
						}
					}
				}()
				conn, err := l.Dial(t.Context(), "", "")
				require.NoError(t, err)
				sendEarly(conn, "/early", head)
				conn.Close()
				assert.Contains(t, seen.all(), "/hidden")
			})
		})
	}
}

// sendBehindUpgrade asks for an upgrade to h2c and sends a request of HTTP/2 behind it. It
// returns the answer to the first request.
func sendBehindUpgrade(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	defer conn.Close()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/hidden"}} {
		require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	var frames bytes.Buffer
	frames.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&frames, nil)
	require.NoError(t, framer.WriteSettings())
	require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}))
	go func() {
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
		time.Sleep(time.Second)
		_, _ = conn.Write(frames.Bytes())
	}()
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, _ = io.Copy(io.Discard, r)
	return resp
}

// upgrading is an upstream that upgrades to h2c and notes the paths of requests before and
// behind the upgrade.
func upgrading(seen *paths) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		seen.add(r.URL.Path)
		if r.Header.Get("Upgrade") != "h2c" {
			return
		}
		conn, text, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
		if _, err := io.ReadFull(text, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		framer := http2.NewFramer(conn, text)
		framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				return
			}
			if head, ok := frame.(*http2.MetaHeadersFrame); ok {
				seen.add(head.PseudoValue("path"))
			}
		}
	}
}

// TestRequestBehindAnUpgrade has an upstream that upgrades to h2c. No request may reach it
// behind the upgrade. A proxy that passes the upgrade on is found by the same.
func TestRequestBehindAnUpgrade(t *testing.T) {
	var seen, seenBehindHole paths
	inBubble(t, open, upgrading(&seen), func(b *bubble) {
		resp := sendBehindUpgrade(t, b.open("").Conn)
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, []string{"/"}, seen.all())
	})
	synctest.Test(t, func(t *testing.T) {
		back, front := pipes.Listen(), pipes.Listen()
		server := &http.Server{Handler: upgrading(&seenBehindHole)}
		done := make(chan error, 1)
		go func() { done <- server.Serve(back) }()
		go func() {
			client, err := front.Accept()
			if err != nil {
				return
			}
			defer client.Close()
			to, err := back.Dial(t.Context(), "", "")
			if err != nil {
				return
			}
			defer to.Close()
			go func() { _, _ = io.Copy(client, to) }()
			_, _ = io.Copy(to, client)
		}()
		conn, err := front.Dial(t.Context(), "", "")
		require.NoError(t, err)
		resp := sendBehindUpgrade(t, conn)
		assert.Equal(t, 101, resp.StatusCode)
		assert.Equal(t, []string{"/", "/hidden"}, seenBehindHole.all())
		front.Close()
		server.Close()
		<-done
	})
}
