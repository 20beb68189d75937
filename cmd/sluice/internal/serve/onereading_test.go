package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/pipes"
	"github.com/sluice-go/sluice/internal/testenv"
)

// asking are steps by whose attributes a trace says what the policy is asked about.
const asking = `[{limit: {rate: 1000000/1s, per: [method, host, path, header:x-key, header:authorization]}}]`

const oneReading = `
version: 1
policies:
  hosted: {steps: ` + asking + `}
  admin: {steps: ` + asking + `}
  api: {steps: ` + asking + `}
  rest: {steps: ` + asking + `}
http: {paths: %s}
routes:
  - {host: hosted.test, path: /**, policy: hosted}
  - {path: /admin/**, policy: admin}
  - {path: /api/*/x, policy: api}
  - {path: /**, policy: rest}
`

// asked is what a policy was asked about.
type asked struct{ policy, method, host, path, key, token string }

// reading is a proxy in a bubble, whose upstream reads strictly.
type reading struct {
	*Server
	t     testing.TB
	paths string
	front *pipes.Listener

	mu   sync.Mutex // of what the upstream has read
	seen []strictRequest
	bad  []string
}

// readings are the ways in which a proxy sends requests on.
var readings = []struct {
	paths        string
	preserveHost bool
}{{"clean", false}, {"strict", false}, {"exact_bytes", false}, {"clean", true}, {"exact_bytes", true}}

// inReading runs a test with a proxy in a bubble.
func inReading(t *testing.T, way int, test func(b *reading)) {
	t.Helper()
	as := readings[way%len(readings)]
	synctest.Test(t, func(t *testing.T) {
		b := &reading{t: t, paths: as.paths, front: pipes.Listen()}
		back := pipes.Listen()
		c := Config{
			File: "policy.yaml", Source: fmt.Appendf(nil, oneReading, as.paths), Upstreams: []*url.URL{{Scheme: "http", Host: "upstream.test"}},
			Upgrades: []string{"websocket"}, PreserveHost: as.preserveHost, Log: slog.New(slog.DiscardHandler),
			dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				return back.Dial(ctx, network, address)
			},
		}
		var err error
		b.Server, err = New(c)
		require.NoError(t, err)
		proxy := b.Server.front()
		var running sync.WaitGroup
		running.Go(func() { _ = serveFront(proxy, b.front) })
		running.Go(func() {
			for {
				conn, err := back.Accept()
				if err != nil {
					return
				}
				running.Go(func() { b.upstream(conn) })
			}
		})
		test(b)
		require.NoError(t, proxy.Close())
		for _, u := range b.upstreams {
			u.transport.CloseIdleConnections()
		}
		back.Close()
		running.Wait()
	})
}

// traced returns what the policy was asked about, in its order.
func traced(t *sluice.Trace) (list []asked, err error) {
	var text bytes.Buffer
	if err := t.Stop(); err != nil {
		return nil, err
	}
	if _, err := t.WriteTo(&text); err != nil {
		return nil, err
	}
	for line := range strings.Lines(text.String()) {
		var call struct {
			Op         string
			ID         json.RawMessage // the policy, a slash and a number
			Attributes map[string]string
		}
		if err := json.Unmarshal([]byte(line), &call); err != nil {
			return nil, err
		}
		if a := call.Attributes; call.Op == "call" {
			policy, _, _ := strings.Cut(strings.Trim(string(call.ID), `"`), "/")
			list = append(list, asked{policy, a["method"], a["host"], a["path"], a["header:x-key"], a["header:authorization"]})
		}
	}
	return list, nil
}

// upstream answers what it reads strictly.
func (b *reading) upstream(conn net.Conn) {
	defer conn.Close()
	for r := bufio.NewReader(conn); ; {
		q, err := readStrict(r)
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		b.mu.Lock()
		if err != nil {
			b.bad = append(b.bad, err.Error())
		} else {
			b.seen = append(b.seen, q)
		}
		b.mu.Unlock()
		if err != nil || !q.whole {
			return
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
			return
		}
	}
}

// send sends bytes on a connection. It returns the first difference between what the policy
// was asked about and what the upstream read, empty for none.
func (b *reading) send(text []byte) string {
	b.seen, b.bad = nil, nil
	trace, err := b.set.Trace(sluice.TraceOptions{Redact: sluice.RedactNone})
	if err != nil {
		return err.Error()
	}
	conn, err := b.front.Dial(context.Background(), "", "")
	if err != nil {
		return err.Error()
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = conn.Write(text) })
	both.Go(func() { _, _ = io.Copy(io.Discard, conn) })
	synctest.Wait() // whatever can happen has happened
	conn.Close()
	both.Wait()
	synctest.Wait()
	list, err := traced(trace)
	if err != nil {
		return err.Error()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := b.difference(list); diff != "" {
		return diff
	}
	return b.framing(text)
}

// framing returns how the bodies that the upstream got differ from those that a strict
// reader finds in what a client of HTTP/1 has sent, where it can read all of that.
func (b *reading) framing(text []byte) string {
	var sent []strictRequest
	for r := bufio.NewReader(bytes.NewReader(text)); ; {
		q, err := readStrict(r)
		if err == io.EOF {
			break
		} else if err != nil || !q.whole {
			return ""
		}
		sent = append(sent, q)
	}
	rest := sent
	for i := range b.seen {
		at := slices.IndexFunc(rest, func(q strictRequest) bool { return q.method == b.seen[i].method && q.body == b.seen[i].body })
		if at < 0 {
			return fmt.Sprintf("the upstream read %+v, the client sent %+v", b.seen, sent)
		}
		rest = rest[at+1:]
	}
	return ""
}

func (b *reading) difference(list []asked) string {
	if len(b.bad) > 0 {
		return "the upstream cannot read " + strings.Join(b.bad, "; ")
	}
	rest := list
	for i := range b.seen {
		q := &b.seen[i]
		// A request may be refused, or lost, after the policy was asked.
		why := "nothing"
		for {
			if len(rest) == 0 {
				return fmt.Sprintf("the upstream read %+v, the policy was asked about %+v: %s", b.seen, list, why)
			}
			next := b.differs(&rest[0], q)
			rest = rest[1:]
			if next == "" {
				break
			}
			why = next
		}
	}
	return ""
}

// differs returns what an upstream reads in another way than the policy.
func (b *reading) differs(a *asked, q *strictRequest) string {
	path, host := unescaped(q.path), strings.Join(q.fields["x-forwarded-host"], ", ")
	switch {
	case host != "" && !strictHost(host):
		return "the host of X-Forwarded-Host"
	case bareHost(host) != a.host:
		return "host"
	case b.config.PreserveHost && host != "" && q.host != host, !b.config.PreserveHost && q.host != "upstream.test":
		return "the host that is sent"
	case q.method != a.method:
		return "method"
	case b.paths == "exact_bytes" && q.path != a.path, path != unescaped(a.path):
		return "path"
	case b.paths != "exact_bytes" && !isPlainPath(q.path):
		return "a path with another form"
	case a.policy != b.policyOf(host, q.path):
		return "route"
	case a.key != strings.ToValidUTF8(strings.Join(q.fields["x-key"], ", "), "\ufffd") && !same(q.fields["x-key"], a.key):
		return "key"
	case a.token != tokenOf(q.fields["authorization"]):
		return "token"
	}
	return ""
}

// policyOf is what the routes say of a path, as naively as possible.
func (b *reading) policyOf(host, path string) string {
	if b.paths != "exact_bytes" {
		path = unescaped(path)
	}
	segments := strings.Split(path, "/")[1:]
	switch {
	case bareHost(host) == "hosted.test":
		return "hosted"
	case segments[0] == "admin":
		return "admin"
	case len(segments) == 3 && segments[0] == "api" && segments[2] == "x":
		return "api"
	}
	return "rest"
}

// same reports whether all lines of a field have one value.
func same(lines []string, value string) bool {
	return len(lines) > 0 && !slices.ContainsFunc(lines, func(line string) bool { return line != value })
}

// tokenOf is a credential whose scheme is in lower case, with one space behind it.
func tokenOf(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	scheme, rest := lines[0], ""
	if end := strings.IndexAny(scheme, " \t"); end >= 0 {
		scheme, rest = strings.ToLower(scheme[:end])+" ", strings.TrimLeft(scheme[end:], " \t")
	}
	return scheme + rest
}

// unescaped decodes the escapes of a path once.
func unescaped(path string) string {
	const digits = "0123456789ABCDEF"
	var text strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			high, low := strings.IndexByte(digits, upper(path[i+1])), strings.IndexByte(digits, upper(path[i+2]))
			if high >= 0 && low >= 0 {
				text.WriteByte(byte(high<<4 | low))
				i += 2
				continue
			}
		}
		text.WriteByte(path[i])
	}
	return text.String()
}

func upper(c byte) byte { return strings.ToUpper(string(rune(c)))[0] }

// isPlainPath reports whether a path has neither dot segments nor empty ones, and no escape
// that means the same as its character.
func isPlainPath(path string) bool {
	for segment := range strings.SplitSeq(strings.TrimSuffix(path[1:], "/"), "/") {
		if segment == "" && path != "/" || segment == "." || segment == ".." {
			return false
		}
	}
	for i := range len(path) {
		if path[i] == '%' && strings.ContainsAny(unescaped(path[i:i+3]),
			"/.-_~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789\x00\r\n\\") {
			return false
		}
	}
	return true
}

// The pieces of which requests are made.
var (
	someMethods = []string{"GET", "POST", "PUT", "OPTIONS", "HEAD", "CONNECT", "PRI", "get", "G T", "", "X-Y", "DELETE"}
	someSchemes = []string{"http:", "https:", "HTTP:", "x:", "file:", "h2c:", "urn:", "javascript:", ""}
	someSlashes = []string{"//", "//", "/", "", "///", "\\\\", "%2f%2f"}
	someHosts   = []string{"x", "hosted.test", "HOSTED.test.", "a:80", "[::1]", "[::1]:8080", "u:p@x", "@x", "", "x\"y", "a b",
		"%78", "a,b", "x#y", "hosted.test:443", "é", "[::1", ":80"}
	someSegments = []string{"admin", "x", "api", "..", ".", "", "%61dmin", "%2e%2e", "%2fadmin", "a;b", "..;", "%00", "é", "%c3%a9",
		"\\", "*", "%", "a b", "%20", "#", "@", "[", "%5b", "~", "%25", "^"}
	someQueries  = []string{"", "?", "?a=b", "?/admin/x", "?a b", "?#x", "?%zz", "?a|b[]", "?http://u/admin", "?\xff", "??", "?a HTTP/1.1"}
	someVersions = []string{"HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.2", "http/1.1", "", "HTTP/1.1 "}
	someFields   = []string{
		"X-Key: a", "Connection: X-Key", "Authorization: Bearer   t",
		"Content-Length: 5", "Content-Length: 0", "Content-Length: 5, 5", "Content-Length: +5", "Content-Length: 0x5",
		"Content-Length:", "Transfer-Encoding: chunked", "Transfer-Encoding: Chunked",
		"Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding:\x0bchunked",
		"Transfer_Encoding: chunked", "Transfer-Encoding : chunked", " Transfer-Encoding: chunked",
		"X-Key: a", "X-Key: b", "X-Key:  a\t", "x-key: a", "X_Key: a", "X-Key: ", "Authorization: Bearer t",
		"Authorization: bearer   t", "Authorization: BEARER\tt", "authorization: Basic\t dTpw ",
		"Connection: X-Key", "Connection: close, authorization", "Connection: Upgrade", "Connection: keep-alive",
		"Connection: x-forwarded-host", "Connection: content-length", "Connection: transfer-encoding, host",
		"Upgrade: websocket", "Upgrade: h2c", "Expect: 100-continue", "Expect: x", "Host: y", "host: hosted.test",
		"X-Forwarded-Host: z", "X-Forwarded-Path: /admin", "Forwarded: host=z", "Trailer: X-Key",
		"TE: trailers", "Te: chunked", "X-Http-Method-Override: DELETE", "X-Original-Url: /admin", "Keep-Alive: x", "X:\xff",
		"X: a\x00b", "X: a\rY: b", ": x", "X", "Proxy-Connection: x-key", "Content-Length : 5", "Max-Forwards: 0",
	}
	someBodies = []string{"", "", "hello", "5\r\nhello\r\n0\r\n\r\n", "0\r\n\r\n", "5;x=y\r\nhello\r\n0\r\nX-Key: z\r\n\r\n",
		"5\nhello\n0\n\n", "GET /admin HTTP/1.1\r\nHost: x\r\n\r\n", "00000000000000005\r\nhello\r\n0\r\n\r\n", "-1\r\n",
		"5 \r\nhello\r\n0\r\n\r\n", "2\r\nhello\r\n0\r\n\r\n"}
	someBytes = []byte("\r\n\t :/?#@%.;\\\"*\x00\x7f\xffaA1,[]")
)

func oneOf[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// mostly takes one of the first two, which are usual, three times of four.
func mostly(random *rand.Rand, list []string) string {
	if random.IntN(4) > 0 {
		list = list[:2]
	}
	return oneOf(random, list)
}

// targetOf is a random target.
func targetOf(random *rand.Rand) string {
	path := ""
	for range random.IntN(5) {
		path += "/" + mostly(random, someSegments)
	}
	path += mostly(random, someQueries)
	switch random.IntN(8) {
	case 0:
		return mostly(random, someSchemes) + mostly(random, someSlashes) + mostly(random, someHosts) + path
	case 1:
		return mostly(random, someSchemes) + path
	case 2:
		return oneOf(random, []string{"*", "*?x", "x:80", "hosted.test", "//", "x:", "?"}) + path
	}
	return "/" + strings.TrimPrefix(path, "/")
}

// requestText is a random request of HTTP/1 by its grammar, with mistakes.
func requestText(random *rand.Rand) []byte {
	var b bytes.Buffer
	for range 1 + random.IntN(3) {
		end := "\r\n"
		if random.IntN(30) == 0 {
			end = "\n"
		}
		b.WriteString(mostly(random, someMethods) + " " + targetOf(random) + " " + mostly(random, someVersions) + end)
		if random.IntN(10) > 0 {
			b.WriteString("Host: " + mostly(random, someHosts) + end)
		}
		for range random.IntN(4) {
			b.WriteString(mostly(random, someFields) + end)
		}
		b.WriteString(end + oneOf(random, someBodies))
	}
	text := b.Bytes()
	for random.IntN(3) == 0 && len(text) > 0 {
		at := random.IntN(len(text))
		switch random.IntN(3) {
		case 0:
			text[at] = oneOf(random, someBytes)
		case 1:
			text = slices.Insert(text, at, oneOf(random, someBytes))
		default:
			text = slices.Delete(text, at, min(at+1+random.IntN(3), len(text)))
		}
	}
	return text
}

// fieldsText is a random request of HTTP/2: a line for each field, and what stands behind
// an empty line is the body.
func fieldsText(random *rand.Rand) []byte {
	var b strings.Builder
	pseudo := func(name, value string) {
		if random.IntN(20) > 0 {
			b.WriteString(":" + name + ": " + value + "\n")
		}
	}
	pseudo("method", mostly(random, someMethods))
	pseudo("scheme", strings.TrimSuffix(mostly(random, someSchemes[:4]), ":"))
	if random.IntN(5) > 0 {
		pseudo("authority", mostly(random, someHosts))
	}
	pseudo("path", targetOf(random))
	for range random.IntN(4) {
		b.WriteString(strings.ToLower(mostly(random, someFields)) + "\n")
	}
	if random.IntN(3) == 0 {
		b.WriteString("\n" + oneOf(random, someBodies))
	}
	text := []byte(b.String())
	if random.IntN(4) == 0 {
		text[random.IntN(len(text))] = oneOf(random, someBytes)
	}
	return text
}

// framesOf are the frames of a request of HTTP/2 that a text describes.
func framesOf(text []byte) []byte {
	head, body, whole := bytes.Cut(text, []byte("\n\n"))
	var block, frames bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for line := range strings.SplitSeq(strings.TrimSuffix(string(head), "\n"), "\n") {
		if line == "" {
			continue
		}
		colon := strings.IndexByte(line[1:], ':') + 1
		if colon == 0 {
			colon = len(line)
		}
		_ = encoder.WriteField(hpack.HeaderField{Name: line[:colon], Value: strings.TrimPrefix(strings.TrimPrefix(line[colon:], ":"), " ")})
	}
	frames.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&frames, nil)
	framer.AllowIllegalWrites = true
	_ = framer.WriteSettings()
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: !whole, EndHeaders: true})
	if whole {
		_ = framer.WriteData(1, true, body)
	}
	return frames.Bytes()
}

// TestOneReading has random first lines and header blocks: the path, the host, the keys and
// the framing that a strict reader sees in the bytes which the upstream gets are those that
// the policy was asked about.
func TestOneReading(t *testing.T) {
	seed := testenv.Seed()
	for version, make := range map[string]func(*rand.Rand) []byte{
		"HTTP/1": requestText,
		"HTTP/2": func(random *rand.Rand) []byte { return framesOf(fieldsText(random)) },
	} {
		for way := range readings {
			t.Run(fmt.Sprint(version, " ", readings[way]), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, uint64(way)))
				served := 0
				inReading(t, way, func(b *reading) {
					for range testenv.Cases(150) {
						text := make(random)
						if diff := b.send(text); !assert.Empty(t, diff, "SLUICE_SEED=%d %q", seed, text) {
							return
						}
						served += len(b.seen)
					}
				})
				require.Greater(t, served, testenv.Cases(150)/40, "requests that are served")
			})
		}
	}
}

// FuzzFirstLines has the bytes of clients of HTTP/1.
func FuzzFirstLines(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 40 {
		f.Add(byte(i), requestText(random))
	}
	f.Fuzz(func(t *testing.T, way byte, text []byte) {
		inReading(t, int(way), func(b *reading) {
			assert.Empty(t, b.send(text))
		})
	})
}

// FuzzFields has the header blocks of clients of HTTP/2.
func FuzzFields(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		f.Add(byte(i), fieldsText(random))
	}
	f.Fuzz(func(t *testing.T, way byte, text []byte) {
		inReading(t, int(way), func(b *reading) {
			assert.Empty(t, b.send(framesOf(text)))
		})
	})
}
