// Package config checks that a policy document can be the configuration of the filter for
// Envoy, which performs the steps limit, breaker and bulkhead.
package config

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
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
			} else if what, allowed := separate(&p.Steps[j]); what != "" && doc.Proxy.State == document.ProcessState {
				e.Found, e.Allowed = what, allowed+"; or proxy.state worker"
			} else if n := stateSize(&p.Steps[j]); n > shared.StateSize && doc.Proxy.State == document.ProcessState {
				e.Found = "a step whose state has up to " + strconv.Itoa(n) + " bytes for each key"
				e.Allowed = "beside per at most " + strconv.Itoa(shared.StateSize) + " bytes; or proxy.state worker"
			} else {
				continue
			}
			errs = append(errs, &e)
		}
	}
	return errs
}

// leastLease is the shortest lease of places that workers share: they renew it by a tick.
const leastLease = time.Second

// separate returns what a step has that workers with common cells do not perform, empty for
// nothing, and what is allowed in its place.
func separate(s *pipeline.Step) (found, allowed string) {
	order := limiter.Oldest
	switch c := s.Config.(type) {
	case limiter.Config:
		order = c.Order
	case bulkhead.Config:
		order = c.Order
		if c.Lease > 0 && c.Lease < leastLease {
			return "a step with the lease " + c.Lease.String(), "a lease of at least " + leastLease.String()
		}
	}
	if order == limiter.Newest {
		return "a step with the order newest, whose queue is one of all workers", "order oldest"
	}
	return "", ""
}

// stateSize returns the most bytes of the state of a step with keys, 0 for one without.
func stateSize(s *pipeline.Step) int {
	if len(s.Per) == 0 {
		return 0
	}
	maker := shared.Maker(shared.Form(*s))
	if maker == nil {
		return 0
	}
	return maker.MaxSize()
}
