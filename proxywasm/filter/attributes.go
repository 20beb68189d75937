package filter

import (
	"math"
	"strings"

	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/requests"
	"github.com/sluice-go/sluice/policy/routes"
	"github.com/sluice-go/sluice/proxywasm/abi"
)

// attributes answers for what `per` names, of the request of the effective context.
type attributes struct {
	route   string // pattern of the route, empty for none
	http    *document.HTTP
	path    text
	keys    *source
	several string // the attribute that the request has more than once, empty for none
}

// text is a header field that was read.
type text struct {
	value string
	read  bool
}

// pathOf returns the :path of the request, with its query.
func (a *attributes) pathOf() string {
	if !a.path.read {
		a.path = text{header(":path"), true}
	}
	return a.path.value
}

// header returns the value of a header field of the request, empty for none.
func header(name string) string {
	value, _ := abi.Header(abi.RequestHeaders, name)
	return string(value)
}

// key returns the key of the attributes of a step, and whether one of them is missing.
func (a *attributes) key(per []string) (key string, missing bool) {
	return keyed.Join(per, a.lookup)
}

// source is where a value of a request is found, as the document says it.
type source struct {
	header   string
	property string // the names of its path with NUL between them
}

func newSource(text string) (s source) {
	kind, name, _ := strings.Cut(text, ":")
	if kind == "header" {
		s.header = name
	} else {
		s.property = strings.ReplaceAll(name, "/", "\x00")
	}
	return s
}

// bytes returns the value of a request, and false where there is none.
func (s *source) bytes() ([]byte, bool) {
	switch {
	case s.header != "":
		return abi.Header(abi.RequestHeaders, s.header)
	case s.property != "":
		return abi.Property(s.property)
	}
	return nil, false
}

// cost returns the value as a cost: 1 where it is no whole number of at least 1.
func (s *source) cost() uint32 {
	value, ok := s.bytes()
	if !ok {
		return 1
	}
	n, whole := requests.Number(string(value))
	if !whole && len(value) == 8 {
		// A number of metadata is a float, one of the proxy an integer.
		bits := word(value)
		if f := math.Float64frombits(bits); f >= 1 && f <= math.MaxUint32 {
			n = int64(f)
		} else {
			n = int64(bits)
		}
	}
	return uint32(min(max(n, 1), math.MaxUint32))
}

// lookup returns the value of an attribute, empty for none.
func (a *attributes) lookup(attribute string) string {
	kind, name, _ := strings.Cut(attribute, ":")
	switch kind {
	case "key":
		value, _ := a.keys.bytes()
		return string(value)
	case "ip":
		address, _ := abi.Property("source\x00address")
		return requests.Network(string(address))
	case "host":
		return routes.Host(header(":authority"))
	case "method":
		return header(":method")
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
	case "header":
		if name == "host" {
			name = ":authority"
		}
		return header(name)
	case "cookie":
		var c requests.Cookie
		c.Add(header("cookie"), name)
		if c.Several {
			a.several = attribute
		}
		return c.Value
	case "query":
		_, query, _ := strings.Cut(a.pathOf(), "?")
		value, plain := requests.Query(query, name)
		if !plain {
			a.several = attribute
		}
		return value
	}
	return ""
}
