package nethttp

import (
	"net/http"

	"github.com/sluice-go/sluice"
)

// Transport is an http.RoundTripper that guards another one. It is safe for
// concurrent use, and needs no closing.
type Transport struct {
	settings
	next   http.RoundTripper
	source *source
}

// NewTransport guards every request with p. Without next it is
// http.DefaultTransport.
func NewTransport(next http.RoundTripper, p *sluice.Pipeline, options ...Option) *Transport {
	return newTransport(next, &source{one: newGuard(p)}, options)
}

// NewRoutedTransport guards requests with the policies that the routes of the
// set's document name: the first that matches, by the host without its port,
// the method, and the path. A request that no route matches passes untouched.
func NewRoutedTransport(next http.RoundTripper, set *sluice.Set, options ...Option) *Transport {
	return newTransport(next, &source{set: set}, options)
}

func newTransport(next http.RoundTripper, from *source, options []Option) *Transport {
	if next == nil {
		next = http.DefaultTransport
	}
	return &Transport{settings: newSettings(false, options), next: next, source: from}
}

// RoundTrip implements http.RoundTripper. Besides the errors of the round
// tripper that it guards it returns a *sluice.RejectedError, *sluice.
// TimeoutError, *sluice.RetryError or *sluice.CancelError.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	g, in, route := t.find(req)
	if g == nil || t.skip != nil && t.skip(req) {
		return t.next.RoundTrip(req)
	}
	c := t.newCall(g, req, in, route)
	defer c.close()
	resp, err := sluice.DoWith(req.Context(), g.pipeline, c.request, c.attempt)
	c.returned = true
	return c.result(resp, err)
}

// CloseIdleConnections closes those of the guarded round tripper, for
// http.Client.CloseIdleConnections.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// find returns what guards a request, nil for nothing, and the request that the
// policy speaks of.
func (t *Transport) find(req *http.Request) (g *guard, in *http.Request, route string) {
	ctx := req.Context()
	in, _ = ctx.Value(inboundKey{}).(*http.Request)
	if g, ok := ctx.Value(policyKey{}).(*guard); ok || req.URL == nil {
		return g, in, ""
	}
	of := in
	if in == nil {
		of = req
	}
	g, route = t.source.find(withoutPort(hostOf(of)), method(of), of.URL.EscapedPath())
	return g, in, route
}
