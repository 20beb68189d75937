package lint

import (
	"fmt"

	"github.com/sluice-go/sluice/core/mechanism"
)

// timed reports whether a timeout bounds the attempts of a step: one above it, or one below
// it that no retry or hedge repeats.
func (a *analysis) timed(i int) bool {
	for j := range a.steps {
		if j > i && (j == a.retry || j == a.hedge) {
			return false
		}
		if a.enforced(j, mechanism.Cuts) {
			return true
		}
	}
	return false
}

// checkLeases finds leases that may expire while an attempt still runs.
func checkLeases(a *analysis) {
	for i := range a.steps {
		if a.steps[i].Shadow || a.facts[i].Lease == nil {
			continue
		}
		lease := a.facts[i].Lease(a.steps[i].Config)
		if lease == 0 {
			continue
		}
		more := "the limit"
		// A number of places that does not adapt is the short form.
		if short := a.rows[i].Short; short != "" {
			if places, ok := a.docs[i].Draft(a.steps[i].Config).Field(short).(*uint32); ok {
				more = mechanism.Number(*places)
			}
		}
		held := a.within(a.between(i+1, len(a.steps), forever), i)
		if i < max(a.retry, a.hedge) {
			held = a.within(forever, i)
		}
		if lease < held {
			a.find(Note, ShortLease, i, fmt.Sprintf("the lease of %s runs out on an attempt that lasts longer without renewing it: then more than %s run at once", Duration(lease), more), "")
		}
	}
}

// checkNames finds mechanisms with several unnamed steps.
func checkNames(a *analysis) {
	var first [mechanism.Kinds]int
	for i := range a.steps {
		s := &a.steps[i]
		if i < len(a.policy.Extras) && a.policy.Extras[i].Named {
			continue
		}
		before := first[s.Kind()] - 1
		if before < 0 {
			first[s.Kind()] = i + 1
			continue
		}
		if !a.rows[i].Traits.Has(mechanism.Keyed) {
			a.find(Note, Unnamed, i, fmt.Sprintf("another timeout without a name: it is %s in the log; a name would say what it bounds", s.Name), s.Kind().String()+": {name: "+letter(s.Kind(), i)+"}")
			continue
		}
		a.find(Warning, Unnamed, i, fmt.Sprintf("another %s without a name: %s and %s are identified by their positions, and swap states when these change; name them", s.Kind(), a.steps[before].Name, s.Name), s.Kind().String()+": {name: "+letter(s.Kind(), i)+"}")
	}
}

// letter is a name for the step at an index; it is not a default name.
func letter(k mechanism.Kind, i int) string { return k.String() + "-" + string(rune('a'+i)) }

// checkShadow finds steps that enforce nothing.
func checkShadow(a *analysis) {
	for i := range a.steps {
		if a.policy.Steps[i].Shadow {
			a.find(Note, Shadow, i, fmt.Sprintf("%s enforces nothing: it is in shadow mode, and no guarantee counts on it", a.steps[i].Name), "")
		}
	}
}
