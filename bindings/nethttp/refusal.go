package nethttp

import (
	"encoding/json"
	"errors"
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
	grpc   grpcCode // for a client of gRPC, where the status does not say it; 0 for none
	detail string   // for a client of gRPC
}

// refusal returns the answer to a refusal or a timeout by the policy or to a
// policy that is missing, and false for any other error. late is the status of a
// timeout.
//
// What a limit refuses, for whatever reason, is 429: the caller is over its
// quota (RFC 6585 section 4). All else is 503: the others used the capacity up,
// or there is none (RFC 9110 section 15.6.4).
func (s *settings) refusal(g *guard, q sluice.Request, err error, late int) (answer, bool) {
	var rejected *sluice.RejectedError
	var timeout *sluice.TimeoutError
	var unknown *sluice.UnknownPolicyError
	var request *RequestError
	a := answer{header: http.Header{}}
	p := problem{Type: "about:blank"}
	switch {
	case errors.As(err, &rejected):
		p.Reason, p.Step = rejected.Reason.String(), rejected.Step
		p.Violated = []string{rejected.Step}
		a.status = http.StatusServiceUnavailable
		p.Type, p.Title = typeCapacity, "Request cannot be satisfied due to temporary server capacity constraints"
		if slices.Contains(g.view().quotas, rejected.Step) {
			a.status = http.StatusTooManyRequests
			p.Type, p.Title = typeQuota, "Request cannot be satisfied as assigned quota has been exceeded"
		}
		p.Detail = detail(rejected)
		if after, ok := comeBack(rejected); ok {
			a.header.Set("Retry-After", strconv.FormatInt(after, 10))
		}
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
	a.header.Set("X-Throttle-Reason", p.Reason)
	a.header.Set("Cache-Control", "no-store")
	if request != nil {
		// No limit was asked.
	} else if f, ok := s.limitFields(g, q, rejected); ok {
		s.setFields(a.header, f)
	}
	a.header.Set("Content-Type", "application/problem+json")
	// Strings and a number cannot fail.
	a.body, _ = json.Marshal(p)
	a.body = append(a.body, '\n')
	return a, true
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
	a.status, a.body = f.Status, []byte(f.Body)
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
	for name, values := range a.header {
		h[name] = values
	}
	if h.Get(grpcStatus) == "" {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	// The client may be gone; there is nobody else to tell.
	_, _ = w.Write(a.body)
}
