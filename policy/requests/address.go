package requests

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/keyed"
)

// Address is an address of IPv6 or IPv4.
type Address = condition.Address

// Prefix is the addresses whose first bits are those of an address.
type Prefix = condition.Prefix

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
	if n, whole := keyed.Number(port); more && (!whole || n > 65535) {
		return a, false
	}
	host, zone, zoned := strings.Cut(host, "%")
	if a, ok = condition.ParseAddress(host); zoned && (zone == "" || strings.IndexByte(host, ':') < 0) {
		ok = false
	}
	return a, ok
}

// Client returns the address of the client of a request: that of the peer, or, while that
// is one of the trusted hops, the one before it in X-Forwarded-For, which is read from the
// right. What is no address ends the search, as no hop beyond it can be trusted.
func Client(peer Address, forwarded string, trusted []Prefix) Address {
	for forwarded != "" && slices.ContainsFunc(trusted, func(p Prefix) bool { return p.Contains(peer) }) {
		cut := strings.LastIndexByte(forwarded, ',')
		next, ok := ParseHop(strings.Trim(forwarded[cut+1:], " \t"))
		if !ok {
			break
		}
		peer, forwarded = next, forwarded[:max(cut, 0)]
	}
	return peer
}
