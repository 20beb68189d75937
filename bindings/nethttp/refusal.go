package nethttp

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/reducer"
)

// answer is what a refused caller gets.
type answer struct {
	status int
	header http.Header
	body   []byte
	direct bool     // header is the writer's own
	length []string // of body; empty where it is to be counted
	grpc   int      // for a client of gRPC, where the status does not say it; 0 for none
	detail string   // for a client of gRPC
}

// refusal returns the answer to a refusal, a timeout or an injected result by the policy
// or to a policy that is missing, with its headers in h, and false for any other error, for
// which h stays as it is. late is the status of a timeout.
//
// What a limit refuses, for whatever reason, is 429: the caller is over its
// quota (RFC 6585 section 4). All else is 503: the others used the capacity up,
// or there is none (RFC 9110 section 15.6.4). What lacks an attribute is 400, 401 or 403, as
// the setting missing says.
func (s *settings) refusal(h http.Header, g *guard, q sluice.Request, err error, late int) (answer, bool) {
	if rejected, ok := err.(*sluice.RejectedError); ok {
		return s.rejection(h, g, q, rejected), true
	}
	var rejected *sluice.RejectedError
	if errors.As(err, &rejected) {
		return s.rejection(h, g, q, rejected), true
	}
	var timeout *sluice.TimeoutError
	var injected *sluice.InjectedError
	var unknown *sluice.UnknownPolicyError
	var request *RequestError
	a := answer{header: h}
	p := refusals.Problem{Type: refusals.Blank}
	switch {
	case errors.As(err, &timeout):
		p.Reason, p.Step = reducer.ReasonTimeout.String(), timeout.Step
		p.Detail = "The request took longer than it may."
		a.status, a.grpc = late, refusals.GRPCDeadlineExceeded
		p.Title = http.StatusText(late)
	case errors.As(err, &injected):
		p.Reason, p.Step = "injected", injected.Step
		p.Detail = "A chaos step of the policy gives this answer in place of the service."
		a.status = statusOfInjected(injected.Result)
		p.Title = http.StatusText(a.status)
		if injected.After > 0 {
			h.Set("Retry-After", strconv.FormatInt(refusals.CeilSeconds(injected.After), 10))
		}
	case errors.As(err, &unknown):
		p.Reason, p.Detail = "policy", "The policy of this service is missing."
		a.status = http.StatusInternalServerError
		p.Title = http.StatusText(a.status)
	case errors.As(err, &request):
		p.Reason, p.Detail = request.Reason, request.Detail
		a.status = request.Status
		p.Title = http.StatusText(a.status)
	default:
		return a, false
	}
	p.Status, a.detail = a.status, p.Detail
	a.body = p.Text()
	values := new(values)
	a.explain(values, p.Reason)
	if request == nil {
		if f, ok := s.limitFields(g, q, nil); ok {
			s.replaceFields(h, &f, values, false)
		}
	}
	return a, true
}

// statusOfInjected returns the status that stands for an injected outcome where the policy
// has the default outcomes.
func statusOfInjected(o reducer.Outcome) int {
	switch o {
	case reducer.Throttle:
		return http.StatusTooManyRequests
	case reducer.Ignore:
		return http.StatusBadRequest
	}
	return http.StatusServiceUnavailable
}

// replaces reports whether a fallback replaces the answer to an error of the policy: not
// to an injected outcome that it does not cover, nor to a request that the policy denies, or
// that lacks what it is counted by.
func replaces(err error) bool {
	if rejected, ok := err.(*sluice.RejectedError); ok {
		return !refusals.Final(rejected.Reason)
	}
	injected, ok := err.(*sluice.InjectedError)
	return !ok || fallback.Covers(injected.Result)
}

// values has the values of the headers of an answer, in one allocation.
type values struct{ reason, cache, kind, after, length, field [1]string }

// explain sets the headers that all answers of ours have.
func (a *answer) explain(v *values, reason string) {
	v.reason[0], v.cache[0], v.kind[0] = reason, "no-store", refusals.ContentType
	a.header["X-Throttle-Reason"] = v.reason[:]
	a.header["Cache-Control"] = v.cache[:]
	a.header["Content-Type"] = v.kind[:]
}

// replaceFields sets the headers about limits. The headers of a refusal replace the headers of
// an admission.
func (s *settings) replaceFields(h http.Header, f *fields, v *values, none bool) {
	if s.fields && !none {
		delete(h, rateLimit)
		delete(h, rateLimitPolicy)
	}
	s.setFields(h, f, &v.field, none)
}

// rejection is the answer to a refusal by a step.
func (s *settings) rejection(h http.Header, g *guard, q sluice.Request, e *sluice.RejectedError) answer {
	view, v, none := g.view(), new(values), len(h) == 0
	l := view.soleLimit(q, e)
	var r *rejection
	if l != nil {
		r = view.rate.Load()
	}
	if r == nil {
		r = view.rejection(e)
	}
	v.length[0] = r.length
	a := answer{status: r.status, grpc: r.grpc, header: h, body: r.body, length: v.length[:], detail: r.detail}
	a.explain(v, r.reason)
	if l != nil {
		view.rate.CompareAndSwap(nil, r)
		t := r.textsOf(l, e.RetryAfter)
		v.after[0] = t.after
		h["Retry-After"] = v.after[:]
		if s.fields || s.legacy {
			s.replaceFields(h, &fields{rateLimit: t.field, policy: view.Policy, limit: l.Burst, reset: t.reset}, v, none)
		}
		return a
	}
	if after, ok := refusals.ComeBack(e.Reason, e.RetryAfter); ok {
		v.after[0] = strconv.FormatInt(after, 10)
		h["Retry-After"] = v.after[:]
	}
	if f, ok := s.limitFields(g, q, e); ok {
		s.replaceFields(h, &f, v, none)
	}
	return a
}

// soleLimit returns the limit that refused a request, where it is the only one of the policy
// and has no permit left, so that nothing about it has to be asked; else nil.
func (v *view) soleLimit(q sluice.Request, e *sluice.RejectedError) *refusals.Limit {
	if e.Reason != reducer.ReasonRate || e.RetryAfter < 0 || q.Cost > 1 || len(v.Limits) != 1 || v.Plan.StepName(v.Limits[0].Step) != e.Step {
		return nil
	}
	return &v.Limits[0]
}

// retryTexts are the header values of a refusal that depend on its time, immutable.
type retryTexts struct {
	reset int64 // seconds
	after string
	field string
}

// textsOf returns the texts of a limit without permits. Many refusals in a row have the same.
func (r *rejection) textsOf(l *refusals.Limit, after time.Duration) *retryTexts {
	reset := refusals.CeilSeconds(after)
	t := r.last.Load()
	if t == nil || t.reset != reset {
		t = &retryTexts{reset: reset, after: strconv.FormatInt(max(1, reset), 10), field: string(l.Append(nil, 0, reset))}
		r.last.Store(t)
	}
	return t
}

// rejection is what all refusals of a step for one reason have in common. Only last changes.
type rejection struct {
	status, grpc   int
	reason, detail string
	body           []byte
	length         string // of body
	last           atomic.Pointer[retryTexts]
}

// rejectionOf names a rejection.
type rejectionOf struct {
	step   string
	reason reducer.Reason
}

// mostRejections are kept: a policy of its steps has fewer, but a Transport may refuse
// by the error of another policy as well.
const mostRejections = 256

// rejection returns the rejection of a refusal.
func (v *view) rejection(e *sluice.RejectedError) *rejection {
	of := rejectionOf{e.Step, e.Reason}
	known := v.rejections.Load()
	if known != nil && (*known)[of] != nil {
		return (*known)[of]
	}
	r := newRejection(v.IsQuota(e.Step), v.MissingOf(e.Step), e)
	next := map[rejectionOf]*rejection{of: r}
	if known != nil {
		maps.Copy(next, *known)
	}
	if len(next) <= mostRejections {
		// Where two do so at once, the other is made again.
		v.rejections.Store(&next)
	}
	return r
}

func newRejection(quota bool, missing pipeline.Missing, e *sluice.RejectedError) *rejection {
	p := refusals.Rejected(e.Step, quota, e.Reason, missing)
	r := &rejection{status: p.Status, grpc: refusals.GRPCOfRejected(e.Reason, p.Status), reason: p.Reason, detail: p.Detail, body: p.Text()}
	r.length = strconv.Itoa(len(r.body))
	return r
}

// replace puts a policy's fallback in the place of the problem document.
func (a *answer) replace(f *fallback.Config) {
	kind := "text/plain; charset=utf-8"
	if f.Body != "" && (f.Body[0] == '{' || f.Body[0] == '[') && json.Valid([]byte(f.Body)) {
		kind = "application/json"
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	a.header.Set("Content-Type", kind)
	a.status, a.body, a.length = f.Status, []byte(f.Body), nil
}

// writeTo writes the answer to a request.
func (a *answer) writeTo(w http.ResponseWriter, r *http.Request) {
	if isGRPC(r.Header) {
		a.toGRPC(r.Header["Content-Type"][0])
	}
	a.write(w)
}

// write writes the answer.
func (a *answer) write(w http.ResponseWriter) {
	h := w.Header()
	if !a.direct {
		maps.Copy(h, a.header)
	}
	if len(h[grpcStatus]) == 0 {
		if len(a.length) == 0 {
			a.length = []string{strconv.Itoa(len(a.body))}
		}
		h["Content-Length"] = a.length
	}
	w.WriteHeader(a.status)
	// The client may be gone; then the error concerns no one else.
	_, _ = w.Write(a.body)
}
