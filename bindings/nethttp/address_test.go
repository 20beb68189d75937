package nethttp_test

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/internal/testenv"
)

// TestAddressesOfConditions: deny, allow and when compare the whole address of the peer
// with networks of all lengths as net/netip does, and the key of a limit is its network.
func TestAddressesOfConditions(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(), 0xad))
	met := 0
	for range 500 * testenv.Times() {
		peer := testenv.Address(r)
		network := testenv.Network(r, peer)
		want := network.Contains(peer.Unmap().WithZone(""))
		if want && network.Bits() > 64 {
			met++
		}
		remote := netip.AddrPortFrom(peer, 4711).String()
		what := fmt.Sprintf("SLUICE_SEED=%d: %s in %s", testenv.Seed(), remote, network)
		ask := func(p *sluice.Pipeline) *httptest.ResponseRecorder {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = remote
			return serve(nethttp.NewHandler(says(200, ""), p), r)
		}
		status := map[bool]int{false: 200, true: 403}[want]
		denied := policyOf(t, fmt.Sprintf("deny: {ip: %q}", network), "steps: [limit: {rate: 1/1h, per: ip}]")
		require.Equal(t, status, ask(denied).Code, what)
		if key := denied.Limits(sluice.Request{Lookup: func(string) string { return testenv.Key(peer) }}, nil); !want {
			require.Zero(t, key[0].Free, what+": its key is "+testenv.Key(peer))
		}
		fields := map[bool]string{false: "", true: `"limit";q=1;w=3600`}
		applied := policyOf(t, fmt.Sprintf("steps: [limit: {rate: 1/1h, per: ip, when: {ip: %q}}]", network))
		require.Equal(t, fields[want], ask(applied).Header().Get("Ratelimit-Policy"), what)
		allowed := policyOf(t, fmt.Sprintf("allow: {ip: %q}", network), "steps: [limit: {rate: 1/1h, per: ip}]")
		require.Equal(t, fields[!want], ask(allowed).Header().Get("Ratelimit-Policy"), what)
	}
	require.Greater(t, met, 20)
}
