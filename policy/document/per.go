package document

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/policy/tree"
)

// The attributes that have a cell for each value, and those with a name behind.
const (
	plainAttributes = "key ip host method path route"
	namedAttributes = "header cookie query"
)

// tokenSigns are what a token of HTTP may have beside letters and digits.
const tokenSigns = "!#$%&'*+-.^_`|~"

// perText is what every error about per allows.
const perText = mechanism.AttributeText + ", or a list of them"

// per reads one attribute or a list of them.
func (r *reader) per(n *tree.Node) []string {
	if n.Kind != tree.List {
		name, _ := r.attribute(n, plainAttributes, perText)
		return []string{name}
	}
	if len(n.Items) == 0 {
		r.mistyped(n, perText)
		return nil
	}
	if len(n.Items) > MaxPer {
		p := r.fail(n, "a list of $x", "at most $y attributes")
		p.x, p.y = len(n.Items), MaxPer
		return nil
	}
	var list []string
	for _, item := range n.Items {
		name, _ := r.attribute(item, plainAttributes, perText)
		if name != "" && slices.Contains(list, name) {
			r.fail(item, "$q again", "each attribute once")
		}
		list = append(list, name)
	}
	return list
}

// attribute reads one attribute, one of the plain ones or one with a name behind, and
// returns whether it is one. The names of headers, which have no case, are in lower case,
// so that one of them has one spelling.
func (r *reader) attribute(n *tree.Node, plain, allowed string) (text string, ok bool) {
	if !r.isText(n, allowed) {
		return "", false
	}
	text = n.Text
	if index(plain, text) >= 0 {
		return text, true
	}
	kind, name := text, ""
	colon := strings.IndexByte(text, ':')
	if colon >= 0 {
		kind, name = text[:colon], text[colon+1:]
	}
	known := index(namedAttributes, kind) >= 0
	if known && colon >= 0 && validAttribute(kind, name) && (kind != "header" || isMadeOf(name, tokenSigns)) {
		return text, true
	}
	p := r.mistyped(n, allowed)
	switch {
	case known && colon < 0:
		p.allowed = "$t:NAME"
	case colon < 0:
		all := namedAttributes
		if plain != "" {
			all = plain + " " + namedAttributes
		}
		p.near = word(all, nearest(kind, all))
	case !known:
		if i := nearest(kind, namedAttributes); i >= 0 && len(name) <= longestName {
			p.near, p.hint = word(namedAttributes, i), renamed
		}
	case !validAttribute(kind, name):
		p.allowed, p.word = "$w:NAME with a valid name behind the colon", kind
	default:
		p.allowed, p.hint = "the name of a header in lower case", lowerCase
	}
	return text, false
}

// validAttribute reports whether a name may be a parameter of a query, decoded,
// or a token of HTTP (RFC 9110 section 5.6.2), which the names of headers and
// cookies are.
func validAttribute(kind, name string) bool {
	if kind != "query" {
		return isMadeOf(name, upperCase+tokenSigns)
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] == 0x7F {
			return false
		}
	}
	return name != ""
}
