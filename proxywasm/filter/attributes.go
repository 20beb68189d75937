package filter

import (
	"math"
	"strings"

	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/internal/requests"
	"github.com/sluice-go/sluice/internal/routes"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/proxywasm/abi"
)

// attributes answers for what `per` names, of the request of the effective context.
type attributes struct {
	root  *root
	route string // pattern of the route, empty for none
	http  *document.HTTP
	path  text
	// pairs are the lines of the header where readFields has read them.
	pairs  []byte
	policy *policy
	// sent are the values of policy.sent.
	sent []string
}

// text is a header field that was read.
type text struct {
	value string
	read  bool
}

// pathOf returns the :path of the request, with its query.
func (a *attributes) pathOf() string {
	if !a.path.read {
		a.path = text{a.header(":path"), true}
	}
	return a.path.value
}

// readFields reads all lines of the header, where the document needs several of them. They
// are lost when a cell is read.
func (a *attributes) readFields() {
	if a.root.reads.fields {
		a.pairs, _ = abi.Headers(abi.RequestHeaders)
	}
}

// header returns the value of a header field of the request, its first line, empty for
// none.
func (a *attributes) header(name string) string {
	if a.pairs == nil {
		value, _ := abi.Header(abi.RequestHeaders, name)
		return string(value)
	}
	value, _ := a.field(name)
	return value
}

// field returns the value of a header field that was read with all others as a key, by its
// first line, and whether it has no other value: under this name, or under one that is the
// same to servers that speak CGI, with underscores in place of hyphens.
func (a *attributes) field(name string) (value string, plain bool) {
	found := false
	plain = true
	abi.Pairs(a.pairs, func(other, line []byte) bool {
		switch {
		case len(other) != len(name):
		case string(other) != name:
			plain = plain && !isAlike(other, name)
		case !found:
			value, found = requests.Field(name, string(line)), true
		default:
			plain = plain && requests.Field(name, string(line)) == value
		}
		return true
	})
	return value, plain
}

// isAlike reports whether a name of as many bytes differs by underscores in place of
// hyphens.
func isAlike(other []byte, name string) bool {
	for i, c := range other {
		if c != name[i] && (c != '_' || name[i] != '-') {
			return false
		}
	}
	return true
}

// check reads what the client has sent of the attributes of a policy. It returns the
// answer to a request that has several values of one: the upstream might take another one
// than the step.
func (a *attributes) check(p *policy) *refusals.Problem {
	a.policy = p
	if a.pairs == nil && (p.fields || a.root.cost.header != "") {
		return &refusals.Problem{Type: refusals.Blank, Title: "Request Header Fields Too Large", Status: 431, Reason: "key",
			Detail: "The header of the request is too long."}
	}
	for _, attribute := range p.sent {
		value, plain := a.read(attribute)
		if !plain {
			return several(attribute)
		}
		a.sent = append(a.sent, value)
	}
	if name := a.root.cost.header; name != "" {
		if _, plain := a.field(name); !plain {
			return several(a.root.cost.attribute)
		}
	}
	return nil
}

// several is the answer to a request with several values of an attribute.
func several(attribute string) *refusals.Problem {
	return &refusals.Problem{Type: refusals.Blank, Title: "Bad Request", Status: 400, Reason: "key",
		Detail: "The request has more than one " + strings.Replace(attribute, ":", " ", 1) + "."}
}

// read returns the value of an attribute that a client can send twice, and whether it has
// not sent two.
func (a *attributes) read(attribute string) (value string, plain bool) {
	kind, name, _ := strings.Cut(attribute, ":")
	switch kind {
	case "cookie":
		var c requests.Cookie
		abi.Pairs(a.pairs, func(other, line []byte) bool {
			if string(other) == "cookie" {
				c.Add(string(line), name)
			}
			return true
		})
		return c.Value, !c.Several
	case "query":
		_, query, _ := strings.Cut(a.pathOf(), "?")
		return requests.Query(query, name)
	}
	if name == "host" {
		name = ":authority"
	}
	return a.field(name)
}

// address returns the client's address with the number of bits that are its key. Where the
// proxy names no address of IP, as on a Unix socket, it is what the proxy names.
func (a *attributes) address() string {
	peer, _ := abi.Property("source\x00address")
	ip, ok := keyed.ParseHop(string(peer))
	if !ok {
		return string(peer)
	}
	p := &a.root.doc.Proxy
	if len(p.TrustedProxies) > 0 {
		ip = requests.Client(ip, a.header("x-forwarded-for"), p.TrustedProxies)
	}
	return ip.Text(int(p.IPv4Prefix), int(p.IPv6Prefix))
}

// source is where a value of a request is found.
type source struct {
	attribute string // as the document says it, empty for none
	header    string
	property  string // the names of its path with NUL between them
}

func newSource(text string) source {
	s := source{attribute: text}
	kind, name, _ := strings.Cut(text, ":")
	if kind == "header" {
		s.header = name
	} else {
		s.property = strings.ReplaceAll(name, "/", "\x00")
	}
	return s
}

// cost returns how many permits the request takes: 1 where it says no whole number of at
// least 1.
func (a *attributes) cost() uint32 {
	n := int64(1)
	switch s := &a.root.cost; {
	case s.header != "":
		value, _ := a.field(s.header)
		n, _ = keyed.Number(value)
	case s.property != "":
		value, _ := abi.Property(s.property)
		whole := false
		if n, whole = keyed.Number(string(value)); !whole {
			n = number(value)
		}
	}
	return uint32(min(max(n, 1), math.MaxUint32))
}

// number reads a number of the proxy, which has eight bytes: one of metadata is a float, any
// other an integer. It returns 0 for another value; an integer with a byte in front is more
// likely a text.
func number(value []byte) int64 {
	if len(value) != 8 {
		return 0
	}
	bits := word(value)
	if f := math.Float64frombits(bits); f >= 1 && f <= 1<<53 && float64(int64(f)) == f {
		return int64(f)
	}
	if bits < 1<<56 {
		return int64(bits)
	}
	return 0
}

// lookup returns the value of an attribute, empty for none.
func (a *attributes) lookup(attribute string) string {
	for i, one := range a.policy.sent {
		if one == attribute {
			return a.sent[i]
		}
	}
	switch attribute {
	case "key":
		switch s := &a.root.key; {
		case s.header != "":
			return a.lookup(s.attribute)
		case s.property != "":
			value, _ := abi.Property(s.property)
			return string(value)
		}
	case "ip":
		return a.address()
	case "host":
		return routes.Host(a.header(":authority"))
	case "method":
		return a.header(":method")
	case "path":
		path, _, _ := strings.Cut(a.pathOf(), "?")
		if a.http != nil && a.http.Paths == document.PathsExactBytes {
			return path
		}
		clean, err := routes.Clean(path)
		if err != nil {
			return path
		}
		return routes.Key(clean)
	case "route":
		if a.route == "" {
			name, _ := abi.Property("xds\x00route_name")
			return string(name)
		}
		return a.route
	}
	return ""
}
