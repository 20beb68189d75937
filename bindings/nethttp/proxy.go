package nethttp

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/attempt"
)

type inboundKey struct{}

// inbound is a request that came in, for the Transport that sends it on.
type inbound struct {
	request *http.Request
	// Of Proxy alone:
	transport *Transport // that has found the target
	target    target
	body      *clientBody // nil for none
	deadline  time.Time   // of the client; zero for none
	ready     bool        // the answer is short, and no read of it waits
	answer    io.Closer   // the body of the answer; nil before it and for none
}

// WithInbound makes a Transport choose the route of the requests of this
// context, and take their attributes, from the request that came in: for
// proxies, which rewrite the one that goes out. A Transport cannot change the
// path of the request that came in: where the routes compare another form of it,
// the request is refused with a *RequestError. Transport.Proxy changes it in time.
func WithInbound(ctx context.Context, in *http.Request) context.Context {
	return context.WithValue(ctx, inboundKey{}, &inbound{request: in})
}

// Proxy returns a handler for a proxy, as an httputil.ReverseProxy, that sends its
// requests on by t. The proxy gets the request with the path that the routes
// compared, and with a context as of WithInbound. A request that is refused for its
// target, its host or its path, or for having no route, is answered here, and so is
// OPTIONS *, which asks this server.
//
// It bounds how long a client may take, by the section http of the route or the
// document, or WithHTTP:
//
//   - a request whose body comes too slowly ends with a ClientError of status 408,
//     and one whose body breaks off with one of status 400. With WithRefusalAnswers
//     RoundTrip returns an answer of that status in place of the error;
//   - the timeouts of the policy end a request at their marks, also while its body
//     is read;
//   - an answer, or a connection that was upgraded, on which no byte passes for
//     stream_idle, or which is older than its lifetime, is closed;
//   - with WithDeadlineHeader a client may say how long its request may take.
func (t *Transport) Proxy(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &proxied{in: inbound{transport: t}}
		in, s := &p.in, &p.served
		if isAsterisk(r) {
			answerAsterisk(w)
			return
		}
		err := checkTarget(r)
		if err == nil {
			removeListed(r.Header)
			in.target, err = t.source.find(r.Host, r.Method, r.URL)
		}
		if large := t.headers.checkRequest(r); large != nil {
			err = large
		}
		bounds := t.boundsOf(in.target)
		in.body = newClientBody(w, r, bounds, t.now)
		if err != nil {
			in.body.answering()
			a, _ := t.refusal(http.Header{}, nil, sluice.Request{}, err, http.StatusGatewayTimeout)
			a.writeTo(w, r)
			return
		}
		in.request = in.target.sent(r)
		ctx := r.Context()
		if in.target.guard != nil {
			limited, end, at := t.hop.limit(ctx, r.Header)
			if end != nil {
				defer end()
				ctx, in.deadline = limited, at
			}
		}
		p.Init(ctx, clock.Never, nil)
		s.ResponseWriter, s.request, s.body, s.bounds, s.now, s.proxied = w, r, in.body, bounds, t.now, p
		s.places.Store(1)
		r = in.request.WithContext(p)
		if in.body != nil {
			r.Body, in.body.progress = in.body, s.touch
		}
		defer p.end()
		proxy.ServeHTTP(s.writer(), r)
		s.returned = true
	})
}

// proxied is a request that Proxy has a proxy send on, and its context.
type proxied struct {
	attempt.Cancellable
	in     inbound
	served served
}

// Value implements context.Context.
func (p *proxied) Value(key any) any {
	if _, ok := key.(inboundKey); ok {
		return &p.in
	}
	return p.Cancellable.Value(key)
}

// end gives back what the request holds. It is deferred, so that it runs when the proxy
// panics or leaves its goroutine, wherever that is.
func (p *proxied) end() {
	defer p.Cancel(nil)
	if !p.served.taken || !p.served.returned {
		// Only a connection that was taken over goes on. A proxy that panicked has not
		// closed the answer, nor has httputil.ReverseProxy an upgrade which it refuses.
		if p.in.answer != nil {
			defer p.in.answer.Close()
		}
		defer p.served.finish()
	}
	p.in.body.finish()
}

// RouteOf returns the policy and the route, host and path, that Transport.Proxy found
// for a request; both are empty for a request that passes without a policy, and for
// one that did not come by a Proxy. The context is that which the proxy gets, or one
// made from it.
func RouteOf(ctx context.Context) (policy, route string) {
	in, _ := ctx.Value(inboundKey{}).(*inbound)
	if in == nil || in.target.guard == nil {
		return "", ""
	}
	return in.target.guard.pipeline.Name(), in.target.route
}

// find returns what a document says of a request that goes out, and the request
// that came in, nil for none.
func (t *Transport) find(req *http.Request) (target, *inbound, error) {
	ctx := req.Context()
	in, _ := ctx.Value(inboundKey{}).(*inbound)
	if g, ok := ctx.Value(policyKey{}).(*guard); ok || req.URL == nil {
		return target{guard: g}, in, nil
	}
	of := req
	if in != nil {
		if in.transport == t {
			return in.target, in, nil
		}
		of = in.request
		if err := checkTarget(of); err != nil {
			return target{}, in, err
		}
	}
	found, err := t.source.find(hostOf(of), method(of), of.URL)
	if err == nil && in != nil && found.path != "" {
		if path := of.URL.EscapedPath(); path != "" && path != found.path {
			err = errUnsent
		}
	}
	return found, in, err
}

var errUnsent = &RequestError{Status: http.StatusBadRequest, Reason: "path", Detail: "The path is not in its clean form."}
