package sluicegrpc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-go/sluice"
	sluicegrpc "github.com/sluice-go/sluice/bindings/grpc"
	"github.com/sluice-go/sluice/internal/testenv"
)

// TestDenied: a call that the policy denies is PERMISSION_DENIED, and the service is not
// called.
func TestDenied(t *testing.T) {
	inVirtualTime(t, "denied", func(t *testing.T) {
		svc := &service{unary: func(context.Context, int, string) (string, error) { return "", nil }}
		conn := start(t, svc, guards(policyOf(t, `{deny: {key: ""}, steps: [limit: 1/1h]}`)))
		_, err := invoke(t.Context(), conn, get, "")
		assert.Equal(t, codes.PermissionDenied, status.Code(err))
		assert.Equal(t, "The policy of the service denies the request.", status.Convert(err).Message())
		assert.Zero(t, svc.calls.Load())
	})
}

// TestAddressesOfConditions: deny compares the whole address of the peer with networks of
// all lengths as net/netip does, and the key of a limit is its network.
func TestAddressesOfConditions(t *testing.T) {
	inVirtualTime(t, "addresses", func(t *testing.T) {
		r := rand.New(rand.NewPCG(testenv.Seed(), 0xad))
		var p *sluice.Pipeline
		var from netip.Addr
		peers := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			return fromAddress(netip.AddrPortFrom(from, 4711).String())(ctx, req, info, handler)
		}
		conn := start(t, &service{unary: echo}, []grpc.ServerOption{grpc.ChainUnaryInterceptor(peers,
			sluicegrpc.UnaryServerInterceptor(policyOf(t, "steps: [timeout: 1m]"), sluicegrpc.WithPolicyOf(func(*sluicegrpc.Call) *sluice.Pipeline { return p })))})
		met := 0
		for range 300 * testenv.Times() {
			from = testenv.Address(r)
			network := testenv.Network(r, from)
			want := network.Contains(from.Unmap().WithZone(""))
			if want && network.Bits() > 64 {
				met++
			}
			what := fmt.Sprintf("SLUICE_SEED=%d: %s in %s", testenv.Seed(), from, network)
			p = policyOf(t, fmt.Sprintf("{deny: {ip: %q}, steps: [limit: {rate: 1/1h, per: ip}]}", network))
			_, err := invoke(t.Context(), conn, get, "in")
			require.Equal(t, map[bool]codes.Code{false: codes.OK, true: codes.PermissionDenied}[want], status.Code(err), what)
			require.Equal(t, !want, counts(p, testenv.Key(from)), what)
		}
		require.Greater(t, met, 10)
	})
}
