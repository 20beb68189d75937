package lint

import (
	"fmt"

	"github.com/sluice-go/sluice/policy/document"
)

// checkProxyWaits describes the waits of a policy in a proxy whose workers share cells.
func checkProxyWaits(p *document.Policy) (findings []Finding) {
	a := newAnalysis(p)
	for i := range a.steps {
		queue, _ := a.queue(i)
		if queue == 0 {
			continue
		}
		means := "a wait asks again with each tick until a place is free"
		if waits := a.docs[i].Waits; waits != nil {
			means = waits(a.steps[i].Config)
		}
		line, column := a.place(i)
		findings = append(findings, Finding{
			Severity: Note, Rule: ProxyWait, Step: a.steps[i].Name, Line: line, Column: column,
			Message: fmt.Sprintf("in a proxy with state: process %s, and the queue of %d is that of each worker", means, queue),
			Reason:  reasonOf(ProxyWait), Mended: "proxy: {state: worker}",
		})
	}
	return findings
}
