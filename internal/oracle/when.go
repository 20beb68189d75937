package oracle

import (
	"encoding/binary"
	"hash/fnv"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
)

// planOf returns the plan as a call has it: with the steps in shadow that do not enforce
// for it, and without what the steps do that do not apply to it.
func planOf(p *plan, seed uint64, event Event) *plan {
	own := *p
	own.steps = slices.Clone(p.steps)
	passes := matches(p.allow, event)
	for i := range own.steps {
		s := &own.steps[i]
		s.Shadow = s.Shadow || !enforces(&s.Step, seed, event)
		if s.omitted = passes || len(s.When) > 0 && !matches(s.When, event); !s.omitted {
			continue
		}
		switch s.Kind() {
		case mechanism.Retry:
			own.retry = -1
		case mechanism.Hedge:
			own.hedge = len(own.steps)
		}
	}
	return &own
}

// matches reports whether the event matches one of the cases.
func matches(c condition.Condition, event Event) bool {
	return slices.ContainsFunc(c, func(one condition.Case) bool {
		for _, entry := range one.All {
			if !has(entry, event) {
				return false
			}
		}
		return !slices.ContainsFunc(one.None, func(entry condition.Entry) bool { return has(entry, event) })
	})
}

// has reports whether the event has one of the values of an entry.
func has(entry condition.Entry, event Event) bool {
	found := event.value(entry.Attribute)
	return slices.ContainsFunc(entry.Values, func(value string) bool {
		if entry.Attribute == "header:authorization" || entry.Attribute == "header:proxy-authorization" {
			return slices.Equal(spelled(value), spelled(found))
		}
		if entry.Attribute != "ip" || value == "" {
			return value == found
		}
		prefix, ok := prefixOf(value)
		address, _, is := clientOf(found)
		return ok && is && prefix.Contains(address)
	})
}

// spelled returns the scheme of a credential, in lower case, and what follows it.
func spelled(credential string) []string {
	credential = strings.Trim(credential, " \t")
	at := strings.IndexAny(credential, " \t")
	if at < 0 {
		return []string{credential}
	}
	scheme := strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	}, credential[:at])
	return []string{scheme, strings.Trim(credential[at:], " \t")}
}

// prefixOf reads an address or a prefix. One of IPv4 in IPv6 is one of IPv4.
func prefixOf(text string) (p netip.Prefix, ok bool) {
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), err == nil && a.Zone() == ""
	}
	p, err := netip.ParsePrefix(text)
	if err == nil && p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p, err == nil
}

// clientOf reads a value of ip: an address that may have a port and a zone, and the number
// of bits of its network. Readings: of an address of IPv4 that is written as one of IPv6
// with less than 96 bits all bits are its network.
func clientOf(text string) (a netip.Addr, network netip.Prefix, ok bool) {
	host, bits, cut := strings.Cut(text, "/")
	a, err := netip.ParseAddr(host)
	if err != nil && strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		if a, err = netip.ParseAddr(strings.Trim(host, "[]")); err == nil && a.Is4() {
			return a, network, false
		}
	}
	if err != nil {
		with, wrong := netip.ParseAddrPort(host)
		a, err = with.Addr(), wrong
	}
	n := a.BitLen()
	if cut {
		plain, wrong := strconv.Atoi(bits)
		if wrong != nil || plain < 0 || plain > n || strconv.Itoa(plain) != bits {
			return a, network, false
		}
		n = plain
	}
	if a.Is4In6() {
		if n -= 96; n < 0 {
			n = 32
		}
	}
	a = a.Unmap().WithZone("")
	network, _ = a.Prefix(n)
	return a, network, err == nil
}

// inKey returns what a value of an attribute is in a key: of ip its network, where the
// value says how many bits that has.
func inKey(attribute, value string) string {
	if attribute != "ip" || !strings.Contains(value, "/") {
		return value
	}
	_, network, ok := clientOf(value)
	switch {
	case !ok:
		return value
	case network.IsSingleIP():
		return network.Addr().String()
	}
	return network.String()
}

// enforces reports whether a step enforces for the call: by the hash of an attribute, or by
// the word of the call and the step.
func enforces(s *pipeline.Step, seed uint64, event Event) bool {
	share := s.Enforce.Of.Millionths()
	value := ""
	if s.Enforce.By != "" {
		value = inKey(s.Enforce.By, event.value(s.Enforce.By))
	}
	switch {
	case share == 0:
		return true
	case value == "":
		return hits(splitMix(splitMix(seed+1<<31+1)+uint64(mixed(s.Name, ""))), 0, share)
	}
	part := new(big.Int).Mul(big.NewInt(int64(mixed(s.Name, value))), big.NewInt(1_000_000))
	return part.Rsh(part, 32).Int64() < int64(share)
}

// mixed returns the hash of a value at the step of a name: FNV-1a, then fmix32.
func mixed(name, value string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name + "\x00" + value))
	x := binary.BigEndian.Uint32(h.Sum(nil))
	x = (x ^ x>>16) * 0x85ebca6b
	x = (x ^ x>>13) * 0xc2b2ae35
	return x ^ x>>16
}
