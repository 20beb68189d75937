package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/policy/tree"
)

// The attributes that have a cell for each value, and those with a name behind.
var (
	plainAttributes = []string{"key", "ip", "host", "method", "path", "route"}
	namedAttributes = []string{"header", "cookie", "query"}
)

// perText is what every error about per allows.
const perText = "key, ip, header:NAME, cookie:NAME, query:NAME, host, method, path or route, or a list of them"

// per reads one attribute or a list of them.
func (p place) per() []string {
	if p.node.Kind != tree.List {
		return []string{p.attribute()}
	}
	switch n := len(p.node.Items); {
	case n == 0:
		p.mistyped(perText)
		return nil
	case n > MaxPer:
		p.fail("a list of "+strconv.Itoa(n), "at most "+strconv.Itoa(MaxPer)+" attributes", "")
		return nil
	}
	var list []string
	for i := range p.node.Items {
		item := p.item(i)
		name := item.attribute()
		if name != "" && slices.Contains(list, name) {
			item.fail(quote(name)+" again", "each attribute once", "")
		}
		list = append(list, name)
	}
	return list
}

// attribute reads one attribute. The names of headers, which have no case, are
// in lower case, so that one of them has one spelling.
func (p place) attribute() string {
	text, ok := p.text(perText)
	if !ok || slices.Contains(plainAttributes, text) {
		return text
	}
	kind, name, colon := strings.Cut(text, ":")
	switch {
	case !colon && slices.Contains(namedAttributes, text):
		p.fail(describe(p.node), text+":NAME", "")
	case !colon || !slices.Contains(namedAttributes, kind):
		p.fail(describe(p.node), perText, nearestAttribute(kind, name, colon))
	case kind == "query" && queryName(name), kind == "cookie" && tokenName(name):
	case kind == "header" && tokenName(name):
		if lower := strings.ToLower(name); lower != name {
			p.fail(describe(p.node), "the name of a header in lower case", quote("header:"+lower))
		}
	default:
		p.fail(describe(p.node), kind+":NAME with a valid name behind the colon", "")
	}
	return text
}

// nearestAttribute returns the attribute that an unknown one may have meant.
func nearestAttribute(kind, name string, colon bool) string {
	if !colon {
		return nearest(kind, slices.Concat(plainAttributes, namedAttributes))
	}
	if near := nearest(kind, namedAttributes); near != "" && len(name) <= longestName {
		return near + ":" + name
	}
	return ""
}

// tokenName reports whether a name is a token of HTTP (RFC 9110 section 5.6.2),
// which the names of headers and cookies are.
func tokenName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

// queryName reports whether a name, decoded, may be a parameter of a query.
func queryName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7F })
}
