package nethttp

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/reducer"
)

// Handler is an http.Handler that guards another one. It is safe for concurrent
// use.
//
// A refusal is answered with 429 where a limit refused, else with 503, with
// Retry-After, RateLimit and RateLimit-Policy, X-Throttle-Reason and a problem
// document (RFC 9457). A policy's fallback takes the place of the problem
// document, and of the handler's own answer when that is a failure.
//
// The vote follows from the status, at the moment at which the headers are
// written, with their Retry-After for a breaker that obeys it; there the policy's timeouts end as well, unless WithWholeAnswers is given. Until then they end the
// request's context, and a handler that returned without having written
// anything is answered for with 503. A panic before the headers is a failure;
// it goes on to the server. A bulkhead's place is held until the handler has
// returned and the connection, if it took it over, is closed.
//
// A request is answered with 400, whatever the options say, when its target is neither a
// path nor an http or https URL without a user, when its method is no token, or when its
// host is no host: what stands behind the handler might read another path or another host
// from it. So is CONNECT. OPTIONS * is guarded as any request.
//
// How long a client may take is the section http of the document, see WithHTTP. A
// handler whose read of the body the client kept waiting has its answer replaced by
// 408; what it answers then, and after the client went away, gives no vote.
type Handler struct {
	settings
	next   http.Handler
	source *source
	chosen sync.Map // *sluice.Pipeline to *guard
}

// NewHandler guards every request with p.
func NewHandler(next http.Handler, p *sluice.Pipeline, options ...Option) *Handler {
	return newHandler(next, always(p), options)
}

// NewRoutedHandler guards requests with the policies that the routes of the
// set's document name: the first that matches, by the host, the method, and the
// path in the form that `http.paths` of the document says. The handler gets the
// request with that path. What a request gets that no route matches is
// `http.default`. A request that is refused for its path, or for having no
// route, is answered with 400 or 403.
func NewRoutedHandler(next http.Handler, set *sluice.Set, options ...Option) *Handler {
	return newHandler(next, routed(set), options)
}

// Middleware is NewHandler for chains of handlers.
func Middleware(p *sluice.Pipeline, options ...Option) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return NewHandler(next, p, options...) }
}

func newHandler(next http.Handler, from *source, options []Option) *Handler {
	h := &Handler{settings: newSettings(true, options), next: next, source: from}
	h.warnKeyless(from)
	if h.logger != nil {
		for _, g := range h.source.All() {
			if err := g.pipeline.Err(); err != nil {
				h.logger.Error("every request is refused", "error", err)
			}
			g.view().Idle(func(mechanism, step string) {
				h.logger.Warn("a "+mechanism+" step has no effect in a handler, which runs once a request",
					"policy", g.pipeline.Name(), "step", step)
			})
		}
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := checkTarget(r)
	if err == nil && h.skip != nil && h.skip(r) {
		h.next.ServeHTTP(w, r)
		return
	}
	var to target
	if err == nil {
		removeListed(r.Header)
		to, err = h.source.find(r.Host, r.Method, r.URL)
	}
	if large := h.headers.checkRequest(r); large != nil {
		err = large
	}
	if h.policyOf != nil && err == nil {
		if p := h.policyOf(r); p != nil {
			to.guard = h.guardOf(p)
		}
	}
	bounds := h.boundsOf(to)
	body := newClientBody(w, r, bounds, h.now)
	if err != nil {
		body.answering()
		h.refuse(w, r, nil, sluice.Request{}, err)
		return
	}
	r = to.sent(r)
	g := to.guard
	if g == nil {
		h.next.ServeHTTP(w, r)
		return
	}
	v := g.view()
	var a *attributes
	if v.Keyed || g.pipeline.Traced() {
		a = &attributes{req: r, target: to, server: true, s: &h.settings}
	}
	if v.Keyed {
		if err := a.check(v); err != nil {
			body.answering()
			h.refuse(w, r, g, sluice.Request{}, err)
			return
		}
	}
	q := h.requestOf(r)
	if a != nil {
		q.Lookup = a.lookup
	}
	if body != nil {
		q.Stalled = body.stalled
	}
	ctx := r.Context()
	var own *clientDeadline
	if limited, cancel, at := h.hop.limit(ctx, r.Header); cancel != nil {
		defer cancel()
		d := &clientDeadline{at: at}
		own = d
		ctx, q.Stalled = limited, func() bool { return d.first || body != nil && body.stalled() }
	}
	var taking *pauses
	if h.whole {
		p, stalled := newPauses(h.now), q.Stalled
		taking = p
		q.Stalled = func() bool { return p.tooLong() || stalled != nil && stalled() }
	}
	guarded, err := g.pipeline.Begin(ctx, q)
	if err != nil {
		body.answering()
		if r.Context().Err() == nil {
			err = own.errorOf(ctx, g.pipeline.Name(), err)
		}
		h.refuse(w, r, g, q, err)
		return
	}
	s := &served{ResponseWriter: w, h: h, call: guarded, guard: g, request: r, body: body, bounds: bounds, now: h.now, taking: taking}
	s.places.Store(1)
	defer s.end()
	if h.shows(v) {
		var room [2]sluice.LimitState
		if f, ok := v.fields(guarded.Limits(room[:0]), nil); ok {
			header := w.Header()
			h.setFields(header, &f, &s.field, len(header) == 0)
		}
	}
	s.identity = identity{to.route, q.Key, q.Lookup}
	if own != nil {
		own.compare(guarded.Context())
	}
	if ctx = guarded.Context(); h.admits {
		s.context = admitted{ctx, s}
		s.carried = h.hop.keep(r.Header)
		r = r.WithContext(&s.context)
	} else if v.timed || body != nil || own != nil || !hasDeadlines(w) {
		r = r.WithContext(ctx)
	}
	if body != nil {
		r.Body, body.progress = body, s.touch
		if v.slow > 0 {
			body.opened = h.now()
		}
		defer context.AfterFunc(guarded.Context(), body.interrupt)()
	}
	h.next.ServeHTTP(s.writer(), r)
	s.returned = true
	s.settle()
}

// guardOf returns the guard of a pipeline that WithPolicyOf chose.
func (h *Handler) guardOf(p *sluice.Pipeline) *guard {
	if g, ok := h.chosen.Load(p); ok {
		return g.(*guard)
	}
	g, _ := h.chosen.LoadOrStore(p, newGuard(p))
	return g.(*guard)
}

// hasDeadlines reports whether the reads and writes of a connection can be ended. Then
// the server ends the context of the request itself.
func hasDeadlines(w http.ResponseWriter) bool {
	_, ok := w.(interface{ SetWriteDeadline(time.Time) error })
	return ok
}

// refuse answers in place of the handler.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, g *guard, q sluice.Request, err error) {
	a, ok := h.refusal(w.Header(), g, q, err, http.StatusServiceUnavailable)
	if !ok {
		// The client is gone, or a handler above has cancelled the request.
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	a.direct = true
	if _, ok := err.(*RequestError); ok {
		g = nil // the policy was not asked
	}
	if f := g.fallbackOf(r); f != nil && replaces(err) {
		a.replace(f)
	} else if h.refused != nil {
		w.Header().Del("Content-Type")
		h.refused(w, r, err)
		return
	}
	a.writeTo(w, r)
}

// outcome is what an answer of the handler means. Where the client had the handler
// wait, or went away, it means nothing.
func (s *served) outcome(status int) reducer.Outcome {
	if errors.Is(s.request.Context().Err(), context.Canceled) || s.body.failure().late() || s.unread {
		return reducer.Cancelled
	}
	if status == http.StatusSwitchingProtocols {
		return reducer.OK
	}
	if text := s.grpcStatus(); text != "" {
		_, status = refusals.HTTPOfGRPC(text)
	}
	outcome := guards.Outcomes(s.h.outcomes, s.guard.pipeline).OfStatus(status)
	switch {
	case s.body != nil && fallback.Covers(outcome) && s.body.stalled():
		return reducer.Cancelled
	case outcome == reducer.OK && s.guard.view().slowed(s.began(), s.now, s.body.took()+s.taking.sum()):
		return reducer.Cancelled
	}
	return outcome
}

// began returns when the handler began, where it may have waited for the client.
func (s *served) began() time.Time {
	switch {
	case s.taking != nil:
		return s.taking.began
	case s.body != nil:
		return s.body.opened
	}
	return time.Time{}
}

// settle says how the handler ended when it returned without an answer.
func (s *served) settle() {
	if s.later {
		s.vote()
		return
	}
	if s.status != 0 || s.taken {
		return
	}
	ctx := s.call.Context()
	switch {
	case s.body.failure().late():
		s.WriteHeader(http.StatusRequestTimeout)
	case s.request.Context().Err() != nil:
		s.call.Done(reducer.Cancelled)
	case ctx.Err() != nil:
		s.call.Done(reducer.Timeout)
		err := context.Cause(ctx)
		var timeout *sluice.TimeoutError
		if !errors.As(err, &timeout) {
			err = &sluice.TimeoutError{Policy: s.guard.pipeline.Name()}
		}
		s.status = http.StatusServiceUnavailable
		s.body.answering()
		s.h.refuse(s.ResponseWriter, s.request, s.guard, s.identity.request(), err)
	default:
		if s.WriteHeader(http.StatusOK); s.later {
			s.vote()
		}
	}
}

// end gives back what the request holds. It is deferred, so that it runs when
// the handler panics or leaves its goroutine, and does not catch either.
func (s *served) end() {
	if s.returned && s.body == nil {
		s.leave() // nothing before it can panic
		return
	}
	defer s.leave()
	if !s.returned {
		s.places.Store(1) // no code will close the connection now
	}
	defer s.body.finish()
	if !s.returned && (s.status == 0 || s.later) {
		outcome := reducer.Fail
		if s.request.Context().Err() != nil || s.body.failure() != nil || s.unread {
			outcome = reducer.Cancelled
		}
		s.call.Done(outcome)
	}
}

// leave ends the watch over the answer, and gives the place of the handler back.
func (s *served) leave() {
	if !s.taken || !s.returned {
		s.finish()
	}
	s.free()
}
