// Package config checks that a policy document can be the configuration of the filter for
// Envoy, which performs the steps limit, breaker and bulkhead.
package config

import (
	"strconv"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/shared"
	"github.com/sluice-go/sluice/policy/document"
)

// instead returns what performs a mechanism in place of the filter, and false for one that
// the filter performs.
func instead(k mechanism.Kind) (string, bool) {
	switch k {
	case mechanism.Limit, mechanism.Breaker, mechanism.Bulkhead:
		return "", false
	case mechanism.Retry:
		return "; retry_policy of an Envoy route repeats requests", true
	case mechanism.Hedge:
		return "; hedge_policy of an Envoy route hedges requests", true
	case mechanism.Timeout:
		return "; timeout of an Envoy route bounds requests, per_try_timeout of its retry_policy each attempt", true
	case mechanism.Adaptive:
		return "; the filter adaptive_concurrency of Envoy adapts a limit of concurrent requests", true
	case mechanism.Chaos:
		return "; the filter fault of Envoy injects delays and aborts", true
	}
	return "", true
}

// Check returns an error for each step of a valid document that the filter does not
// perform, at the place of the step. The file names the document. All policies are
// checked: routes of Envoy may select any of them by metadata.
func Check(file string, doc *document.Document) document.Errors {
	var errs document.Errors
	for i := range doc.Policies {
		p := &doc.Policies[i]
		for j := range p.Steps {
			kind := p.Steps[j].Config.Kind()
			key := kind.String()
			if p.Steps[j].Mechanism != "" {
				key = "use"
			}
			e := document.Error{
				File: file, Line: p.Extras[j].Line, Column: p.Extras[j].Column,
				Path: document.JoinPath("policies", p.Name) + ".steps[" + strconv.Itoa(j) + "]." + key,
			}
			if other, refused := instead(kind); refused {
				e.Found = "a step that the filter of a proxy does not perform"
				e.Allowed = "limit, breaker and bulkhead" + other
			} else if what, allowed := shared.Check(&p.Steps[j]); what != "" && doc.Proxy.State == document.ProcessState {
				e.Found, e.Allowed = what, allowed+"; or proxy.state worker"
			} else {
				continue
			}
			errs = append(errs, &e)
		}
	}
	return errs
}
