package lint

import (
	"fmt"

	"github.com/sluice-go/sluice/core/mechanism"
)

// checkQueues finds waits that a timeout cuts.
func checkQueues(a *analysis) {
	for i := range a.steps {
		a.checkSum(i)
	}
}

// checkSum finds timeouts that the waits below them can use up together. A single
// wait that does so is another finding.
func (a *analysis) checkSum(i int) {
	if !a.enforced(i, mechanism.Cuts) {
		return
	}
	after, sum := a.after(i), a.waits(i)
	for j := i + 1; j < len(a.steps); j++ {
		if a.wait(j) >= after {
			return
		}
	}
	if sum < after || sum == forever {
		return
	}
	terms := ""
	for j := i + 1; j < len(a.steps); j++ {
		if wait := a.wait(j); wait > 0 {
			if terms != "" {
				terms += " + "
			}
			terms += fmt.Sprintf("%s (%s)", Duration(wait), a.steps[j].Name)
		}
	}
	a.find(Warning, LateWaits, i, fmt.Sprintf("an attempt may wait for %s, and %s cuts after %s", terms, a.steps[i].Name, Duration(after)),
		fmt.Sprintf("timeout: {after: %s}", Duration(mechanism.Plus(sum, sum))))
}
