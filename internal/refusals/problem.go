package refusals

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// ContentType is the media type of the text of a Problem.
const ContentType = "application/problem+json"

// The problem types of draft-ietf-httpapi-ratelimit-headers-10.
const (
	typeQuota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	typeCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// Blank is the type of a problem whose title says all.
const Blank = "about:blank"

// Problem is the document of a refusal (RFC 9457).
type Problem struct {
	Type, Title string
	Status      int
	// Detail, Violated and Step are left out where they are empty.
	Detail   string
	Violated []string // names of policies
	Reason   string
	Step     string
}

// Rejected returns the problem of a refusal by a step, except the texts of its status.
//
// What a limit refuses, for whatever reason, is 429: the caller is over its quota (RFC
// 6585 section 4). All else is 503: the others used the capacity up, or there is none
// (RFC 9110 section 15.6.4). What the policy denies is 403: no retry can help (RFC 9110
// section 15.5.4). What lacks the attributes of the step is 400, or what `missing` of the
// step says.
func Rejected(step string, quota bool, why reducer.Reason, missing pipeline.Missing) Problem {
	p := Problem{Type: Blank, Reason: why.String(), Step: step, Detail: Detail(why)}
	switch {
	case why == reducer.ReasonMissing && missing == pipeline.MissingDeny401:
		p.Title, p.Status = "Unauthorized", 401
		return p
	case why == reducer.ReasonMissing && missing != pipeline.MissingDeny403:
		p.Title, p.Status = "Bad Request", 400
		return p
	case why == reducer.ReasonMissing, why == reducer.ReasonDenied:
		p.Title, p.Status = "Forbidden", 403
		return p
	}
	p.Violated = []string{step}
	if quota {
		p.Status, p.Type, p.Title = 429, typeQuota, "Request cannot be satisfied as assigned quota has been exceeded"
	} else {
		p.Status, p.Type, p.Title = 503, typeCapacity, "Request cannot be satisfied due to temporary server capacity constraints"
	}
	return p
}

// Final reports whether no retry of a refused request can help, and no fallback takes the
// place of the answer: the mistake is the caller's.
func Final(why reducer.Reason) bool {
	return why == reducer.ReasonDenied || why == reducer.ReasonMissing
}

// Detail returns a sentence for the client, empty where the title says all.
func Detail(why reducer.Reason) string {
	switch why {
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
	case reducer.ReasonBlocked:
		return "Requests of this client are blocked for a time."
	case reducer.ReasonDenied:
		return "The policy of the service denies the request."
	}
	return ""
}

// ComeBack returns Retry-After in seconds, at least one (RFC 9110 section 10.2.3). after
// is negative where the step knows no time, as with a full queue: a second is the least
// that can be said. A cost that can never be admitted, a request without its key, and one
// that the policy denies get none.
func ComeBack(why reducer.Reason, after time.Duration) (seconds int64, ok bool) {
	if after < 0 {
		return 1, why != reducer.ReasonCapacity && why != reducer.ReasonMissing && why != reducer.ReasonDenied
	}
	return max(1, CeilSeconds(after)), true
}

// CeilSeconds returns a duration in seconds, rounded up.
func CeilSeconds(d time.Duration) int64 {
	seconds := int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return seconds
}

// Text returns the document in JSON, with a line break behind it.
func (p *Problem) Text() []byte {
	b := member(nil, `{"type":`, p.Type)
	b = member(b, `,"title":`, p.Title)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(p.Status), 10)
	if p.Detail != "" {
		b = member(b, `,"detail":`, p.Detail)
	}
	for i, name := range p.Violated {
		before := ","
		if i == 0 {
			before = `,"violated-policies":[`
		}
		b = member(b, before, name)
	}
	if len(p.Violated) > 0 {
		b = append(b, ']')
	}
	b = member(b, `,"reason":`, p.Reason)
	if p.Step != "" {
		b = member(b, `,"step":`, p.Step)
	}
	return append(b, "}\n"...)
}

// member appends a text in JSON behind another.
func member(b []byte, before, text string) []byte {
	b = append(append(b, before...), '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == '<' || r == '>' || r == '&':
			const digits = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}
