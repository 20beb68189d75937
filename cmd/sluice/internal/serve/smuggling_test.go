package serve

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
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
