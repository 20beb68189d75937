package serve

import (
	"errors"
	"net"
	"net/netip"
	"slices"

	"github.com/pires/go-proxyproto"
)

// withProxyProtocol returns a listener whose connections from the prefixes begin
// with a header of the PROXY protocol, version 1 or 2, with the address of the
// client. A connection from there without the header is closed: the protocol
// forbids a receiver to guess. So is one whose header says that a datagram was received. All other connections have no header.
func withProxyProtocol(l net.Listener, prefixes []netip.Prefix) net.Listener {
	if len(prefixes) == 0 {
		return l
	}
	return &proxyproto.Listener{
		Listener:          l,
		ReadHeaderTimeout: headerTime,
		ValidateHeader: func(h *proxyproto.Header) error {
			if h.Command.IsProxy() && h.TransportProtocol.IsDatagram() {
				return errDatagram
			}
			return nil
		},
		ConnPolicy: func(c proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
			if contains(prefixes, c.Upstream.String()) {
				return proxyproto.REQUIRE, nil
			}
			return proxyproto.SKIP, nil
		},
	}
}

// errDatagram closes a connection whose header is about another kind of transport.
var errDatagram = errors.New("the header of the PROXY protocol is of a datagram")

// contains reports whether the address of a peer is in one of the prefixes.
func contains(prefixes []netip.Prefix, peer string) bool {
	from, err := netip.ParseAddrPort(peer)
	return err == nil && within(prefixes, from)
}

func within(prefixes []netip.Prefix, peer netip.AddrPort) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool {
		return p.Contains(peer.Addr().Unmap().WithZone(""))
	})
}
