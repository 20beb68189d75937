package lint

import (
	"fmt"

	"github.com/sluice-go/sluice/core/chaos"
)

// checkChaos finds steps that inject into real calls.
func checkChaos(a *analysis) {
	for i := range a.steps {
		c, ok := a.steps[i].Config.(chaos.Config)
		if !ok || a.steps[i].Shadow || !c.Injects() {
			continue
		}
		a.find(Warning, Chaos, i, fmt.Sprintf("%s %s: real requests fail or are slow", a.steps[i].Name, a.settings(i)), "chaos: {shadow: true}")
	}
}
