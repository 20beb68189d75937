package lint

import (
	"fmt"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
)

// rank is the place of a mechanism in the order from the outside in; timeouts
// have two.
var rank = [mechanism.Kinds]int{pipeline.Retry: 1, pipeline.Breaker: 2, pipeline.Limit: 3, pipeline.Bulkhead: 4}

// checkOrder compares each step with those below it that belong above it, the
// first of each mechanism.
func checkOrder(a *analysis) {
	for i := range a.steps {
		var told [mechanism.Kinds]bool
		for j := i + 1; j < len(a.steps); j++ {
			upper, lower := &a.steps[i], &a.steps[j]
			if upper.Shadow || lower.Shadow || rank[upper.Kind()] <= rank[lower.Kind()] || rank[lower.Kind()] == 0 || told[lower.Kind()] {
				continue
			}
			if lower.Kind() == pipeline.Retry && j != a.retry {
				continue
			}
			told[lower.Kind()] = true
			a.disorder(i, j, told[pipeline.Retry])
		}
		checkTimeoutOrder(a, i)
	}
}

// disorder says what it means that step i stands above step j. Where it stands
// above the retry too, that is said already, and is the one thing to mend.
func (a *analysis) disorder(i, j int, retried bool) {
	upper, lower := &a.steps[i], &a.steps[j]
	severity, rule := Note, Order
	message := fmt.Sprintf("%s stands above %s: ", upper.Name, lower.Name)
	waits := a.wait(i) > 0 || a.wait(j) > 0
	switch {
	case lower.Kind() == pipeline.Retry && upper.Kind() == pipeline.Bulkhead:
		severity, rule = Warning, HoldsPermit
		message += "a call holds its place while it sleeps between attempts; put it below"
	case lower.Kind() == pipeline.Retry && upper.Kind() == pipeline.Limit:
		severity = Warning
		message += fmt.Sprintf("it counts a call once, whose attempts are up to %d; put it below", a.attempts)
	case lower.Kind() == pipeline.Retry:
		severity = Warning
		message += "it sees a call once, by its last outcome, and does not end retries while it is open; put it below"
	case waits && lower.Kind() == pipeline.Limit:
		severity = Warning
		message += "a call that waits for a permit holds a place meanwhile, and one that got a place may be refused; put it below"
	case a.wait(i) > 0:
		severity = Warning
		message += "a call waits its turn only to be refused while the breaker is open; put it below"
	case retried:
		return
	default:
		message += "it gives back at once what the other refuses, so this costs nothing; the usual order is the other one"
	}
	a.find(severity, rule, i, message)
}

// checkTimeoutOrder tells of a timeout with something on both sides that does
// not belong there.
func checkTimeoutOrder(a *analysis, i int) {
	if !a.enforced(i, pipeline.Timeout) {
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
		a.find(Note, Order, i, fmt.Sprintf("%s begins only after the wait at %s, which it does not bound; to bound the whole call it stands first", a.steps[i].Name, a.steps[above].Name))
	}
	if below >= 0 {
		a.find(Note, Order, i, fmt.Sprintf("%s bounds the wait at %s too, which leaves an attempt that waited less time to run; to bound what runs it stands last", a.steps[i].Name, a.steps[below].Name))
	}
}
