package nethttp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/internal/testenv"
)

// What a stranger sends does not change whose request it is: per: ip and conditions see
// the peer, or what the configured hops say.

// hops are the prefixes of the trusted hops.
var hops = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8:ffff::/48")}

// peers are handlers that tell which address they see.
type peers struct{ denied, spared, counted http.Handler }

// newPeers makes handlers of a policy that denies the address, of one that denies all
// others, and of one whose only permit the address has taken.
func newPeers(t testing.TB, address netip.Addr, options ...nethttp.Option) *peers {
	text := address.String()
	p := &peers{
		denied:  nethttp.NewHandler(says(200, ""), policyOf(t, fmt.Sprintf("deny: {ip: %q}", text), "steps: [limit: 9/1s]"), options...),
		spared:  nethttp.NewHandler(says(200, ""), policyOf(t, fmt.Sprintf("deny: {not: {ip: %q}}", text), "steps: [limit: {rate: 1000000/1s}]"), options...),
		counted: nethttp.NewHandler(says(200, ""), policyOf(t, "steps: [limit: {rate: 1/1h, per: ip}]"), options...),
	}
	first := httptest.NewRequest("GET", "/", nil)
	first.RemoteAddr = netip.AddrPortFrom(address, 1).String()
	require.Equal(t, 200, serve(p.counted, first).Code)
	return p
}

// check sends a request from a peer, with lines of a header, to each handler. Each
// counts it for the address.
func (p *peers) check(t testing.TB, peer netip.Addr, lines []byte) {
	for i, h := range []http.Handler{p.denied, p.spared, p.counted} {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(joined("GET / HTTP/1.1\r\nHost: api.test\r\n", lines, "\r\nX: y\r\n\r\n"))))
		if err != nil || r.Header.Get("X") != "y" || r.Host != "api.test" {
			return // the server of net/http answers 400, the header ends before, or a folded line is of the Host
		}
		r.RemoteAddr = netip.AddrPortFrom(peer, 4711).String()
		if got, want := serve(h, r).Code, []int{403, 200, 429}[i]; got != want {
			t.Fatalf("%d: got %d, want %d: the request of %s was taken for another's: %q", i, got, want, peer, lines)
		}
	}
}

func joined(before string, lines []byte, after string) []byte {
	return append(append([]byte(before), lines...), after...)
}

// victims are the addresses of a stranger, one of IPv6 with a zone among them.
var victims = []netip.Addr{
	netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("2001:db8:1:2:3:4:5:6"), netip.MustParseAddr("fe80::5"), netip.MustParseAddr("::ffff:203.0.113.9"),
}

// FuzzPeer sends lines of a header from a stranger, and through two hops of which the
// outer one adds the stranger's address.
func FuzzPeer(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		f.Add([]byte(strings.Join(testenv.Forged(r, victims[r.IntN(len(victims))]), "\r\n")))
	}
	var alone, behind []*peers
	for _, victim := range victims {
		alone = append(alone, newPeers(f, victim))
		behind = append(behind, newPeers(f, victim, nethttp.WithTrustedProxies(hops...)))
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		checkForged(t, lines, alone, behind)
	})
}

// checkForged checks lines without hops, without hops although some are trusted, and
// behind two hops.
func checkForged(t testing.TB, lines []byte, alone, behind []*peers) {
	lines = bytes.Trim(lines, "\r\n")
	if len(lines) == 0 {
		lines = []byte("Accept: *")
	}
	for i, victim := range victims {
		alone[i].check(t, victim, lines)
		behind[i].check(t, victim, lines)
		for _, added := range []string{
			fmt.Sprintf("\r\nX-Forwarded-For: %s, 192.0.2.7", victim),
			fmt.Sprintf("\r\nx-forwarded-for: %s\r\nX-Forwarded-For: [2001:db8:ffff::1]:443", netip.AddrPortFrom(victim, 5)),
		} {
			behind[i].check(t, netip.MustParseAddr("192.0.2.1"), joined("", lines, added))
		}
	}
}

// TestPeer draws lines of a header.
func TestPeer(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(), 0xfe))
	var alone, behind []*peers
	for _, victim := range victims {
		alone = append(alone, newPeers(t, victim))
		behind = append(behind, newPeers(t, victim, nethttp.WithTrustedProxies(hops...)))
	}
	for range 300 * testenv.Times() {
		checkForged(t, []byte(strings.Join(testenv.Forged(r, testenv.Address(r)), "\r\n")), alone, behind)
	}
}
