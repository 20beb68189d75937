package nethttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/internal/refusals"
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
	in         *inbound       // nil for none
	last       *http.Response // of the last attempt, when it is not good
	body       *download      // of last
	details    *Details
	room       Details             // of details
	field      [1]string           // the value of RateLimit
	sending    atomic.Bool         // an attempt was handed over, and closes its body
	returned   bool                // no attempt panicked
	ended      bool                // nothing panicked
	own        *clientDeadline     // nil for none
	latest     *lingering          // of the latest attempt, nil for none
	gone       atomic.Bool         // the client has left while an attempt went on
	crash      atomic.Pointer[any] // of WithResponseOutcome, nil for none
	once       string              // why the request is sent once, empty where it need not
	stalls     bool                // an attempt may wait for the body
	pauses     *pauses             // of the latest attempt, where the body of its answer is a part of the call
	uploaded   time.Duration       // of that attempt, in which it waited for the body of the request

	// Of a request that may be hedged, whose attempts run beside each other.
	hedged  bool
	started atomic.Int32
	mu      sync.Mutex
	answers map[*http.Response]hedgedAnswer
}

// hedgedAnswer is what belongs to the answer of one attempt.
type hedgedAnswer struct {
	body    *download
	details *Details
}

func (t *Transport) newCall(g *guard, req *http.Request, in *inbound, to target) *call {
	c := &call{t: t, guard: g, req: req, in: in, upload: upload{source: req.Body, getBody: req.GetBody}}
	c.attributes = attributes{req: req, target: to, s: &t.settings}
	if in != nil {
		c.attributes.req, c.attributes.server, c.attributes.proxy = in.request, true, in.transport != nil
		c.upload.client = in.body
	}
	v := g.view()
	c.request = t.requestOf(c.attributes.req)
	own := overrideOf(req.Context())
	own.Apply(&c.request)
	c.once = own.NoRetry
	if v.Keyed || g.pipeline.Traced() {
		c.request.Lookup = c.attributes.lookup
	}
	c.request.Holdable = true
	c.room.Policy = g.pipeline.Name()
	c.details = &c.room
	if c.request.NoHedge = c.noHedge(v); c.request.NoHedge == "" {
		c.hedged, c.answers = true, map[*http.Response]hedgedAnswer{}
		c.request.Discard = c.discard
	}
	if v.Hedge {
		c.details.NoHedge = c.request.NoHedge
	}
	c.stalls = !c.hedged && c.upload.stalls()
	if c.stalls {
		c.request.Stalled = c.upload.unfinished
	}
	if in != nil && !in.deadline.IsZero() {
		c.own = &clientDeadline{at: in.deadline, first: c.hedged}
		c.request.Stalled = func() bool { return c.own.first || c.stalls && c.upload.unfinished() }
	}
	if stalled := c.request.Stalled; v.timed && c.lingers(v) {
		c.request.Stalled = func() bool { return c.gone.Load() || stalled != nil && stalled() }
	}
	if stalled := c.request.Stalled; t.whole && !c.hedged {
		c.request.Stalled = func() bool { return c.pauses.tooLong() || stalled != nil && stalled() }
	}
	if v.Retry {
		c.request.Abandon = c.abandon
		c.request.NoRetry = c.noRetry()
		c.details.NoRetry = c.request.NoRetry
		if c.request.NoRetry == "" {
			c.upload.most = t.maxBody
		}
	}
	return c
}

// lingers reports whether attempts go on for a time when the client leaves.
func (c *call) lingers(v *view) bool { return c.t.abandoned != nil && c.in != nil && v.holds }

// requestOf is what the policy asks of a request, without its attributes.
func (s *settings) requestOf(r *http.Request) (q sluice.Request) {
	if s.key != nil {
		q.Key = s.key(r)
	}
	if s.cost != nil {
		if q.Cost = s.cost(r); q.Cost == 0 {
			q.Cost = sluice.NoCost
		}
	}
	return q
}

// noRetry returns why the request must not be repeated, empty when it may be.
func (c *call) noRetry() string {
	h := c.req.Header
	switch {
	case c.once != "":
		return c.once
	case h.Get("Upgrade") != "":
		return "an upgrade of the connection is not repeated"
	case !slices.Contains(c.t.methodsOf(c.guard.pipeline), method(c.req)) && h.Get("Idempotency-Key") == "" && h.Get("X-Idempotency-Key") == "":
		return method(c.req) + " is not idempotent, and there is no Idempotency-Key"
	case !c.upload.none() && c.req.GetBody == nil && (c.req.ContentLength > c.t.maxBody || c.t.maxBody <= 0):
		return bodyTooLong
	}
	return ""
}

// noHedge returns why no second attempt may run beside the first, empty when one
// may.
func (c *call) noHedge(v *view) string {
	h := c.req.Header
	switch {
	case !v.Hedge:
		return "the policy had no hedge when the request came"
	case c.once != "":
		return c.once
	case h.Get("Upgrade") != "":
		return "an upgrade of the connection is not repeated"
	case !slices.Contains(c.t.hedgedOf(c.guard.pipeline), method(c.req)) && h.Get("Idempotency-Key") == "" && h.Get("X-Idempotency-Key") == "":
		return method(c.req) + " is not idempotent, and there is no Idempotency-Key"
	case !c.upload.none() && c.req.GetBody == nil:
		return "the body cannot be read twice at once"
	}
	return ""
}

var errNoAnswer = errors.New("nethttp: the round tripper returned neither an answer nor an error")

// errSlowClient says that an answer came late because the body of the request did.
var errSlowClient = errors.New("nethttp: the client took its time over the body")

// bodyTooLong is why a request whose body is gone is not repeated.
const bodyTooLong = "the body is longer than what is kept for a retry"

// attempt is the function that the policy guards.
func (c *call) attempt(ctx context.Context) (*http.Response, error) {
	details := c.begins(ctx)
	body, err := c.upload.next(details.Attempts == 1)
	if err != nil {
		return nil, &guards.AttemptError{Err: err, Result: reducer.Ignore}
	}
	began, waited := time.Time{}, time.Duration(0)
	if c.own != nil && !c.hedged {
		c.own.compare(ctx)
	}
	if c.stalls {
		defer context.AfterFunc(ctx, c.upload.interrupt)()
		if c.guard.view().slow > 0 {
			began, waited = c.t.now(), c.upload.took()
		}
	}
	attempt := ctx
	if c.t.whole && !c.hedged {
		c.pauses = newPauses(c.t.now)
	}
	ctx, idle := c.idle(ctx)
	var l *lingering
	if c.lingers(c.guard.view()) {
		l = c.linger(ctx, details)
		ctx = l
	} else {
		ctx = &attemptContext{ctx, details}
	}
	var req *http.Request
	if c.t.change != nil || c.t.hop.any() {
		req = c.req.Clone(ctx)
		if req.Header == nil {
			req.Header = http.Header{}
		}
		c.t.hop.onward(attempt, req, c.attributes.server)
	} else {
		req = c.req.WithContext(ctx)
	}
	req.Body = body
	if !c.upload.none() && c.req.GetBody == nil {
		req.GetBody = nil
	}
	if c.t.change != nil {
		c.t.change(details.Attempts, req)
	}
	c.sending.Store(true)
	resp, err := c.t.next.RoundTrip(req)
	if l != nil {
		// A read of the body that fails ends the context of the request as well.
		if left, cut := l.ends(); left && c.upload.client.failure() == nil {
			idle.end()
			return nil, c.abandoned(l, attempt, resp, cut)
		}
	}
	switch {
	case err != nil:
		err = c.failed(ctx, err)
		idle.end()
		if l != nil && !l.isUnsent() && c.leaves(ctx, err) {
			l.bounds.abandons(attempt)
		}
		return nil, err
	case resp == nil:
		idle.end()
		return nil, &guards.AttemptError{Err: errNoAnswer, Result: reducer.Ignore}
	}
	taken := false
	defer func() {
		if !taken { // after a panic too
			closeBody(resp)
			idle.end()
		}
	}()
	if err := c.t.validAnswer(resp); err != nil {
		return nil, c.failed(ctx, err)
	}
	resp, err = c.answered(ctx, resp, details, idle)
	taken = true
	if err == nil && c.guard.view().slowed(began, c.t.now, c.upload.took()-waited) {
		err = &guards.AttemptError{Err: errSlowClient, Result: reducer.Cancelled}
	}
	if err == nil && c.pauses != nil {
		c.uploaded = c.upload.took() - waited
		c.extend(attempt, resp)
	}
	return resp, err
}

// linger makes the context of an attempt that may go on when the client leaves.
func (c *call) linger(ctx context.Context, details *Details) *lingering {
	own := c.own != nil && c.own.first
	l := newLingering(ctx, details, c.t.abandoned, own)
	if c.hedged {
		return l // others run beside it
	}
	if c.latest != nil {
		c.latest.detach()
	}
	c.latest = l
	return l
}

// abandoned ends an attempt that went on after its client had left. The answer, where it
// came, has no reader.
func (c *call) abandoned(l *lingering, attempt context.Context, resp *http.Response, cut bool) error {
	c.gone.Store(true)
	if resp != nil {
		cut = !isWhole(resp)
		closeBody(resp)
	}
	if cut {
		l.bounds.abandons(attempt)
	}
	return &guards.AttemptError{Err: context.Cause(l.Context), Result: reducer.Cancelled}
}

// isWhole reports whether all of an answer is there.
func isWhole(resp *http.Response) bool {
	if resp.Body == nil || resp.Body == http.NoBody {
		return true
	}
	b, ok := resp.Body.(interface{ Ready() bool })
	return ok && b.Ready()
}

// leaves reports whether an attempt has ended without an answer because of its client.
func (c *call) leaves(ctx context.Context, err error) bool {
	var a *guards.AttemptError
	if errors.As(err, &a) {
		return a.Result == reducer.Cancelled
	}
	return ctx.Err() != nil && (c.req.Context().Err() != nil || c.own != nil && c.own.first)
}

// validAnswer returns why an answer is none, nil for one that can be passed on. The server
// of net/http panics where it is to send another status.
func (t *Transport) validAnswer(resp *http.Response) error {
	if validStatus(resp.StatusCode) {
		return t.answerHeaders.checkAnswer(resp)
	}
	return fmt.Errorf("nethttp: the answer has the status %d; allowed: 101 and 200 to 999", resp.StatusCode)
}

// validStatus reports whether an answer that is not informational can have a status.
func validStatus(status int) bool {
	return status == http.StatusSwitchingProtocols || status >= 200 && status <= 999
}

// closeBody closes the body of an answer that no caller gets.
func closeBody(resp *http.Response) {
	if resp.Body != nil {
		_ = resp.Body.Close() // the error that counts is another
	}
}

// attemptContext is the context of an attempt, by which Info finds the details.
type attemptContext struct {
	context.Context
	details *Details
}

// Value implements context.Context.
func (c *attemptContext) Value(key any) any {
	switch key.(type) {
	case detailsKey:
		return c.details
	case attempt.SelfKey:
		return c
	}
	return c.Context.Value(key)
}

// Attach implements attempt.Hooked.
func (c *attemptContext) Attach(h *attempt.Hook) bool {
	p, ok := c.Context.(attempt.Hooked)
	return ok && p.Attach(h)
}

// Follow implements attempt.Hooked.
func (c *attemptContext) Follow() {
	if p, ok := c.Context.(attempt.Hooked); ok {
		p.Follow()
	}
}

// Detach implements attempt.Hooked.
func (c *attemptContext) Detach(h *attempt.Hook) bool {
	p, ok := c.Context.(attempt.Hooked)
	return ok && p.Detach(h)
}

// meaning asks WithResponseOutcome what an answer means.
func (c *call) meaning(resp *http.Response, byStatus reducer.Outcome) (outcome reducer.Outcome) {
	defer func() {
		if crash := recover(); crash != nil {
			// The panic is not one of the dependency, for which it would count where it went on here.
			c.crash.CompareAndSwap(nil, &crash)
			outcome = byStatus
		}
	}()
	return guards.Asked(c.t.responseOutcome(resp, byStatus), byStatus)
}

// begins returns the details of an attempt that begins. Each attempt of a hedged request has
// its own, since these attempts run beside each other.
func (c *call) begins(ctx context.Context) *Details {
	c.started.Add(1)
	number, _, ok := sluice.AttemptOf(ctx)
	if !ok {
		c.details.Attempts++
		return c.details
	}
	return &Details{Policy: c.guard.pipeline.Name(), Attempts: int(number), NoRetry: c.request.NoRetry}
}

// discard closes the answer of an attempt that is not the answer of the request.
func (c *call) discard(value any) {
	resp, _ := value.(*http.Response)
	c.mu.Lock()
	a, ok := c.answers[resp]
	delete(c.answers, resp)
	c.mu.Unlock()
	if ok {
		a.body.abandon()
	}
}

// taken makes the answer that the policy returned the answer of the request.
func (c *call) taken(resp *http.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.answers[resp]; ok {
		c.last, c.body, c.details = resp, a.body, a.details
	}
	c.details.Attempts = int(c.started.Load())
}

// failed gives an error of the guarded round tripper its meaning. What the end
// of the attempt's context brought about is for the runner to tell: it knows
// whose end it was.
func (c *call) failed(ctx context.Context, err error) error {
	// A read of the body that fails ends the context of the request as well.
	if failed := c.upload.client.failure(); failed != nil {
		return &guards.AttemptError{Err: failed, Result: reducer.Cancelled}
	}
	if c.req.Context().Err() != nil {
		return err
	}
	switch unfinished := c.upload.unfinished(); {
	case unfinished && ctx.Err() != nil:
		return &guards.AttemptError{Err: &ClientError{http.StatusRequestTimeout, context.Cause(ctx)}, Result: reducer.Cancelled}
	case unfinished:
		return &guards.AttemptError{Err: err, Result: reducer.Cancelled}
	case ctx.Err() != nil:
		return err
	}
	e := &guards.AttemptError{Err: err}
	var inner *sluice.RejectedError
	if errors.As(err, &inner) {
		// Of a policy below this round tripper.
		e.Result = inner.Outcome()
		e.After, e.HasAfter = inner.Delay()
		return c.kept(e)
	}
	e.Result = outcomeOfError(guards.Outcomes(c.t.outcomes, c.guard.pipeline), err)
	return c.kept(e)
}

// idle returns the context of an attempt, which ends when no part of its answer comes, and
// what ends it; nil where nothing does.
func (c *call) idle(ctx context.Context) (context.Context, *idle) {
	if c.t.idle <= 0 {
		return ctx, nil
	}
	i := &idle{after: c.t.idle, err: &sluice.TimeoutError{Policy: c.guard.pipeline.Name(), Step: "idle"}}
	ctx, i.cancel = context.WithCancelCause(ctx)
	return ctx, i
}

// hold keeps what the attempt has until the body of its answer is over. The policy's
// timeouts cut the body as well, unless it is a connection that was upgraded, or goes to the
// client of a proxy, whose bounds come from the document.
func (c *call) hold(ctx context.Context, resp *http.Response) (release func()) {
	if c.in != nil || c.t.headerTimeouts || resp.StatusCode == http.StatusSwitchingProtocols {
		return sluice.Hold(ctx)
	}
	return sluice.HoldTimed(ctx)
}

// answered gives an answer its meaning.
func (c *call) answered(ctx context.Context, resp *http.Response, details *Details, idle *idle) (*http.Response, error) {
	body := newDownload(ctx, resp, c.hold(ctx, resp), idle)
	if resp.StatusCode != http.StatusSwitchingProtocols && c.lingers(c.guard.view()) {
		body.grace, body.client = c.t.abandoned, c.req.Context()
	}
	status, code := resp.StatusCode, 0
	result, err := c.grpcResult(resp, body)
	switch {
	case err != nil:
		body.Close()
		return nil, c.failed(ctx, err)
	case result != "":
		code, status = refusals.HTTPOfGRPC(result)
	}
	outcome := reducer.OK
	if status != http.StatusSwitchingProtocols {
		outcome = guards.Outcomes(c.t.outcomes, c.guard.pipeline).OfStatus(status)
		if c.t.responseOutcome != nil {
			outcome = c.meaning(resp, outcome)
		}
	}
	if _, _, ok := sluice.AttemptOf(ctx); ok {
		c.mu.Lock()
		c.answers[resp] = hedgedAnswer{body, details}
		c.mu.Unlock()
	} else {
		c.last, c.body = resp, body
	}
	if outcome == reducer.OK {
		return resp, nil
	}
	if fallback.Covers(outcome) && c.upload.unfinished() {
		outcome = reducer.Cancelled // what the dependency says may be about the body
	}
	e := &guards.AttemptError{Err: &StatusError{StatusCode: resp.StatusCode, GRPC: int(code)}, Result: outcome}
	if e.After, e.HasAfter = retryAfter(resp.Header, c.t.now); result != "" && !e.HasAfter {
		if e.After, e.HasAfter = pushback(resp.Header, grpcPushback); !e.HasAfter {
			e.After, e.HasAfter = pushback(resp.Trailer, grpcPushback)
		}
	}
	return resp, c.kept(e)
}

// kept asks for no other attempt when the body is gone by now.
func (c *call) kept(e *guards.AttemptError) error {
	if (e.Result == reducer.Fail || e.Result == reducer.Throttle) && c.request.NoRetry == "" && c.guard.view().Retry && !c.upload.repeatable() {
		e.After, e.HasAfter = -1, true
		c.details.NoRetry = bodyTooLong
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

// close closes the request's body, whatever happened: when no attempt came so far,
// or one panicked, no other code does. Of a request that panicked it closes the answers
// as well, which have no reader.
func (c *call) close() {
	if !c.ended {
		defer c.abandonAll()
	}
	if c.sending.Load() && c.returned {
		c.upload.finish()
		return
	}
	c.upload.abort()
}

// abandonAll closes the answers of a request that panicked or called runtime.Goexit.
func (c *call) abandonAll() {
	c.mu.Lock()
	answers := c.answers
	c.answers = nil
	c.mu.Unlock()
	if c.body != nil {
		defer c.body.Close()
	}
	for _, a := range answers {
		defer a.body.Close()
	}
}

// result turns what the policy says into what a RoundTripper returns.
func (c *call) result(resp *http.Response, err error) (*http.Response, error) {
	if c.hedged {
		c.taken(resp)
	}
	if err == nil {
		return c.finished(resp), nil
	}
	var gaveUp *sluice.RetryError
	if errors.As(err, &gaveUp) {
		c.details.GaveUp = gaveUp.Reason
	}
	own, plain := err.(*guards.AttemptError)
	refused := errors.Is(err, sluice.ErrRejected)
	failed := gaveUp != nil && err == error(gaveUp) || plain && fallback.Covers(own.Result)
	var timeout *sluice.TimeoutError
	var client *ClientError
	late := !failed && !errors.As(err, &client) && errors.As(err, &timeout)
	_, injected := err.(*sluice.InjectedError)
	if f := c.guard.fallbackOf(c.req); f != nil && (failed || late || (refused || injected) && replaces(err)) {
		c.abandon()
		c.details.Fallback = true
		a, told := answer{}, false
		if c.t.answers {
			a, told = c.t.refusal(http.Header{}, c.guard, c.request, err, http.StatusGatewayTimeout)
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
	if c.t.answers && client != nil {
		return c.answer(client.answer(c.attributes.req)), nil
	}
	if c.t.answers {
		if a, ok := c.t.refusal(http.Header{}, c.guard, c.request, err, http.StatusGatewayTimeout); ok {
			return c.answer(a), nil
		}
	}
	if plain {
		err = own.Err
	}
	return nil, err
}

// finished adds to an answer what the policy says of its limits.
func (c *call) finished(resp *http.Response) *http.Response {
	if c.in != nil {
		c.in.answer = resp.Body
		if d, ok := resp.Body.(*download); ok {
			c.in.ready = d.ready
		}
	}
	if f, ok := c.t.limitFields(c.guard, c.request, nil); ok {
		if resp.Header == nil {
			resp.Header = http.Header{}
		}
		c.t.setFields(resp.Header, &f, &c.field, false)
	}
	return resp
}

// answer makes the response of an answer that no server gave.
func (c *call) answer(a answer) *http.Response {
	return a.response(c.req.WithContext(context.WithValue(c.req.Context(), detailsKey{}, c.details)))
}

// response makes the response to a request.
func (a *answer) response(req *http.Request) *http.Response {
	if isGRPC(req.Header) {
		a.toGRPC(req.Header["Content-Type"][0])
	}
	resp := &http.Response{
		Status: strings.TrimSpace(strconv.Itoa(a.status) + " " + http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, ContentLength: int64(len(a.body)), Request: req,
		Body: io.NopCloser(bytes.NewReader(a.body)),
	}
	if req.Method == http.MethodHead {
		resp.Body = http.NoBody
	}
	return resp
}
