package nethttp

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/reducer"
)

// The problem types of draft-ietf-httpapi-ratelimit-headers-10.
const (
	typeQuota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	typeCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// problem is the document of a refusal (RFC 9457).
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Violated []string `json:"violated-policies,omitempty"`
	Reason   string   `json:"reason"`
	Step     string   `json:"step,omitempty"`
}

// answer is what a refused caller gets.
type answer struct {
	status int
	header http.Header
	body   []byte
	direct bool     // header is that of the writer
	length string   // of body; empty where it is to be counted
	grpc   grpcCode // for a client of gRPC, where the status does not say it; 0 for none
	detail string   // for a client of gRPC
}

// refusal returns the answer to a refusal or a timeout by the policy or to a
// policy that is missing, with its headers in h, and false for any other error, for
// which h stays as it is. late is the status of a timeout.
//
// What a limit refuses, for whatever reason, is 429: the caller is over its
// quota (RFC 6585 section 4). All else is 503: the others used the capacity up,
// or there is none (RFC 9110 section 15.6.4).
func (s *settings) refusal(h http.Header, g *guard, q sluice.Request, err error, late int) (answer, bool) {
	rejected, ok := err.(*sluice.RejectedError)
	if ok || errors.As(err, &rejected) {
		return s.rejection(h, g, q, rejected), true
	}
	var timeout *sluice.TimeoutError
	var unknown *sluice.UnknownPolicyError
	var request *RequestError
	a := answer{header: h}
	p := problem{Type: "about:blank"}
	switch {
	case errors.As(err, &timeout):
		p.Reason, p.Step = reducer.ReasonTimeout.String(), timeout.Step
		p.Detail = "The request took longer than it may."
		a.status, a.grpc = late, grpcDeadlineExceeded
		p.Title = http.StatusText(late)
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
	a.body = p.text()
	s.explain(&a, g, q, p.Reason, nil, request == nil)
	return a, true
}

// text is the document.
func (p *problem) text() []byte {
	// Strings and a number cannot fail.
	text, _ := json.Marshal(p)
	return append(text, '\n')
}

// explain sets the headers that all answers of ours have, and those about limits
// where they were asked.
func (s *settings) explain(a *answer, g *guard, q sluice.Request, reason string, rejected *sluice.RejectedError, asked bool) {
	values := &[4]string{reason, "no-store", "application/problem+json"}
	a.header["X-Throttle-Reason"] = values[0:1:1]
	a.header["Cache-Control"] = values[1:2:2]
	a.header["Content-Type"] = values[2:3:3]
	if !asked {
		return
	}
	if f, ok := s.limitFields(g, q, rejected); ok {
		// The headers of an admission give way to those of the refusal.
		delete(a.header, rateLimit)
		delete(a.header, rateLimitPolicy)
		s.setFields(a.header, &f, (*[1]string)(values[3:]))
	}
}

// rejection is the answer to a refusal by a step.
func (s *settings) rejection(h http.Header, g *guard, q sluice.Request, e *sluice.RejectedError) answer {
	r := g.view().rejection(e)
	a := answer{status: r.status, header: h, body: r.body, length: r.length, detail: r.detail}
	if after, ok := comeBack(e); ok {
		h["Retry-After"] = []string{strconv.FormatInt(after, 10)}
	}
	s.explain(&a, g, q, r.reason, e, true)
	return a
}

// rejection is what all refusals of a step for one reason have in common, immutable.
type rejection struct {
	status         int
	reason, detail string
	body           []byte
	length         string // of body
}

// rejectionOf names a rejection.
type rejectionOf struct {
	step   string
	reason reducer.Reason
}

// mostRejections are kept: a policy of its steps has fewer, but a Transport may refuse
// by the error of another policy as well.
const mostRejections = 256

// rejection returns that of a refusal.
func (v *view) rejection(e *sluice.RejectedError) *rejection {
	of := rejectionOf{e.Step, e.Reason}
	known := v.rejections.Load()
	if known != nil && (*known)[of] != nil {
		return (*known)[of]
	}
	r := newRejection(slices.Contains(v.quotas, e.Step), e)
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

func newRejection(quota bool, e *sluice.RejectedError) *rejection {
	p := problem{Reason: e.Reason.String(), Step: e.Step, Violated: []string{e.Step}, Detail: detail(e)}
	p.Status = http.StatusServiceUnavailable
	p.Type, p.Title = typeCapacity, "Request cannot be satisfied due to temporary server capacity constraints"
	if quota {
		p.Status = http.StatusTooManyRequests
		p.Type, p.Title = typeQuota, "Request cannot be satisfied as assigned quota has been exceeded"
	}
	r := &rejection{status: p.Status, reason: p.Reason, detail: p.Detail, body: p.text()}
	r.length = strconv.Itoa(len(r.body))
	return r
}

// comeBack returns Retry-After in seconds, at least one (RFC 9110 section
// 10.2.3). Where the step knows no time, as with a full queue, a second is the
// least that can be said; a cost that can never be admitted, and a request
// without its key, get none.
func comeBack(e *sluice.RejectedError) (int64, bool) {
	if e.RetryAfter < 0 {
		return 1, e.Reason != reducer.ReasonCapacity && e.Reason != reducer.ReasonMissing
	}
	return max(1, ceilSeconds(e.RetryAfter)), true
}

func detail(e *sluice.RejectedError) string {
	switch e.Reason {
	case reducer.ReasonRate:
		return "Too many requests for now."
	case reducer.ReasonCapacity:
		return "The request costs more than can ever be admitted."
	case reducer.ReasonOpen, reducer.ReasonProbes:
		return "The service is failing and is given time to recover."
	case reducer.ReasonFull:
		return "The queue is full."
	case reducer.ReasonWait:
		return "The wait would take, or took, too long."
	case reducer.ReasonDeadline:
		return "The turn of the request comes after its deadline."
	case reducer.ReasonMissing:
		return "The request lacks what it is counted by."
	}
	return ""
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
	a.status, a.body, a.length = f.Status, []byte(f.Body), ""
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
		if a.length == "" {
			a.length = strconv.Itoa(len(a.body))
		}
		h["Content-Length"] = []string{a.length}
	}
	w.WriteHeader(a.status)
	// The client may be gone; there is nobody else to tell.
	_, _ = w.Write(a.body)
}
