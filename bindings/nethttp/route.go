package nethttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/internal/routes"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// RequestError refuses a request for what it is; no step of a policy is asked.
type RequestError struct {
	// Status of the answer: 400 for a target, a host, a method, a path or a key that
	// servers read in different ways, 403 for a request that no route matches in a
	// document that denies these.
	Status int
	// Reason is target, host, method, path, key or route.
	Reason string
	// Detail is a sentence for the client.
	Detail string
}

// Error implements error.
func (e *RequestError) Error() string {
	return fmt.Sprintf("sluice: request refused (%s): %s", e.Reason, e.Detail)
}

var errNoRoute = &RequestError{Status: http.StatusForbidden, Reason: "route", Detail: "No route of this service matches the request."}

// source finds the guard of a request: always the same, or by the routes of a
// document.
type source struct{ guards.Source[guard] }

// always returns the source of one pipeline.
func always(p *sluice.Pipeline) *source {
	return &source{guards.Source[guard]{One: newGuard(p)}}
}

// routed returns the source of a set, by the routes of its document.
func routed(set *sluice.Set) *source {
	return &source{guards.Source[guard]{Set: set, Make: newGuard}}
}

// target is what a document says of a request.
type target struct {
	guard *guard // nil for a request that passes without a policy
	route string // empty for none
	path  string // the form in which the path was compared; empty where none was
	http  *policy.HTTP
}

// find returns what a document says of a request. The error is a *RequestError.
func (s *source) find(host, method string, u *url.URL) (target, error) {
	if s.Set == nil {
		return target{guard: s.One}, nil
	}
	t := s.Table()
	path, err := pathOf(u)
	if err != nil {
		return target{http: &t.Doc.HTTP}, err
	}
	m, err := t.Routes.Match(host, method, path)
	var refused *routes.PathError
	if errors.As(err, &refused) {
		return target{http: &t.Doc.HTTP}, &RequestError{Status: http.StatusBadRequest, Reason: "path", Detail: refused.Reason}
	}
	found := target{path: m.Path, http: m.HTTP}
	switch {
	case m.Route != nil:
		found.guard, found.route = t.Guards[m.Index], m.Route.Host+m.Route.Path
	case m.HTTP.Unmatched == document.UnmatchedDeny:
		return target{http: m.HTTP}, errNoRoute
	default:
		found.guard = t.Unmatched
	}
	return found, nil
}

// pathOf returns the escaped path that is sent for a URL. A program can say with Opaque
// what is sent in its place.
func pathOf(u *url.URL) (string, error) {
	path := u.EscapedPath()
	if u.Opaque != "" {
		path = u.Opaque
		if rest, ok := strings.CutPrefix(path, "//"); ok {
			_, path, _ = strings.Cut(rest, "/")
			path = "/" + path
		} else if path[0] != '/' {
			return "", errTarget
		}
		path, _, _ = strings.Cut(path, "?")
	}
	if path == "*" || strings.HasPrefix(path, "/") {
		return path, nil
	}
	// An http URL without a path, or a request behind http.StripPrefix: servers add the slash.
	return "/" + path, nil
}

// sent returns a request with the path that was compared: what the next handler
// serves is what the policy guards.
func (t *target) sent(r *http.Request) *http.Request {
	if t.path == "" || r.URL.Path == "" || t.path == r.URL.EscapedPath() {
		return r
	}
	plain, err := url.PathUnescape(t.path)
	if err != nil {
		// A clean form has no escape that cannot be decoded.
		return r
	}
	clean, u := *r, *r.URL
	if u.Path, u.RawPath = plain, ""; u.EscapedPath() != t.path {
		u.RawPath = t.path
	}
	clean.URL = &u
	if r.RequestURI != "" {
		// There are handlers that read the path from it.
		clean.RequestURI = u.RequestURI()
	}
	return &clean
}

type (
	policyKey  struct{}
	detailsKey struct{}
)

// WithPolicy makes a Transport guard the requests of this context with p in
// place of its own policy.
func WithPolicy(ctx context.Context, p *sluice.Pipeline) context.Context {
	return context.WithValue(ctx, policyKey{}, newGuard(p))
}

// WithoutPolicy makes a Transport let the requests of this context pass untouched.
func WithoutPolicy(ctx context.Context) context.Context {
	return context.WithValue(ctx, policyKey{}, (*guard)(nil))
}
