package nethttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/reducer"
)

// call is one request on its way through the policy.
type call struct {
	t          *Transport
	guard      *guard
	req        *http.Request
	request    sluice.Request
	attributes attributes
	upload     upload
	last       *http.Response // of the last attempt, when it is not good
	body       *download      // of last
	details    Details
	sending    bool // an attempt was handed over, and closes its body
	returned   bool // nothing panicked
}

func (t *Transport) newCall(g *guard, req, in *http.Request, route string) *call {
	c := &call{t: t, guard: g, req: req, upload: upload{source: req.Body, getBody: req.GetBody}}
	c.attributes = attributes{req: req, route: route, s: &t.settings}
	if in != nil {
		c.attributes.req, c.attributes.server = in, true
	}
	v := g.view()
	c.request = t.requestOf(&c.attributes, v)
	c.request.Holdable = true
	c.details.Policy = g.pipeline.Name()
	if v.retry {
		c.request.Abandon = c.abandon
		c.request.NoRetry = c.noRetry()
		c.details.NoRetry = c.request.NoRetry
		if c.request.NoRetry == "" {
			c.upload.most = t.maxBody
		}
	}
	return c
}

// requestOf is what the policy asks of a request.
func (s *settings) requestOf(a *attributes, v *view) sluice.Request {
	var q sluice.Request
	if v.keyed {
		q.Lookup = a.lookup
	}
	if s.key != nil {
		q.Key = s.key(a.req)
	}
	if s.cost != nil {
		if q.Cost = s.cost(a.req); q.Cost == 0 {
			q.Cost = sluice.NoCost
		}
	}
	return q
}

// noRetry returns why the request must not be repeated, empty when it may be.
func (c *call) noRetry() string {
	h := c.req.Header
	switch {
	case h.Get("Upgrade") != "":
		return "an upgrade of the connection is not repeated"
	case !slices.Contains(c.t.methodsOf(c.guard.pipeline), method(c.req)) && h.Get("Idempotency-Key") == "" && h.Get("X-Idempotency-Key") == "":
		return method(c.req) + " is not idempotent, and there is no Idempotency-Key"
	case !c.upload.none() && c.req.GetBody == nil && (c.req.ContentLength > c.t.maxBody || c.t.maxBody <= 0):
		return noBody
	}
	return ""
}

var errNoAnswer = errors.New("nethttp: the round tripper returned neither an answer nor an error")

// noBody is why a request whose body is gone is not repeated.
const noBody = "the body is longer than what is kept for a retry"

// attempt is the function that the policy guards.
func (c *call) attempt(ctx context.Context) (*http.Response, error) {
	c.details.Attempts++
	body, err := c.upload.next(c.details.Attempts == 1)
	if err != nil {
		return nil, &attemptError{err: err, outcome: reducer.Ignore}
	}
	ctx = context.WithValue(ctx, detailsKey{}, &c.details)
	var req *http.Request
	if c.t.change != nil {
		req = c.req.Clone(ctx)
	} else {
		req = c.req.WithContext(ctx)
	}
	req.Body = body
	if !c.upload.none() && c.req.GetBody == nil {
		req.GetBody = nil
	}
	if c.t.change != nil {
		c.t.change(c.details.Attempts, req)
	}
	c.sending = true
	resp, err := c.t.next.RoundTrip(req)
	switch {
	case err != nil:
		return nil, c.failed(ctx, err)
	case resp == nil:
		return nil, &attemptError{err: errNoAnswer, outcome: reducer.Ignore}
	}
	return c.answered(ctx, resp)
}

// failed gives an error of the guarded round tripper its meaning. What the end
// of the attempt's context brought about is for the runner to tell: it knows
// whose end it was.
func (c *call) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	e := &attemptError{err: err}
	if own := c.upload.failed.Load(); own != nil && errors.Is(err, *own) {
		e.outcome = reducer.Ignore
		return e
	}
	var inner *sluice.RejectedError
	if errors.As(err, &inner) {
		// Of a policy below this round tripper.
		e.outcome = inner.Outcome()
		e.after, e.told = inner.Delay()
		return c.kept(e)
	}
	e.outcome = outcomeOfError(c.t.outcomesOf(c.guard.pipeline), err)
	return c.kept(e)
}

// answered gives an answer its meaning.
func (c *call) answered(ctx context.Context, resp *http.Response) (*http.Response, error) {
	body := newDownload(resp, sluice.Hold(ctx))
	outcome := reducer.OK
	if resp.StatusCode != http.StatusSwitchingProtocols {
		outcome = c.t.outcomesOf(c.guard.pipeline).OfStatus(resp.StatusCode)
	}
	c.last, c.body = resp, body
	if outcome == reducer.OK {
		return resp, nil
	}
	e := &attemptError{err: &StatusError{StatusCode: resp.StatusCode}, outcome: outcome}
	e.after, e.told = retryAfter(resp.Header, c.t.now)
	return resp, c.kept(e)
}

// kept asks for no other attempt when the body is gone by now.
func (c *call) kept(e *attemptError) error {
	if (e.outcome == reducer.Fail || e.outcome == reducer.Throttle) && c.request.NoRetry == "" && c.guard.view().retry && !c.upload.repeatable() {
		e.after, e.told = -1, true
		c.details.NoRetry = noBody
	}
	return e
}

// abandon lets go of the answer of an attempt that another one follows.
func (c *call) abandon() {
	if c.body != nil {
		c.body.abandon()
		c.last, c.body = nil, nil
	}
}

// close lets go of the request's body, whatever happened: when no attempt came
// so far, or one panicked, nobody else does.
func (c *call) close() {
	if c.sending && c.returned {
		c.upload.finish()
		return
	}
	c.upload.abort()
}

// result turns what the policy says into what a RoundTripper returns.
func (c *call) result(resp *http.Response, err error) (*http.Response, error) {
	if err == nil {
		return c.finished(resp), nil
	}
	var gaveUp *sluice.RetryError
	if errors.As(err, &gaveUp) {
		c.details.GaveUp = gaveUp.Reason
	}
	own, plain := err.(*attemptError)
	refused := errors.Is(err, sluice.ErrRejected)
	failed := gaveUp != nil && err == error(gaveUp) || plain && fallback.Covers(own.outcome)
	var timeout *sluice.TimeoutError
	late := !failed && errors.As(err, &timeout)
	if f := c.guard.pipeline.Fallback(); f != nil && (refused || failed || late) {
		c.abandon()
		c.details.Fallback = true
		a, told := answer{}, false
		if c.t.answers {
			a, told = c.t.refusal(c.guard, c.request, err, http.StatusGatewayTimeout)
		}
		a.replace(f)
		if told {
			return c.answer(a), nil
		}
		return c.finished(c.answer(a)), nil
	}
	if c.last != nil && (failed || plain) {
		return c.finished(c.last), nil
	}
	c.abandon()
	if c.t.answers {
		if a, ok := c.t.refusal(c.guard, c.request, err, http.StatusGatewayTimeout); ok {
			return c.answer(a), nil
		}
	}
	if plain {
		err = own.err
	}
	return nil, err
}

// finished adds to an answer what the policy says of its limits.
func (c *call) finished(resp *http.Response) *http.Response {
	if f, ok := c.t.limitFields(c.guard, c.request, nil); ok {
		if resp.Header == nil {
			resp.Header = http.Header{}
		}
		c.t.setFields(resp.Header, f)
	}
	return resp
}

// answer makes the response of an answer that no server gave.
func (c *call) answer(a answer) *http.Response {
	req := c.req.WithContext(context.WithValue(c.req.Context(), detailsKey{}, &c.details))
	resp := &http.Response{
		Status: strings.TrimSpace(strconv.Itoa(a.status) + " " + http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, ContentLength: int64(len(a.body)), Request: req,
		Body: io.NopCloser(bytes.NewReader(a.body)),
	}
	if c.req.Method == http.MethodHead {
		resp.Body = http.NoBody
	}
	return resp
}
