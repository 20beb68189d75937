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
//
// Votes and retries end with the headers of an answer. The places of bulkheads are held, and
// the timeouts of p cut the answer, until its body has been read to its end or closed: a Read
// that is cut fails with a *sluice.TimeoutError. A body that is neither read nor closed keeps
// its place until a timeout of p or the end of the request's context, as it keeps its
// connection; without these for ever, unless the bulkhead has a lease.
// WithHeaderTimeouts, WithIdleTimeout and WithWholeAnswers change what holds for bodies.
func NewTransport(next http.RoundTripper, p *sluice.Pipeline, options ...Option) *Transport {
	return newTransport(next, always(p), options)
}

// NewRoutedTransport guards requests with the policies that the routes of the
// set's document name: the first that matches, by the host without its port,
// the method, and the path in the form that `http.paths` of the document says.
// What a request gets that no route matches is `http.default`. The path of a
// request is sent as it is: a program spells its own paths. For a proxy, whose
// clients spell them, see Transport.Proxy.
func NewRoutedTransport(next http.RoundTripper, set *sluice.Set, options ...Option) *Transport {
	return newTransport(next, routed(set), options)
}

func newTransport(next http.RoundTripper, from *source, options []Option) *Transport {
	if next == nil {
		next = http.DefaultTransport
	}
	t := &Transport{settings: newSettings(false, options), next: next, source: from}
	t.warnKeyless(from)
	return t
}

// RoundTrip implements http.RoundTripper. Besides the errors of the round
// tripper that it guards it returns a *sluice.RejectedError, *sluice.
// TimeoutError, *sluice.InjectedError, *sluice.RetryError, *sluice.CancelError or
// *RequestError.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.skip != nil && t.skip(req) {
		return t.next.RoundTrip(req)
	}
	to, in, err := t.find(req)
	if err != nil {
		return t.refused(req, nil, err)
	}
	g := to.guard
	if g == nil {
		return t.untouched(req, in)
	}
	c := t.newCall(g, req, in, to)
	if err := c.attributes.check(g.view()); err != nil {
		return t.refused(req, g, err)
	}
	defer c.close()
	resp, err := sluice.DoWith(req.Context(), g.pipeline, c.request, c.attempt)
	c.returned = true
	if crash := c.crash.Load(); crash != nil {
		if c.hedged {
			c.taken(resp)
		}
		c.abandon()
		panic(*crash)
	}
	resp, err = c.result(resp, c.own.errorOf(req.Context(), g.pipeline.Name(), err))
	c.ended = true
	return resp, err
}

// CloseIdleConnections closes the idle connections of the guarded round tripper, for
// http.Client.CloseIdleConnections.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// untouched sends a request on that no policy guards.
func (t *Transport) untouched(req *http.Request, in *inbound) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if in == nil {
		return resp, err
	}
	if err == nil {
		if resp == nil {
			return nil, errNoAnswer
		}
		if err = t.validAnswer(resp); err == nil {
			in.answer = resp.Body
			return resp, nil
		}
		closeBody(resp)
	}
	failed := in.body.failure()
	if failed == nil {
		return resp, err
	}
	if t.answers {
		a := failed.answer(in.request)
		return a.response(req), nil
	}
	return nil, failed
}

// refused gives up a request that no policy is asked about.
func (t *Transport) refused(req *http.Request, g *guard, err error) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close() // as a RoundTripper must; the error that counts is another
	}
	if !t.answers {
		return nil, err
	}
	a, _ := t.refusal(http.Header{}, g, sluice.Request{}, err, http.StatusGatewayTimeout)
	c := &call{req: req, details: &Details{}}
	if g != nil {
		c.details.Policy = g.pipeline.Name()
	}
	return c.answer(a), nil
}
