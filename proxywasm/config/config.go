// Package config checks that a policy document can be the configuration of the filter for
// Envoy, which performs steps that ask a cell before a request and learn its outcome.
package config

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/proxywasm/cells"
)

// performs reports whether the filter performs a mechanism: it asks cells, and measures no
// attempts.
func performs(row *mechanism.Row) bool {
	return row.Traits.Has(mechanism.Asks) && !row.Traits.Has(mechanism.Observes)
}

// performed names the mechanisms that the filter performs, in a sentence.
func performed() (text string) {
	var names []string
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		if row := mechanisms.Row(k); performs(row) {
			names = append(names, k.String())
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
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
			row, key := mechanisms.Row(kind), kind.String()
			if p.Steps[j].Mechanism != "" {
				key = "use"
			}
			e := document.Error{
				File: file, Line: p.Extras[j].Line, Column: p.Extras[j].Column,
				Path: document.JoinPath("policies", p.Name) + ".steps[" + strconv.Itoa(j) + "]." + key,
			}
			if !performs(row) {
				e.Found, e.Allowed = "a step that the filter of a proxy does not perform", performed()
				if row.Envoy != "" {
					e.Allowed += "; " + row.Envoy
				}
			} else if what, allowed := separate(row, &p.Steps[j]); what != "" && doc.Proxy.State == document.ProcessState {
				e.Found, e.Allowed = what, allowed+"; or proxy.state worker"
			} else if n := stateSize(&p.Steps[j]); n > cells.StateSize && doc.Proxy.State == document.ProcessState {
				e.Found = "a step whose state has up to " + strconv.Itoa(n) + " bytes for each key"
				e.Allowed = "beside per at most " + strconv.Itoa(cells.StateSize) + " bytes; or proxy.state worker"
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
func separate(row *mechanism.Row, s *pipeline.Step) (found, allowed string) {
	if row.Lease != nil {
		if lease := row.Lease(s.Config); lease > 0 && lease < leastLease {
			return "a step with the lease " + lease.String(), "a lease of at least " + leastLease.String()
		}
	}
	if row.Queue != nil && row.Queue(s.Config).Newest {
		return "a step with the order newest, whose queue is one of all workers", "order oldest"
	}
	return "", ""
}

// stateSize returns the most bytes of the state of a step with keys, 0 for one without.
func stateSize(s *pipeline.Step) int {
	if len(s.Per) == 0 {
		return 0
	}
	maker := cells.Maker(cells.Form(*s))
	if maker == nil {
		return 0
	}
	return maker.MaxSize()
}
