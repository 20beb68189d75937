package serve

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInterimAnswersAreBounded has an upstream that gives informational answers without end,
// by both transports, and clients that know none.
func TestInterimAnswersAreBounded(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		most := 1000
		if r.URL.Path == "/few" {
			most = mostInterims
		}
		for range most {
			w.WriteHeader(http.StatusEarlyHints)
			if r.Context().Err() != nil {
				return
			}
		}
	}
	for path, want := range map[string]string{"/few": " 200 OK\r\n", "/many": " 502 Bad Gateway\r\n"} {
		for head, body := range map[string]string{"GET": "\r\n", "POST": "Content-Length: 1\r\n\r\nx"} {
			for _, version := range []string{"1.0", "1.1"} {
				inBubble(t, open, endless, func(b *bubble) {
					c := b.open(head + " " + path + " HTTP/" + version + "\r\nHost: x\r\nConnection: close\r\n" + body)
					defer c.Close()
					answers, err := io.ReadAll(c.Conn)
					require.NoError(t, err)
					assert.Contains(t, string(answers), want)
					passed := strings.Count(string(answers), " 103 Early Hints")
					if version == "1.0" {
						assert.Zero(t, passed, "HTTP/1.0 has no informational answers")
					} else {
						assert.Equal(t, mostInterims, passed, "%s %s", head, path)
					}
				})
			}
		}
	}
}

// TestDatagramsOfTheProxyProtocol has headers of version 2 for a stream and for a datagram.
func TestDatagramsOfTheProxyProtocol(t *testing.T) {
	p := run(t, open, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		func(c *Config) { c.ProxyProtocol = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	for kind, want := range map[byte]bool{0x11: true, 0x12: false} {
		header := "\r\n\r\n\x00\r\nQUIT\n\x21" + string([]byte{kind, 0, 12}) + "\xc0\x00\x02\x01\xc0\x00\x02\x02\x00\x01\x00\x50"
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, err = io.WriteString(conn, header+"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		answer, _ := io.ReadAll(conn)
		assert.Equal(t, want, strings.Contains(string(answer), " 200 OK"), "%x %s", kind, answer)
		conn.Close()
	}
}

// TestStepsThatBeginAnew renames a step and changes the per of another: the log names both,
// and not those that keep their state.
func TestStepsThatBeginAnew(t *testing.T) {
	document := func(steps string) string {
		return "version: 1\npolicies: {api: {steps: [" + steps + "]}, other: {steps: [bulkhead: 1]}}\nroutes: [{path: /**, policy: api}]\n"
	}
	p := run(t, document("{limit: {rate: 1/1s, name: logins}}, {limit: {rate: 1/1h, per: ip}}, {timeout: 1s}, {bulkhead: 5}"),
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct{ steps, want string }{
		{"{limit: {rate: 9/1s, name: logins}}, {limit: {rate: 1/1h, per: ip}}, {timeout: 2s}, {bulkhead: 6}", ""},
		{"{limit: {rate: 9/1s, name: tries}}, {limit: {rate: 1/1h, per: host}}, {timeout: 2s}, {bulkhead: 6}", "api.tries, api.limit-2"},
	} {
		p.write(t, document(c.steps))
		p.reload <- nil
		line := p.journal.await(t, "the policy document is active")
		told, _ := line["begin_anew"].(string)
		assert.Equal(t, c.want, told)
	}
}
