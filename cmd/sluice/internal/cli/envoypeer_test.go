package cli

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
	"github.com/sluice-go/sluice/internal/testenv"
)

// bootstrapped starts Envoy with what the command writes for a document, and returns it.
func bootstrapped(t *testing.T, document, flags string) *envoy.Envoy {
	t.Helper()
	upstream := envoytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "from upstream") })
	folder := t.TempDir()
	code, stdout, stderr := run(document, "envoy -b -l 127.0.0.1:0 --admin 127.0.0.1:0 -u http://"+upstream.Address()+" --write-wasm "+folder+"/filter.wasm "+flags+" -")
	require.Equal(t, ExitOK, code, stderr)
	file := filepath.Join(folder, "envoy.yaml")
	require.NoError(t, os.WriteFile(file, []byte(stdout), 0o600))
	e, err := envoy.StartFile(file)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// strangers is a document whose routes tell which address they see: /denied denies the
// address, /spared all others, and /counted has one permit for each.
func strangers(address string) string {
	return fmt.Sprintf(`version: 1
policies:
  denied: {deny: {ip: %q}, steps: [limit: 9/1s]}
  spared: {deny: {not: {ip: %q}}, steps: [limit: {rate: 1000000/1s}]}
  counted: {steps: [limit: {rate: 1/1h, per: ip}]}
routes: [{path: /denied, policy: denied}, {path: /spared, policy: spared}, {path: /counted, policy: counted}]
`, address, address)
}

// raw sends a request over HTTP/1 from an address of this machine, with lines of a header,
// and returns the status.
func raw(t *testing.T, e *envoy.Envoy, peer, before, path, lines string) int {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(peer)}}
	conn, err := d.DialContext(t.Context(), "tcp", e.Address())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, before+"GET "+path+" HTTP/1.1\r\nHost: api.test\r\n"+lines+"\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err, "%q", lines)
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// forgeries is how many drawn headers a real Envoy gets.
const forgeries = 60

// checkForged sends drawn headers, each with added lines behind it, from a peer: the
// request counts for the address that the document names.
func checkForged(t *testing.T, e *envoy.Envoy, peer, added string) {
	t.Helper()
	wants := map[string]int{"/denied": 403, "/spared": 200, "/counted": 429}
	require.Equal(t, 200, raw(t, e, peer, "", "/counted", "Accept: *"+added))
	two := envoytest.HTTP2Client(t, e)
	r := rand.New(rand.NewPCG(1, 0xfe)) // a fixed batch: Envoy takes real time
	for range forgeries {
		lines := testenv.Forged(r, netip.MustParseAddr("203.0.113.9"))
		for path, want := range wants {
			got := raw(t, e, peer, "", path, strings.Join(lines, "\r\n")+added)
			if got != 400 || strings.Contains(strings.ToLower(strings.Join(lines, "\n")), "connection:") == false {
				require.Equal(t, want, got, "%s: the request was taken for another's: %q", path, lines)
			}
			if peer != "127.0.0.1" {
				continue
			}
			var ordered []string
			for _, line := range append(lines, strings.Split(added, "\r\n")...) {
				if name, value, ok := strings.Cut(line, ": "); ok && !strings.EqualFold(name, "Connection") {
					ordered = append(ordered, http.CanonicalHeaderKey(name)+": "+strings.TrimSpace(value))
				}
			}
			require.Equal(t, want, two.Get(path, ordered...).Status, "HTTP/2 %s: the request was taken for another's: %q", path, ordered)
		}
	}
}

// TestEnvoySeesThePeer: whatever a stranger sends, per: ip and conditions see the address
// of the connection in an Envoy with the file that the command writes.
func TestEnvoySeesThePeer(t *testing.T) {
	envoytest.Need(t)
	e := bootstrapped(t, strangers("127.0.0.1"), "")
	checkForged(t, e, "127.0.0.1", "")
	// 12 forged requests of another peer have one permit together.
	passed := 0
	for i := range 12 {
		if raw(t, e, "127.0.0.2", "", "/counted", fmt.Sprintf("X-Forwarded-For: 6.6.6.%d", i)) == 200 {
			passed++
		}
	}
	require.Equal(t, 1, passed)
	require.Equal(t, 403, raw(t, e, "127.0.0.2", "", "/spared", "X-Forwarded-For: 127.0.0.1"))
	require.Equal(t, 200, raw(t, e, "127.0.0.2", "", "/denied", "X-Forwarded-For: 127.0.0.1"))
	for _, header := range []string{"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n", "PROXY UNKNOWN\r\n"} {
		require.Equal(t, 400, raw(t, e, "127.0.0.2", header, "/spared", "Accept: *"), header)
	}
}

// TestEnvoySeesThroughHops: behind configured hops the address is the one that the
// outermost of them adds, whatever stands in front of it.
func TestEnvoySeesThroughHops(t *testing.T) {
	envoytest.Need(t)
	const client = "2001:db8:1:2:3:4:5:6"
	for hops, added := range []string{"", "\r\nX-Forwarded-For: " + client,
		"\r\nX-Forwarded-For: " + client + "\r\nx-forwarded-for: 10.0.0.9"} {
		if hops > 0 {
			checkForged(t, bootstrapped(t, strangers(client), fmt.Sprint("--trusted-hops ", hops)), "127.0.0.1", added)
		}
	}
	code, stdout, stderr := run(limited+"proxy: {trusted_proxies: [10.0.0.0/8]}\n", "envoy -b -u http://a --trusted-hops 1 -")
	if code != ExitBad || stdout != "" || !strings.Contains(stderr, "allowed: one of them") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
