package lint

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
)

// checkOrder finds, for each step, the steps below it that belong above it, the first
// of each mechanism.
func checkOrder(a *analysis) {
	for i := range a.steps {
		var reported [mechanism.Kinds]bool
		for j := i + 1; j < len(a.steps); j++ {
			upper, lower := &a.steps[i], &a.steps[j]
			rank := a.docs[j].Rank
			if upper.Shadow || lower.Shadow || a.docs[i].Rank <= rank || rank == 0 || reported[lower.Kind()] {
				continue
			}
			if a.rows[j].Traits.Has(mechanism.Repeats) && j != a.retry {
				continue
			}
			reported[lower.Kind()] = true
			a.disorder(i, j, a.retry >= 0 && reported[a.steps[a.retry].Kind()])
		}
		checkTimeoutOrder(a, i)
	}
}

// disorder describes the consequence of step i above step j. Where step i is also
// above the retry, another finding says so, and moving it below the retry is enough.
func (a *analysis) disorder(i, j int, retried bool) {
	upper, lower := &a.steps[i], &a.steps[j]
	severity, rule := Note, Order
	message := fmt.Sprintf("%s is above %s: ", upper.Name, lower.Name)
	waits := a.wait(i) > 0 || a.wait(j) > 0
	above, below := a.rows[i].Traits, a.rows[j].Traits
	switch {
	case below.Has(mechanism.Repeats) && above.Has(mechanism.Holds):
		severity, rule = Warning, HoldsPermit
		message += "a call holds its place while it sleeps between attempts; put it below"
	case below.Has(mechanism.Repeats) && !above.Has(mechanism.Votes):
		severity = Warning
		message += fmt.Sprintf("it counts a call once, whose attempts are up to %d; put it below", a.attempts)
	case below.Has(mechanism.Repeats):
		severity = Warning
		message += "it sees a call once, by its last outcome, and does not end retries while it is open; put it below"
	case waits && !below.Has(mechanism.Votes):
		severity = Warning
		message += "a call that waits for a permit holds a place meanwhile, and one that got a place may be refused; put it below"
	case a.wait(i) > 0:
		severity = Warning
		message += "a call may wait for its turn and then be refused because the breaker is open; put it below"
	case retried:
		return
	default:
		message += "it refunds at once the permits of calls that the other refuses, so the order has no cost; the usual order is the other one"
	}
	a.find(severity, rule, i, message, a.reordered(i, j))
}

// reordered returns the names of the steps with step i behind step j.
func (a *analysis) reordered(i, j int) string {
	names := make([]string, 0, len(a.steps))
	for k := range a.steps {
		if k != i {
			names = append(names, a.steps[k].Name)
		}
		if k == j {
			names = append(names, a.steps[i].Name)
		}
	}
	return "steps: [" + strings.Join(names, ", ") + "]"
}

// checkTimeoutOrder finds timeouts that are between a step that belongs below them
// and one that belongs above them.
func checkTimeoutOrder(a *analysis, i int) {
	if !a.enforced(i, mechanism.Cuts) {
		return
	}
	above, below := -1, -1
	for j := range a.steps {
		switch {
		case a.wait(j) == 0:
		case j < i && above < 0:
			above = j
		case j > i && below < 0 && i > a.retry && a.retry >= 0:
			below = j
		}
	}
	if above >= 0 && i < a.retry {
		a.find(Note, Order, i, fmt.Sprintf("%s begins only after the wait at %s, which it does not bound; to bound the whole call put it first", a.steps[i].Name, a.steps[above].Name), "")
	}
	if below >= 0 {
		a.find(Note, Order, i, fmt.Sprintf("%s bounds the wait at %s too, which leaves an attempt that waited less time to run; to bound the running attempt put it last", a.steps[i].Name, a.steps[below].Name), a.reordered(i, len(a.steps)-1))
	}
}
