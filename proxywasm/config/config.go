// Package config checks that a policy document can be the configuration of the filter for
// Envoy, which performs steps that ask a cell before a request and learn its outcome.
package config

import (
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/shared"
	"github.com/sluice-go/sluice/policy/document"
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
			facts, key := mechanisms.Facts(kind), kind.String()
			if p.Steps[j].Mechanism != "" {
				key = "use"
			}
			e := document.Error{
				File: file, Line: p.Extras[j].Line, Column: p.Extras[j].Column,
				Path: document.JoinPath("policies", p.Name) + ".steps[" + strconv.Itoa(j) + "]." + key,
			}
			if !performs(mechanisms.Row(kind)) {
				e.Found, e.Allowed = "a step that the filter of a proxy does not perform", performed()
				if facts.Envoy != "" {
					e.Allowed += "; " + facts.Envoy
				}
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
