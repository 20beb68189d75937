package keyed

import (
	"strconv"
	"strings"
)

// IP is the attribute whose value is the address of the client. Behind a slash it may have
// a number of bits, as in 2001:db8:1:2::5/64: conditions compare the whole address, and
// the key of a step has the network of so many bits.
const IP = "ip"

// Address is the eight groups of an address of IPv6. An address of IPv4 is the address of IPv6 to which
// it is mapped, ::ffff:192.0.2.1 (RFC 4291 section 2.5.5.2).
type Address [8]uint16

// Bits of an address, and of what is in front of one of IPv4.
const (
	addressBits = 128
	mappedBits  = 96
)

// is4 reports whether the address is one of IPv4.
func (a *Address) is4() bool { return *a == Address{5: 0xffff, 6: a[6], 7: a[7]} }

// ParseAddress reads an address without a port and without a zone, as net/netip does.
func ParseAddress(text string) (a Address, ok bool) {
	if strings.IndexByte(text, ':') < 0 {
		a[5] = 0xffff
		ok = a.put4(6, text)
		return a, ok
	}
	n, gap := 0, -1 // groups, and how many of them are in front of ::
	if strings.HasPrefix(text, "::") {
		gap, text = 0, text[2:]
	}
	for text != "" {
		group, rest, more := strings.Cut(text, ":")
		switch {
		case n == len(a):
			return a, false
		case strings.IndexByte(group, '.') >= 0:
			if more || !a.put4(n, group) {
				return a, false
			}
			n++
		case !putGroup(&a[n], group) || more && rest == "":
			return a, false
		}
		n++
		if strings.HasPrefix(rest, ":") {
			if gap >= 0 {
				return a, false
			}
			gap, rest = n, rest[1:]
		}
		text = rest
	}
	if gap < 0 || n == len(a) {
		return a, gap < 0 && n == len(a)
	}
	// The gap has zeros.
	copy(a[len(a)-n+gap:], a[gap:n])
	clear(a[gap : len(a)-n+gap])
	return a, true
}

// put4 reads an address of IPv4 into the two groups from a place on.
func (a *Address) put4(at int, text string) bool {
	if at > 6 || strings.Count(text, ".") != 3 {
		return false
	}
	for i := range 4 {
		var digits string
		digits, text, _ = strings.Cut(text, ".")
		n, ok := plainNumber(digits)
		if !ok || n > 255 {
			return false
		}
		group := &a[at+i/2]
		*group = *group<<8 | uint16(n)
	}
	return true
}

// plainNumber reads a whole number without zeros in front.
func plainNumber(text string) (n int64, ok bool) {
	n, ok = Number(text)
	return n, ok && (text[0] != '0' || text == "0")
}

// putGroup reads one to four hexadecimal digits.
func putGroup(into *uint16, text string) bool {
	for i := range len(text) {
		digit := Hex(text[i])
		if digit < 0 {
			return false
		}
		*into = *into<<4 | uint16(digit)
	}
	return text != "" && len(text) <= 4
}

// Prefix is the addresses whose first bits equal the bits of an address.
type Prefix struct {
	Address Address
	// Bits of the address as one of IPv6: 96 more than the bits of an address of IPv4.
	Bits int
}

// ParsePrefix reads an address and, behind a slash, a number of bits, which are all of
// them without one.
func ParsePrefix(text string) (p Prefix, ok bool) {
	address, bits, some := strings.Cut(text, "/")
	if p.Address, ok = ParseAddress(address); !ok {
		return p, false
	}
	if p.Bits = addressBits; !some {
		return p, true
	}
	n, ok := plainNumber(bits)
	if strings.IndexByte(address, ':') < 0 {
		n += mappedBits
	}
	if !ok || n > addressBits {
		return p, false
	}
	p.Bits = int(n)
	return p, true
}

// Contains reports whether an address has the prefix. One of IPv4 has none of less than 96
// bits: ::/0 is all of IPv6.
func (p *Prefix) Contains(a Address) bool {
	return a.masked(p.Bits) == p.Address.masked(p.Bits) && (p.Bits >= mappedBits || !a.is4())
}

// First returns the first address of the prefix.
func (p *Prefix) First() Address { return p.Address.masked(p.Bits) }

// Next returns the address behind the last one of the prefix, false where that is the last
// of all.
func (p *Prefix) Next() (a Address, ok bool) {
	a = p.First()
	carry := p.Bits > 0
	for i := p.Bits - 1; i >= 0 && carry; i-- {
		bit := uint16(0x8000) >> (i % 16)
		a[i/16] ^= bit
		carry = a[i/16]&bit == 0
	}
	return a, p.Bits > 0 && !carry
}

// ParseHop reads an address that may have a port, brackets and a zone, which are left
// out.
func ParseHop(text string) (a Address, ok bool) {
	host, port, more := text, "", false
	switch {
	case strings.HasPrefix(text, "["):
		host, port, ok = strings.Cut(text[1:], "]")
		if !ok || strings.IndexByte(host, ':') < 0 {
			return a, false
		}
		if port, more = strings.CutPrefix(port, ":"); !more && port != "" {
			return a, false
		}
	case strings.Count(text, ":") == 1:
		host, port, more = strings.Cut(text, ":")
	}
	if n, whole := Number(port); more && (!whole || n > 65535) {
		return a, false
	}
	host, zone, zoned := strings.Cut(host, "%")
	if a, ok = ParseAddress(host); zoned && (zone == "" || strings.IndexByte(host, ':') < 0) {
		ok = false
	}
	return a, ok
}

// ParseClient reads a value of IP: an address as ParseHop does, and how many of its bits
// are the bits of its network, all of them where the value does not say.
func ParseClient(text string) (p Prefix, ok bool) {
	host, bits, some := strings.Cut(text, "/")
	if p.Address, ok = ParseHop(host); !ok || !some {
		p.Bits = addressBits
		return p, ok
	}
	n, ok := plainNumber(bits)
	if strings.Count(host, ":") < 2 { // with a port, one
		n += mappedBits
	}
	p.Bits = int(min(n, addressBits))
	return p, ok && n <= addressBits
}

// network returns the key of a value of IP: its network where it has a number of bits.
func network(text string) string {
	if strings.IndexByte(text, '/') < 0 {
		return text
	}
	p, ok := ParseClient(text)
	if !ok {
		return text
	}
	v4 := p.Bits - mappedBits
	if v4 < 0 {
		v4 = addressBits - mappedBits // such a network of IPv6 is none of IPv4
	}
	return p.Address.Network(v4, p.Bits)
}

// Key returns what a value of an attribute adds to a key.
func Key(attribute, value string) string {
	if attribute == IP {
		return network(value)
	}
	return value
}

// masked returns the address with its first bits alone.
func (a Address) masked(bits int) Address {
	for i := range a {
		a[i] &^= 0xffff >> min(max(bits-16*i, 0), 16)
	}
	return a
}

// Network returns the network of an address as a key: its first bits, v4 of an address of
// IPv4 and v6 of one of IPv6, as net/netip writes a prefix, and the address alone where
// those are all.
func (a Address) Network(v4, v6 int) string {
	if a.is4() {
		return a.masked(mappedBits+v4).Text(v4, v6)
	}
	return a.masked(v6).Text(v4, v6)
}

// Text returns the address as a value of IP: its network has v4 bits where it is of IPv4,
// and v6 bits where it is of IPv6.
func (a Address) Text(v4, v6 int) string {
	var room [48]byte // more than the longest text has
	b := room[:0]
	if a.is4() {
		for i, octet := range [4]uint16{a[6] >> 8, a[6] & 0xff, a[7] >> 8, a[7] & 0xff} {
			if i > 0 {
				b = append(b, '.')
			}
			b = strconv.AppendUint(b, uint64(octet), 10)
		}
		return withBits(b, v4, addressBits-mappedBits)
	}
	// The longest run of zeros is left out, the first of those (RFC 5952 section 4.2).
	from, to := 0, 1
	for i := range a {
		end := i
		for end < len(a) && a[end] == 0 {
			end++
		}
		if end-i > to-from {
			from, to = i, end
		}
	}
	for i := 0; i < len(a); i++ {
		if i == from && to-from > 1 {
			if b = append(b, "::"...); to == len(a) {
				break
			}
			i = to
		} else if i > 0 {
			b = append(b, ':')
		}
		b = strconv.AppendUint(b, uint64(a[i]), 16)
	}
	return withBits(b, v6, addressBits)
}

// withBits returns the text of a network, without the number of its bits where those are
// all.
func withBits(b []byte, bits, all int) string {
	if bits < all {
		b = strconv.AppendUint(append(b, '/'), uint64(bits), 10)
	}
	return string(b)
}
