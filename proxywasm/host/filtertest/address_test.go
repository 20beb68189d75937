package filtertest

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/proxywasm/host"
)

// TestAddressesOfConditions: deny compares the whole address of the client with networks of
// all lengths as net/netip does, and the key of a limit is its network.
func TestAddressesOfConditions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testenv.Seed(), 0xad))
	const cases = 200
	var policies, routes []string
	var peers []netip.Addr
	var networks []netip.Prefix
	for i := range cases {
		peer := testenv.Address(r)
		network := testenv.Network(r, peer)
		peers, networks = append(peers, peer), append(networks, network)
		policies = append(policies, fmt.Sprintf(`"p%d":{"deny":{"ip":%q},"steps":[{"limit":{"rate":"1/1h","per":"ip"}}]}`, i, network))
		routes = append(routes, fmt.Sprintf(`{"path":"/%d","policy":"p%d"}`, i, i))
	}
	e := start(t, fmt.Sprintf(`{"version":1,"policies":{%s},"routes":[%s],"proxy":{"state":"worker","slots":16}}`, strings.Join(policies, ","), strings.Join(routes, ",")))
	ask := func(i int, peer netip.Addr) int {
		s := e.filter.Worker(0).Stream(host.StreamOptions{Source: netip.AddrPortFrom(peer, 4711).String()})
		s.RequestHeaders(host.Get(fmt.Sprintf("/%d", i)), host.End)
		if s.Upstream() != nil {
			answer(s, 200)
		}
		return statusOf(s)
	}
	met := 0
	for i, peer := range peers {
		want := networks[i].Contains(peer.Unmap().WithZone(""))
		what := fmt.Sprintf("SLUICE_SEED=%d: %s in %s", testenv.Seed(), peer, networks[i])
		require.Equal(t, map[bool]int{false: 200, true: 403}[want], ask(i, peer), what)
		if want {
			if networks[i].Bits() > 64 {
				met++
			}
			continue
		}
		require.Equal(t, 429, ask(i, peer), what+": one key")
		// Another address of the same network of 64 bits has no permit, unless it is denied.
		if plain := peer.Unmap().WithZone(""); plain.Is6() {
			b := plain.As16()
			b[15] ^= 1
			other := netip.AddrFrom16(b)
			require.Equal(t, map[bool]int{false: 429, true: 403}[networks[i].Contains(other)], ask(i, other), what+": "+other.String())
		}
	}
	require.Greater(t, met, 10)
}
