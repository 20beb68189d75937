package sluicegrpc

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/internal/routes"
	"github.com/sluice-go/sluice/policy/document"
)

const codeInternal = codes.Code(refusals.GRPCInternal)

// RequestError refuses a call for what it is; no step of a policy is asked.
type RequestError struct {
	// Code of the status: INTERNAL for a path or a key that servers read in different
	// ways, PERMISSION_DENIED for a call that no route matches in a document that denies
	// these.
	Code codes.Code
	// Reason is path, key or route.
	Reason string
	// Detail is a sentence for the client.
	Detail string
}

// Error implements error.
func (e *RequestError) Error() string {
	return fmt.Sprintf("sluice: call refused (%s): %s", e.Reason, e.Detail)
}

// GRPCStatus returns the status of the call.
func (e *RequestError) GRPCStatus() *status.Status { return status.New(e.Code, e.Detail) }

var (
	errNoRoute = &RequestError{Code: codes.PermissionDenied, Reason: "route", Detail: "No route of this service matches the request."}
	errUnclean = &RequestError{Code: codeInternal, Reason: "path", Detail: "The path is not in its clean form."}
)

// source finds the guard of a call: always the same, or by the routes of a document.
type source struct{ guards.Source[guard] }

// always returns the source of one pipeline.
func always(p *sluice.Pipeline) *source {
	return &source{guards.Source[guard]{One: newGuard(p)}}
}

// routed returns the source of a set, by the routes of its document.
func routed(set *sluice.Set) *source {
	return &source{guards.Source[guard]{Set: set, Make: newGuard}}
}

// target is what a document says of a call.
type target struct {
	guard *guard // nil for a call that passes without a policy
	route string // empty for none
}

// find returns what a document says of a call. The error is a *RequestError.
func (s *source) find(c *Call) (target, error) {
	if s.Set == nil {
		return target{guard: s.One}, nil
	}
	t := s.Table()
	m, err := t.Routes.Match(c.Host(), post, c.method)
	var refused *routes.PathError
	switch {
	case errors.As(err, &refused):
		return target{}, &RequestError{Code: codeInternal, Reason: "path", Detail: refused.Reason}
	case c.server && m.Path != c.method:
		// Servers of gRPC compare bytes, so what is guarded would not be what is served.
		return target{}, errUnclean
	case m.Route != nil:
		return target{t.Guards[m.Index], m.Route.Host + m.Route.Path}, nil
	case m.HTTP.Unmatched == document.UnmatchedDeny:
		return target{}, errNoRoute
	}
	return target{guard: t.Unmatched}, nil
}
