package sluicegrpc

import (
	"context"
	"net/url"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/internal/requests"
	"github.com/sluice-go/sluice/internal/routes"
)

// post is the method of HTTP that every call of gRPC has.
const post = "POST"

// Call is a call as the functions of options see it.
type Call struct {
	ctx     context.Context
	method  string
	message any
	stream  bool
	server  bool
	conn    *grpc.ClientConn // of a client
	options []grpc.CallOption
	target  target

	settings *settings
}

// Context returns the context of the call: the caller's for a client, the one with the
// incoming metadata for a server.
func (c *Call) Context() context.Context { return c.ctx }

// Method returns the full name of the method, as in "/package.Service/Method".
func (c *Call) Method() string { return c.method }

// Message returns the request of a unary call, nil for a stream. It must not be changed.
func (c *Call) Message() any { return c.message }

// Stream reports whether the call is a stream.
func (c *Call) Stream() bool { return c.stream }

// Metadata returns the values of a key, in lower case: of a server those that came in, of
// a client those that go out.
func (c *Call) Metadata(key string) []string {
	if c.server {
		return metadata.ValueFromIncomingContext(c.ctx, key)
	}
	out, _ := metadata.FromOutgoingContext(c.ctx)
	return out.Get(key)
}

// Host returns what the call is sent to: for a server the host of :authority without its
// port; for a client the authority that grpc.CallAuthority sets, or the endpoint of the
// target, without the port 443. grpc.WithAuthority cannot be seen.
func (c *Call) Host() string {
	if c.server {
		return routes.Host(c.authority())
	}
	return strings.TrimSuffix(strings.ToLower(c.authority()), ":443")
}

func (c *Call) authority() string {
	if c.server {
		if values := c.Metadata(":authority"); len(values) > 0 {
			return values[0]
		}
		return ""
	}
	for i := len(c.options) - 1; i >= 0; i-- {
		if o, ok := c.options[i].(grpc.AuthorityOverrideCallOption); ok {
			return o.Authority
		}
	}
	parsed, err := url.Parse(c.conn.CanonicalTarget())
	if err != nil {
		return c.conn.Target()
	}
	return resolver.Target{URL: *parsed}.Endpoint()
}

// lookup returns the value of an attribute other than key, empty for none.
func (c *Call) lookup(attribute string) string {
	kind, name, _ := strings.Cut(attribute, ":")
	switch kind {
	case "ip":
		return c.ip()
	case "host":
		return c.Host()
	case "method":
		return post
	case "path":
		return c.method
	case "route":
		if c.target.route == "" {
			return c.method
		}
		return c.target.route
	case "header":
		if name == "host" {
			return c.authority()
		}
		values := c.Metadata(name)
		if c.server && len(values) > 1 {
			return values[0] // check has found no other value
		}
		return strings.Join(values, ", ")
	}
	return ""
}

// ip returns the client's address with the number of bits that are its key, and what the peer is called where it has
// no address of IP.
func (c *Call) ip() string {
	p, ok := peer.FromContext(c.ctx)
	if !c.server || !ok || p.Addr == nil {
		return ""
	}
	name := p.Addr.String()
	ip, ok := keyed.ParseHop(name)
	if !ok {
		return name
	}
	if len(c.settings.trusted) > 0 {
		ip = requests.Client(ip, strings.Join(c.Metadata("x-forwarded-for"), ", "), c.settings.trusted)
	}
	return ip.Text(32, c.settings.ipv6)
}

// check refuses a call that came in with a key that can be read in two ways: the service
// might serve it as another's than whose limit it takes.
func (c *Call) check(v *view) error {
	for _, name := range v.headers {
		values := c.Metadata(name)
		for _, value := range values {
			if value != values[0] {
				return &RequestError{Code: codeInternal, Reason: "key", Detail: "The request has more than one header " + name + "."}
			}
		}
	}
	return nil
}

// request is what the policy is asked.
func (c *Call) request(g *guard, v *view) (q sluice.Request) {
	s := c.settings
	if s.key != nil {
		q.Key = s.key(c)
	}
	if s.cost != nil {
		if q.Cost = s.cost(c); q.Cost == 0 {
			q.Cost = sluice.NoCost
		}
	}
	if v.Keyed || g.pipeline.Traced() {
		q.Lookup = c.lookup
	}
	return q
}
