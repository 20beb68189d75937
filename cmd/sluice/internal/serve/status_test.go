package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

// answering has an upstream give an answer, byte by byte as it is, to each request that has
// arrived: one that is answered before gives no vote.
func answering(b *bubble, answer string) {
	b.connect = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			r, err := http.ReadRequest(bufio.NewReader(there))
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				_, _ = io.WriteString(there, answer)
			}
		}()
		return here, nil
	}
}

// TestStatusThatIsNone has an upstream answer with statuses that no server can send on.
func TestStatusThatIsNone(t *testing.T) {
	for _, status := range []string{"000", "001", "099"} {
		for _, request := range []string{"GET %s HTTP/1.1\r\nHost: x\r\n\r\n", "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"} {
			inBubble(t, "version: 1\npolicies:\n  p: {steps: [{breaker: {window: {consecutive: 20}}}, {bulkhead: 5}]}\nroutes: [{path: /guarded, policy: p}]", nil, func(b *bubble) {
				answering(b, "HTTP/1.1 "+status+" X\r\nContent-Length: 2\r\n\r\nok")
				for i := range 10 {
					for _, path := range []string{"/guarded", "/free"} {
						c := b.open(fmt.Sprintf(request, path))
						resp, _ := c.answer()
						assert.Equal(t, http.StatusBadGateway, resp.StatusCode, "%s %s", status, path)
						assert.NoError(t, c.Close())
					}
					assert.Equal(t, 5, b.free("p"))
					assert.Contains(t, states(b.Server)["breaker"], fmt.Sprintf("failed %d in a row", i+1))
				}
				assert.Zero(t, b.journal.count("panic"))
			})
		}
	}
}

// TestOtherUpgrade has an upstream switch protocols in an answer to a request that did not
// ask for it, or to another protocol.
func TestOtherUpgrade(t *testing.T) {
	for _, request := range []string{
		"GET /x HTTP/1.1\r\nHost: x\r\n\r\n", "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
		"GET /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	} {
		for _, header := range []string{"", "Connection: Upgrade\r\nUpgrade: h2c\r\n"} {
			inBubble(t, "version: 1\npolicies:\n  p: {steps: [{bulkhead: 5}]}\nroutes: [{path: /**, policy: p}]", nil, func(b *bubble) {
				answering(b, "HTTP/1.1 101 X\r\n"+header+"\r\n")
				for range 10 {
					c := b.open(request)
					resp, _ := c.answer()
					assert.Equal(t, http.StatusBadGateway, resp.StatusCode, "%q %q", request, header)
					assert.NoError(t, c.Close())
				}
				assert.Equal(t, 5, b.free("p"))
			})
		}
	}
}
