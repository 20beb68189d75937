package filter

import (
	"strconv"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/policy/document"
)

// Check returns what a document has that the filter cannot do, nil where it can do all.
// The errors are those of a reader, with their places.
func Check(doc *document.Document) (wrong document.Errors) {
	for i := range doc.Policies {
		p := &doc.Policies[i]
		for k := range p.Steps {
			kind := p.Steps[k].Kind()
			allowed := ""
			switch kind {
			case mechanism.Retry:
				allowed = "no retry in a proxy: the retry policy of the proxy's route repeats requests"
			case mechanism.Hedge:
				allowed = "no hedge in a proxy: the hedge policy of the proxy's route does that"
			case mechanism.Timeout:
				allowed = "no timeout in a proxy: the timeout of the proxy's route does that"
			case mechanism.Adaptive:
				if doc.Proxy.State == document.WorkerState {
					continue
				}
				allowed = "an adaptive limit in a proxy with proxy.state worker alone: its state is the worker's own"
			default:
				continue
			}
			at := p.Extras[k]
			wrong = append(wrong, &document.Error{File: "policy", Line: at.Line, Column: at.Column,
				Path:  "policies." + p.Name + ".steps[" + strconv.Itoa(k) + "]." + kind.String(),
				Found: "a step " + kind.String(), Allowed: allowed})
		}
	}
	return wrong
}
