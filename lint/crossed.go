package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/policy/document"
)

// holding is a pair of shared mechanisms: calls of a policy have a place of the one while they
// wait for a place of the other.
type holding struct{ has, waits string }

// holdings are the pairs of a document, each with the first policy that has it.
type holdings map[holding]string

// sharedPlaces returns the indices of the steps whose places shared mechanisms give.
func (a *analysis) sharedPlaces() (list []int) {
	for i := range a.steps {
		if a.steps[i].Mechanism != "" && a.enforced(i, mechanism.Holds) {
			list = append(list, i)
		}
	}
	return list
}

// pairs calls f for each two steps of which a call has a place of the first while it waits at the
// second.
func (a *analysis) pairs(f func(has, waits int)) {
	list := a.sharedPlaces()
	for n, waits := range list {
		if places, _ := a.queue(waits); places > 0 {
			for _, has := range list[:n] {
				f(has, waits)
			}
		}
	}
}

func holdingsOf(doc *document.Document) holdings {
	all := holdings{}
	for i := range doc.Policies {
		a := newAnalysis(&doc.Policies[i])
		a.pairs(func(has, waits int) {
			h := holding{a.steps[has].Mechanism, a.steps[waits].Mechanism}
			if _, known := all[h]; !known {
				all[h] = doc.Policies[i].Name
			}
		})
	}
	return all
}

// way returns the policies whose calls have places of one mechanism and wait, perhaps through
// others, for places of another one; nil for none. The first way in the order of names.
func (all holdings) way(from, to string) (policies []string) {
	pairs := make([]holding, 0, len(all))
	for h := range all {
		pairs = append(pairs, h)
	}
	slices.SortFunc(pairs, func(g, h holding) int { return cmp.Or(cmp.Compare(g.has, h.has), cmp.Compare(g.waits, h.waits)) })
	came, next := map[string][]string{from: {}}, []string{from}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, h := range pairs {
			if _, been := came[h.waits]; h.has != at || been {
				continue
			}
			came[h.waits] = append(slices.Clone(came[at]), all[h])
			if h.waits == to {
				return came[to]
			}
			next = append(next, h.waits)
		}
	}
	return nil
}

// checkCrossed finds shared mechanisms of which calls have places while they wait for each
// other's.
func checkCrossed(p *document.Policy, all holdings) []Finding {
	if len(all) < 2 {
		return nil
	}
	a := newAnalysis(p)
	a.pairs(func(has, waits int) {
		one, other := a.steps[has].Mechanism, a.steps[waits].Mechanism
		others := all.way(other, one)
		if others == nil {
			return
		}
		until := "for ever"
		if wait := a.wait(waits); wait < forever {
			until = fmt.Sprintf("for %s", Duration(wait))
		}
		slices.Sort(others)
		a.find(Warning, CrossedPlaces, waits, fmt.Sprintf("a call has a place of %s and waits %s for one of %s; calls of %s have one of %s while they wait for one of %s: all of them can wait for each other; take them in one order everywhere",
			one, until, other, strings.Join(slices.Compact(others), " and "), other, one), a.before(waits, has))
	})
	return a.findings
}

// before returns the names of the steps with step i moved before step j, which is above it.
func (a *analysis) before(i, j int) string {
	names := make([]string, len(a.steps))
	for k := range a.steps {
		names[k] = a.steps[k].Name
	}
	names = slices.Insert(slices.Delete(names, i, i+1), j, a.steps[i].Name)
	return "steps: [" + strings.Join(names, ", ") + "]"
}
