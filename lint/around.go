package lint

import (
	"time"

	"github.com/sluice-go/sluice/core/pipeline"
)

// checkMechanism finds what concerns the mechanism of a step alone.
func checkMechanism(a *analysis) {
	for i := range a.steps {
		if lint := a.docs[i].Lint; lint != nil {
			lint(a.steps[i].Config, around{a, i})
		}
	}
}

// around implements mechanism.Around for step i.
type around struct {
	a *analysis
	i int
}

func (p around) step() *pipeline.Step { return &p.a.steps[p.i] }

func (p around) Name() string     { return p.step().Name }
func (p around) Settings() string { return p.a.settings(p.i) }
func (p around) Enforced() bool   { return !p.step().Shadow }
func (p around) Keyed() bool      { return len(p.step().Per) > 0 }
func (p around) AboveRetry() bool { return p.i < p.a.retry }
func (p around) Bounded() bool    { return p.a.bounded(p.i) }
func (p around) Timed() bool      { return p.a.timed(p.i) }

func (p around) Run() time.Duration { return p.a.longestRun(p.i) }

func (p around) Started(window time.Duration) uint64 {
	return p.a.started(scope(p.step().Per), window)
}

func (p around) Warn(rule, message, mended string) {
	p.a.find(Warning, Rule(rule), p.i, message, mended)
}

func (p around) Note(rule, message, mended string) {
	p.a.find(Note, Rule(rule), p.i, message, mended)
}
