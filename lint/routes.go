package lint

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/routes"
	"github.com/sluice-go/sluice/policy/document"
)

// checkRoutes finds routes that match nothing, and requests that no route matches.
func checkRoutes(doc *document.Document) []Finding {
	findings := []Finding{}
	find := func(rule Rule, line, column int, message, mended string) {
		findings = append(findings, Finding{
			Severity: Warning, Rule: rule, Message: message, Reason: reasonOf(rule), Mended: mended, Line: line, Column: column,
		})
	}
	table := routes.New(doc)
	for i := range doc.Routes {
		r := &doc.Routes[i]
		by, ok := table.Reachable(i)
		switch {
		case ok:
		case by < 0:
			find(DeadRoute, r.Line, r.Column, fmt.Sprintf("no request has the path %s: one with it is refused", r.Path), "")
		default:
			other := &doc.Routes[by]
			advice, mended := mendRoutes(doc, i, by)
			find(DeadRoute, r.Line, r.Column, fmt.Sprintf("route %d (%s) is the first match of no request: route %d (%s) in line %d matches all of its own; %s", i+1, routeText(r), by+1, routeText(other), other.Line, advice), mended)
		}
	}
	for i := range doc.Routes {
		r := &doc.Routes[i]
		if attribute := lacking(doc, r); attribute != "" {
			find(GRPCAttribute, r.Line, r.Column, fmt.Sprintf("no call of gRPC, as %s is one, has the %s that the policy %s asks for", r.Path, attribute, r.Policy), "")
		}
	}
	if len(doc.Routes) == 0 || doc.HTTP.Stated || matchesAll(doc) {
		return findings
	}
	last := &doc.Routes[len(doc.Routes)-1]
	find(NoDefault, last.Line, last.Column, fmt.Sprintf("none of the %d routes matches every path, method and host, and http.default is not there", len(doc.Routes)), "http: {default: deny}")
	return findings
}

// mostListed is how many routes a proposal lists. Of a longer list it has the two routes that it
// is about.
const mostListed = 10

// mendRoutes returns what to do about a route of which another one matches all requests, in
// words and as a document: to put it before that one, or, where that leaves another route
// without requests, to remove it.
func mendRoutes(doc *document.Document, dead, by int) (advice, mended string) {
	rest := slices.Delete(slices.Clone(doc.Routes), dead, dead+1)
	advice, list, two := "remove it", rest, []document.Route{doc.Routes[by]}
	if moved := slices.Insert(slices.Clone(rest), by, doc.Routes[dead]); reach(doc, moved, by) {
		advice, list, two = "put it before that one", moved, []document.Route{doc.Routes[dead], doc.Routes[by]}
	}
	if len(list) > mostListed {
		list = two
	}
	entries := make([]string, len(list))
	for i := range list {
		entries[i] = routeEntry(&list[i])
	}
	return advice, "routes: [" + strings.Join(entries, ", ") + "]"
}

// reach reports whether the route that was put in at a place of a list and the one behind it are
// first matches. The others are where they were: the first one has none of their requests.
func reach(doc *document.Document, list []document.Route, at int) bool {
	with := *doc
	with.Routes = list
	after := routes.New(&with)
	for i := at; i <= at+1; i++ {
		if _, ok := after.Reachable(i); !ok {
			return false
		}
	}
	return true
}

// methodOfGRPC is the path of a method of gRPC, or of all methods of a service, whose
// package and name are as in the style guide of protobuf.
var methodOfGRPC = regexp.MustCompile(`^/[a-z]\w*(\.\w+)*\.[A-Z]\w*/([A-Z]\w*|\*\*?)$`)

// lacking returns an attribute that the policy of a route asks for and that calls of gRPC
// never have, empty for none.
func lacking(doc *document.Document, r *document.Route) string {
	i := slices.IndexFunc(doc.Policies, func(p document.Policy) bool { return p.Name == r.Policy })
	if i < 0 || !methodOfGRPC.MatchString(r.Path) {
		return ""
	}
	plan, err := pipeline.Compile(doc.Policies[i].Policy)
	if err != nil {
		return ""
	}
	for _, attribute := range plan.Attributes() {
		if strings.HasPrefix(attribute, "cookie:") || strings.HasPrefix(attribute, "query:") {
			return attribute
		}
	}
	return ""
}

// matchesAll reports whether each request with a path has a route. A route that
// compares bytes also matches paths that one with clean forms refuses.
func matchesAll(doc *document.Document) bool {
	return slices.ContainsFunc([]document.Paths{document.PathsClean, document.PathsExactBytes}, func(paths document.Paths) bool {
		with := *doc
		with.Routes = append(doc.Routes[:len(doc.Routes):len(doc.Routes)], document.Route{Path: "/**", HTTP: document.HTTP{Paths: paths}})
		_, ok := routes.New(&with).Reachable(len(doc.Routes))
		return !ok
	})
}

// routeText names a route in a sentence.
func routeText(r *document.Route) string {
	text := r.Host + r.Path
	if len(r.Methods) > 0 {
		text = strings.Join(r.Methods, "|") + " " + text
	}
	return text
}

// routeEntry writes a route as a document does, without its http.
func routeEntry(r *document.Route) string {
	text := fmt.Sprintf("{path: %q", r.Path)
	if len(r.Methods) > 0 {
		text += ", method: [" + strings.Join(r.Methods, ", ") + "]"
	}
	if r.Host != "" {
		text += fmt.Sprintf(", host: %q", r.Host)
	}
	return text + ", policy: " + policyText(r) + "}"
}

// policyText is the policy of a route as a document writes it.
func policyText(r *document.Route) string { return cmp.Or(r.Policy, "pass") }
