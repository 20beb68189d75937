package sluicegrpc

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
)

// UnaryServerInterceptor guards every unary handler with p. A refused call does not reach
// its handler. The vote follows from the status with which the handler returns. A timeout
// ends the context of the handler; what the handler returns after it is DEADLINE_EXCEEDED
// unless it is a success. A panic gives everything back, counts as a failure, and goes on.
func UnaryServerInterceptor(p *sluice.Pipeline, options ...ServerOption) grpc.UnaryServerInterceptor {
	return newServer(always(p), options).unary
}

// RoutedUnaryServerInterceptor is UnaryServerInterceptor with the policies that the routes
// of the set's document name: the first that matches, by the host of :authority, POST, and
// the method as the path. What a call gets that no route matches is `http.default`.
func RoutedUnaryServerInterceptor(set *sluice.Set, options ...ServerOption) grpc.UnaryServerInterceptor {
	return newServer(routed(set), options).unary
}

// StreamServerInterceptor guards every handler of streams with p, as UnaryServerInterceptor
// does. Places are held, and timeouts run, until the handler has returned: a stream without
// an end needs a policy without timeouts.
func StreamServerInterceptor(p *sluice.Pipeline, options ...ServerOption) grpc.StreamServerInterceptor {
	return newServer(always(p), options).stream
}

// RoutedStreamServerInterceptor is StreamServerInterceptor with the policies of routes, as
// RoutedUnaryServerInterceptor has them.
func RoutedStreamServerInterceptor(set *sluice.Set, options ...ServerOption) grpc.StreamServerInterceptor {
	return newServer(routed(set), options).stream
}

// server is what the interceptors of a server share.
type server struct {
	settings
	source *source
	chosen sync.Map // *sluice.Pipeline to *guard
}

func newServer(from *source, options []ServerOption) *server {
	s := &server{source: from}
	s.fields, s.ipv6 = true, DefaultIPv6Prefix
	for _, o := range options {
		o.server(&s.settings)
	}
	s.warn(from, aServer, aServer)
	return s
}

// answer is where the metadata of an answer goes.
type answer interface {
	SetHeader(metadata.MD) error
	SetTrailer(metadata.MD)
}

// unaryAnswer is the answer of a unary call.
type unaryAnswer struct{ ctx context.Context }

func (a unaryAnswer) SetHeader(md metadata.MD) error { return grpc.SetHeader(a.ctx, md) }

func (a unaryAnswer) SetTrailer(md metadata.MD) {
	// The error says that a is not the context of a server, as in a test of the
	// interceptor alone; then there is no trailer.
	_ = grpc.SetTrailer(a.ctx, md)
}

// unary is a grpc.UnaryServerInterceptor.
func (s *server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	h := &handled{server: s, answer: unaryAnswer{ctx}, Call: Call{ctx: ctx, method: info.FullMethod, message: req, server: true, settings: &s.settings}}
	if err := h.begin(); err != nil {
		return nil, err
	}
	if h.call == nil {
		return handler(ctx, req)
	}
	defer h.close()
	reply, err := handler(h.context(), req)
	return reply, h.end(reply, err)
}

// stream is a grpc.StreamServerInterceptor.
func (s *server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	h := &handled{server: s, answer: ss, Call: Call{ctx: ss.Context(), method: info.FullMethod, stream: true, server: true, settings: &s.settings}}
	if err := h.begin(); err != nil {
		return err
	}
	if h.call == nil {
		return handler(srv, ss)
	}
	defer h.close()
	return h.end(nil, handler(srv, &serverStream{ss, h.context(), h}))
}

// serverStream is a stream whose context has the deadlines of the policy.
type serverStream struct {
	grpc.ServerStream
	ctx  context.Context
	call *handled
}

// SetTrailer implements grpc.ServerStream.
func (s *serverStream) SetTrailer(md metadata.MD) {
	s.call.trails(md)
	s.ServerStream.SetTrailer(md)
}

// unaryTransport is where a unary handler sets its trailer.
type unaryTransport struct {
	grpc.ServerTransportStream
	call *handled
}

// SetTrailer implements grpc.ServerTransportStream.
func (s *unaryTransport) SetTrailer(md metadata.MD) error {
	s.call.trails(md)
	return s.ServerTransportStream.SetTrailer(md)
}

// Context implements grpc.ServerStream.
func (s *serverStream) Context() context.Context { return s.ctx }

// handled is a call that came in, on its way through the policy.
type handled struct {
	Call
	server   *server
	guard    *guard // nil for a call that passes untouched
	answer   answer
	call     *sluice.Call // nil for a call that passes untouched
	asked    sluice.Request
	own      bool // no timeout of the policy comes before the client's deadline
	returned bool // the handler did
	mu       sync.Mutex
	trailer  metadata.MD // of the handler, where a breaker obeys it
}

// context returns the context of the handler.
func (h *handled) context() context.Context {
	ctx := h.call.Context()
	if h.server.admits {
		ctx = context.WithValue(ctx, admissionKey{}, h)
	}
	if to := grpc.ServerTransportStreamFromContext(ctx); to != nil && !h.Stream() && h.guard.view().Obeys {
		ctx = grpc.NewContextWithServerTransportStream(ctx, &unaryTransport{to, h})
	}
	return ctx
}

// trails keeps what the handler adds to its trailer.
func (h *handled) trails(md metadata.MD) {
	if !h.guard.view().Obeys {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trailer = metadata.Join(h.trailer, md)
}

// begin admits the call. The error has a status.
func (h *handled) begin() error {
	s := h.server
	if s.skip != nil && s.skip(&h.Call) {
		return nil
	}
	to, err := s.source.find(&h.Call)
	if err != nil {
		return h.refuse(newGuard(nil), sluice.Request{}, err)
	}
	h.target, h.guard = to, to.guard
	if s.policyOf != nil {
		if p := s.policyOf(&h.Call); p != nil {
			h.guard = s.guardOf(p)
		}
	}
	if h.guard == nil {
		return nil
	}
	v := h.guard.view()
	if err := h.check(v); err != nil {
		return h.refuse(h.guard, sluice.Request{}, err)
	}
	q := h.request(h.guard, v)
	clients, timed := h.ctx.Deadline()
	if timed {
		q.Stalled = func() bool { return h.own }
	}
	h.asked = q
	if h.call, err = h.guard.pipeline.Begin(h.ctx, q); err != nil {
		return h.refuse(h.guard, q, err)
	}
	if timed {
		at, _ := h.call.Context().Deadline()
		// The two were made of different readings of the clock.
		h.own = clients.Sub(at) < time.Millisecond
	}
	if s.fields && len(v.Limits) > 0 {
		var room [2]sluice.LimitState
		states := h.call.Limits(room[:0])
		if field := v.fields(states, nil); field != "" {
			// An error means that an interceptor around this one has sent the headers.
			_ = h.answer.SetHeader(metadata.MD{policyField: v.PolicyOf(states), limitKey: {field}})
		}
	}
	return nil
}

// guardOf returns the guard of a pipeline that WithPolicyOf chose.
func (s *server) guardOf(p *sluice.Pipeline) *guard {
	if g, ok := s.chosen.Load(p); ok {
		return g.(*guard)
	}
	g, _ := s.chosen.LoadOrStore(p, newGuard(p))
	return g.(*guard)
}

// refuse answers in place of the handler. All metadata is in the trailers, because a client
// of gRPC does not repeat a call whose headers it has.
func (h *handled) refuse(g *guard, q sluice.Request, err error) error {
	r := g.refuse(err)
	md := r.trailer()
	if v := g.view(); h.server.fields && len(v.Limits) > 0 {
		var rejected *sluice.RejectedError
		errors.As(err, &rejected)
		var room [2]sluice.LimitState
		states := g.pipeline.Limits(q, room[:0])
		if field := v.fields(states, rejected); field != "" {
			md[policyField], md[limitKey] = v.PolicyOf(states), []string{field}
		}
	}
	h.answer.SetTrailer(md)
	return r.err
}

// end gives the vote of the handler that returned, and returns what the client gets in place
// of its error.
func (h *handled) end(reply any, err error) error {
	h.returned = true
	ctx := h.call.Context()
	var timeout *sluice.TimeoutError
	cut := ctx.Err() != nil && errors.As(context.Cause(ctx), &timeout)
	// At the client's deadline the timer of the policy may be the first.
	gone := h.ctx.Err() != nil || cut && h.own
	late := err != nil && cut && !gone
	outcome := reducer.Cancelled
	if !gone {
		outcome = h.server.outcomeOf(h.guard, &h.Call, reply, err, noFailure)
	}
	h.mu.Lock()
	trailer := h.trailer
	h.mu.Unlock()
	h.call.DoneRetryAfter(outcome, h.guard.obeyed(outcome, err, trailer))
	if late {
		r := h.guard.refuse(timeout)
		h.answer.SetTrailer(r.trailer())
		return r.err
	}
	return err
}

// close gives back what the call holds. It is deferred, so that it runs when the handler
// panics or leaves its goroutine, and does not catch either.
func (h *handled) close() {
	defer h.call.Release()
	if h.returned {
		return
	}
	outcome := reducer.Fail
	if h.ctx.Err() != nil {
		outcome = reducer.Cancelled
	}
	h.call.Done(outcome)
}
