// Package exchanges has scenarios of the filter: a policy document and requests, each with
// the answer of the upstream and what the client gets. They are played on the host of
// proxywasm/host and in a real Envoy, which have to agree.
//
// No scenario depends on how much time passes within it, as long as it is less than
// minutes.
package exchanges

import (
	"fmt"
	"strings"
)

// Scenario is a document and what happens to requests one after another.
type Scenario struct {
	Name string
	// Document is a policy document in JSON without its section proxy.
	Document string
	// Proxy are settings of the section proxy besides the state, as JSON members.
	Proxy string
	// Routes are the routes of Envoy that name a policy in their metadata.
	Routes    []Route
	Exchanges []Exchange
}

// Route is a route of Envoy by path prefix.
type Route struct{ Prefix, Policy string }

// Exchange is a request, the answer of the upstream, and what the client gets.
type Exchange struct {
	// Times is how often the exchange happens, 0 for once.
	Times int
	// GRPC says that the request is a call of gRPC, and the answer one of gRPC.
	GRPC bool
	// Method and Path of the request; empty for GET and /, of a call for POST and
	// /pkg.Service/Method.
	Method, Path string
	// Host is the authority, empty for one that no document of the table names.
	Host string
	// Header are the lines of the request, a name in lower case and a value in turns.
	Header []string

	// Answer is the status of the upstream, of a call that in the trailers. 0 stands for
	// 200, of a call for OK.
	Answer int

	// Status is the one that the client gets, 0 for the upstream's. Of a call it is
	// the status of gRPC.
	Status int
	// Want are lines that the answer has once, a name in lower case and a value; an empty
	// value means that there is no such line.
	Want map[string]string
	// Body is the body of the answer, empty for any.
	Body string
	// UpstreamPath is the path that the upstream sees, empty for any.
	UpstreamPath string
}

// JSON returns the document with a state.
func (s *Scenario) JSON(state string) string {
	body := strings.TrimSuffix(strings.TrimSpace(s.Document), "}")
	more := ""
	if s.Proxy != "" {
		more = "," + s.Proxy
	}
	return fmt.Sprintf(`%s,"proxy":{"state":%q%s}}`, body, state, more)
}

// steps is a document of one policy for all requests.
func steps(list string) string {
	return `{"version":1,"policies":{"all":{"steps":[` + list + `]}},"routes":[{"path":"/**","policy":"all"}]}`
}

// Problem is the document of a refusal.
func Problem(kind, title, detail, reason, step string, status int) string {
	return fmt.Sprintf(`{"type":"https://iana.org/assignments/http-problem-types#%s","title":%q,"status":%d,"detail":%q,"violated-policies":[%q],"reason":%q,"step":%q}`+"\n",
		kind, title, status, detail, step, reason, step)
}
