package lint

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/policy/document"
)

// settings describes a step in one line, defaults included.
func (a *analysis) settings(i int) string {
	s := &a.steps[i]
	text := a.docs[i].Describe(s.Config, mechanism.Step{First: i == 0, EachAttempt: a.each(i), Methods: a.methods(i)})
	if len(s.Per) > 0 {
		text += ", per " + strings.Join(s.Per, " and ")
	}
	text += chosenText(s)
	if a.policy.Steps[i].Shadow {
		text += ", in shadow mode"
	}
	return text
}

// methods returns the methods that a step repeats, nil where these are the
// default ones.
func (a *analysis) methods(i int) []string {
	var methods []string
	switch traits := a.rows[i].Traits; {
	case traits.Has(mechanism.Repeats):
		methods = a.policy.Methods
	case traits.Has(mechanism.Hedges):
		methods = a.policy.HedgeMethods
	}
	if slices.Equal(methods, document.DefaultMethods()) {
		return nil
	}
	return methods
}
