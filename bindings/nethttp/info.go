package nethttp

import (
	"net/http"

	"github.com/sluice-go/sluice/reducer"
)

// Details are what a Transport did for an answer.
type Details struct {
	// Policy that guarded the request.
	Policy string
	// Attempts that were made; 0 for a refusal.
	Attempts int
	// NoRetry is why the request was not to be repeated, whatever became of it:
	// its method, or its body. Empty when it could have been.
	NoRetry string
	// NoHedge is why no attempt was to run beside another, likewise.
	NoHedge string
	// GaveUp is why a failing answer was not followed by another attempt:
	// attempts, pushback, deadline, elapsed, open or budget. None otherwise.
	GaveUp reducer.Reason
	// Fallback says that the answer is the policy's own.
	Fallback bool
}

// Info returns what a Transport did for an answer, and false for an answer that
// passed untouched or came from somewhere else.
func Info(resp *http.Response) (Details, bool) {
	if resp == nil || resp.Request == nil {
		return Details{}, false
	}
	d, ok := resp.Request.Context().Value(detailsKey{}).(*Details)
	if !ok {
		return Details{}, false
	}
	return *d, true
}
