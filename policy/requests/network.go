package requests

import (
	"strconv"
	"strings"
)

// Network returns the address of a client as a key: one of IPv4 as it is, of IPv6 the
// network of 64 bits, since a client may have all addresses in it. The text is an
// address, or one with a port, as net/netip writes them; another text is taken as it
// is.
func Network(text string) string {
	host := text
	switch {
	case strings.HasPrefix(text, "["):
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return text
		}
		host = text[1:end]
	case strings.Count(text, ":") == 1:
		host = text[:strings.IndexByte(text, ':')]
	}
	if strings.IndexByte(host, ':') < 0 {
		return host
	}
	host, _, _ = strings.Cut(host, "%")
	if last := host[strings.LastIndexByte(host, ':')+1:]; strings.IndexByte(last, '.') >= 0 {
		if strings.HasPrefix(host, "::ffff:") {
			return last // an address of IPv4
		}
		host = host[:len(host)-len(last)] + "0:0"
	}
	groups, ok := leading(host)
	if !ok {
		return text
	}
	for len(groups) > 0 && groups[len(groups)-1] == 0 {
		groups = groups[:len(groups)-1]
	}
	network := make([]byte, 0, 24)
	for i, g := range groups {
		if i > 0 {
			network = append(network, ':')
		}
		network = strconv.AppendUint(network, uint64(g), 16)
	}
	return string(append(network, "::/64"...))
}

// leading returns the first 4 of the 8 groups of an address of IPv6.
func leading(host string) (groups []uint16, ok bool) {
	before, after, short := strings.Cut(host, "::")
	head, tail := 0, 0
	if before != "" {
		head = strings.Count(before, ":") + 1
	}
	if after != "" {
		tail = strings.Count(after, ":") + 1
	}
	if !short && head != 8 || head+tail > 8 {
		return nil, false
	}
	groups = make([]uint16, 4)
	fill := func(list string, from int) bool {
		for i := from; list != ""; i++ {
			var group string
			group, list, _ = strings.Cut(list, ":")
			n := 0
			for k := range len(group) {
				digit := hex(group[k])
				if digit < 0 || k > 3 {
					return false
				}
				n = n<<4 | digit
			}
			if group == "" {
				return false
			}
			if i < len(groups) {
				groups[i] = uint16(n)
			}
		}
		return true
	}
	return groups, fill(before, 0) && fill(after, 8-tail)
}
