package filter

import (
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

// lookup returns the value of an attribute, empty for none.
func (a *attributes) lookup(attribute string) string {
	kind, name, _ := strings.Cut(attribute, ":")
	switch kind {
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
