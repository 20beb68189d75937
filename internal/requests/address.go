package requests

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/keyed"
)

// Client returns the address of the client of a request: the address of the peer, or, while the
// address is one of the trusted hops, the one before it in X-Forwarded-For. The header is read
// from the right. What is no address ends the search, as no hop beyond it can be trusted.
func Client(peer keyed.Address, forwarded string, trusted []keyed.Prefix) keyed.Address {
	for forwarded != "" && slices.ContainsFunc(trusted, func(p keyed.Prefix) bool { return p.Contains(peer) }) {
		cut := strings.LastIndexByte(forwarded, ',')
		next, ok := keyed.ParseHop(strings.Trim(forwarded[cut+1:], " \t"))
		if !ok {
			break
		}
		peer, forwarded = next, forwarded[:max(cut, 0)]
	}
	return peer
}
