package testenv

import (
	"math/rand/v2"
	"net/netip"
)

// Address draws the address of a peer: of IPv4, of IPv6 with or without a zone, or of IPv4
// in IPv6. Its bytes are few, so that networks share them.
func Address(r *rand.Rand) netip.Addr {
	b := [16]byte{0x20, 0x01, 0x0d, 0xb8}
	for i := 4; i < len(b); i++ {
		b[i] = [...]byte{0, 0, 0, 1, 128, 255}[r.IntN(6)]
	}
	switch r.IntN(6) {
	case 0:
		return netip.AddrFrom4([4]byte{10, b[13], b[14], b[15]})
	case 1:
		return netip.AddrFrom16([16]byte{10: 255, 11: 255, 12: 10, 13: b[13], 14: b[14], 15: b[15]})
	case 2:
		b[0], b[1] = 0xfe, 0x80
		return netip.AddrFrom16(b).WithZone("eth0")
	}
	return netip.AddrFrom16(b)
}

// Network draws a network of any length that has the address, or one that differs in a bit.
func Network(r *rand.Rand, a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := r.IntN(a.BitLen() + 1)
	if b := a.AsSlice(); r.IntN(2) == 0 {
		at := r.IntN(8 * len(b))
		b[at/8] ^= 128 >> (at % 8)
		a, _ = netip.AddrFromSlice(b)
	}
	return netip.PrefixFrom(a, bits)
}

// Key returns the key of per: ip of an address, by default.
func Key(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	p, _ := a.Prefix(64)
	return p.String()
}
