package nethttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/routes"
)

// RequestError refuses a request for what it is; no step of a policy is asked.
type RequestError struct {
	// Status of the answer: 400 for a path or a key that servers read in
	// different ways, 403 for a request that no route matches in a document that
	// denies these.
	Status int
	// Reason is path, key or route.
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
type source struct {
	one    *guard
	set    *sluice.Set
	routes atomic.Pointer[table]
}

// table is the routes of one document, immutable.
type table struct {
	doc       *policy.Document
	routes    *routes.Table
	guards    []*guard // of the routes
	unmatched *guard   // of what no route matches, nil for none
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
	if s.set == nil {
		return target{guard: s.one}, nil
	}
	t := s.table()
	m, err := t.routes.Match(host, method, u.EscapedPath())
	var refused *routes.PathError
	if errors.As(err, &refused) {
		return target{http: &t.doc.HTTP}, &RequestError{Status: http.StatusBadRequest, Reason: "path", Detail: refused.Reason}
	}
	found := target{path: m.Path, http: m.HTTP}
	switch {
	case m.Route != nil:
		found.guard, found.route = t.guards[m.Index], m.Route.Host+m.Route.Path
	case m.HTTP.Unmatched == document.UnmatchedDeny:
		return target{http: m.HTTP}, errNoRoute
	default:
		found.guard = t.unmatched
	}
	return found, nil
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
	return &clean
}

// table returns the routes of the active document. A document that changes
// while its pipelines are looked up is looked at again.
func (s *source) table() *table {
	t := s.routes.Load()
	for {
		doc := s.set.Document()
		if t != nil && t.doc == doc {
			return t
		}
		t = newTable(s.set, doc)
		s.routes.Store(t)
	}
}

func newTable(set *sluice.Set, doc *policy.Document) *table {
	t := &table{doc: doc, routes: routes.New(doc), guards: make([]*guard, len(doc.Routes))}
	byName := map[string]*guard{}
	of := func(name string) *guard {
		if byName[name] == nil {
			byName[name] = newGuard(set.Pipeline(name))
		}
		return byName[name]
	}
	for i := range doc.Routes {
		t.guards[i] = of(doc.Routes[i].Policy)
	}
	if doc.HTTP.Unmatched == document.UnmatchedPolicy {
		t.unmatched = of(doc.HTTP.Default)
	}
	return t
}

// guards returns those that there are now.
func (s *source) guards() []*guard {
	if s.set == nil {
		return []*guard{s.one}
	}
	var list []*guard
	seen := map[*guard]bool{nil: true}
	t := s.table()
	for _, g := range append(t.guards[:len(t.guards):len(t.guards)], t.unmatched) {
		if !seen[g] {
			seen[g] = true
			list = append(list, g)
		}
	}
	return list
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
