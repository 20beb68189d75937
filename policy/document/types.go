package document

import (
	"github.com/sluice-go/sluice/core/pipeline"
)

// Limits of a document beside tree.MaxBytes and pipeline.MaxSteps.
const (
	// MaxPolicies is the most policies of a document.
	MaxPolicies = 1_000
	// MaxRoutes is the most routes of a document.
	MaxRoutes = 10_000
	// MaxPer is the most attributes that a step's per may list.
	MaxPer = 16
	// MaxErrors is the most errors that are reported one by one.
	MaxErrors = 1_000
)

// Document is a policy document: policies by name, and routes for proxies.
type Document struct {
	// Policies in the order of the document.
	Policies []Policy
	// Routes in the order of the document: the first that matches wins.
	Routes []Route
}

// Lookup returns the policy of the name, nil when there is none.
func (d *Document) Lookup(name string) *Policy {
	for i := range d.Policies {
		if d.Policies[i].Name == name {
			return &d.Policies[i]
		}
	}
	return nil
}

// Match returns the first route that matches a request, nil when none does:
// such a request passes untouched. See Route.Match for the parameters.
func (d *Document) Match(host, method, path string) *Route {
	for i := range d.Routes {
		if d.Routes[i].Match(host, method, path) {
			return &d.Routes[i]
		}
	}
	return nil
}

// Policy is what the core compiles, with every default filled in, and what the
// bindings for HTTP need beside it.
type Policy struct {
	// Policy has the steps, all of them named, and the fallback. A limit's
	// Burst stays 0 where the document leaves it out, which means the count.
	pipeline.Policy
	// Extras has one entry for each step, in the same order.
	Extras []Extra
	// Methods that the retry step repeats, sorted as in the document. Without a
	// retry step there are none; the default is DefaultMethods.
	Methods []string
	// Outcomes says what an HTTP answer or a network error means.
	Outcomes Outcomes
	// Line and Column of the policy's name in the document, from 1.
	Line, Column int
}

// Extra is what the document says of a step that the core need not know.
type Extra struct {
	// Scope is how far the step's cells reach.
	Scope Scope
	// Named says that the document gives the name. Other names follow the
	// step's position, and so do their states when the document changes.
	Named bool
	// Line and Column of the mechanism's name in the document, from 1.
	Line, Column int
}

// Scope is how far the state of a step reaches.
type Scope uint8

// Local keeps the state of a step in its process. It is the default.
const Local Scope = 0

// String returns the name that the policy document uses.
func (Scope) String() string { return "local" }
