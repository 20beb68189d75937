package filter

import (
	"strings"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/shared"
	"github.com/sluice-go/sluice/proxywasm/abi"
	"github.com/sluice-go/sluice/reducer"
)

// metrics are the counters of a root. They are added up here and told the proxy by flush,
// as each call of the proxy costs more than a decision.
type metrics struct{ list []metric }

// metric is a counter of a policy.
type metric struct {
	name     metricName
	count    uint64
	told     uint64
	id       abi.Metric
	declared bool
}

// metricName has what the name of a counter consists of.
type metricName struct {
	policy *policy
	step   int // pipeline.NoStep for none
	word   string
	reason reducer.Reason
	shadow bool
}

// text is sluice.POLICY.STEP.WORD.REASON, without what a counter does not have.
func (n *metricName) text() string {
	parts := []string{"sluice", n.policy.Name}
	if n.step != pipeline.NoStep {
		parts = append(parts, n.policy.plan.StepName(n.step))
	}
	word := n.word
	if n.shadow {
		word = "shadow_" + word
	}
	if parts = append(parts, word); n.reason != reducer.NoReason {
		parts = append(parts, n.reason.String())
	}
	return strings.Join(parts, ".")
}

// of returns the counter of a name.
func (m *metrics) of(name metricName) *metric {
	for i := range m.list {
		if m.list[i].name == name {
			return &m.list[i]
		}
	}
	m.list = append(m.list, metric{name: name})
	return &m.list[len(m.list)-1]
}

// decided counts a decision.
func (m *metrics) decided(p *policy, d *decision.Decision) {
	switch d.Kind {
	case decision.Admit:
		p.admitted++
		if d.Reason == reducer.ReasonAllowed {
			m.of(metricName{policy: p, step: pipeline.NoStep, word: d.Kind.String(), reason: d.Reason}).count++
		}
	case decision.Wait, decision.Reject, decision.Expire, decision.Lapse, decision.Clamped:
		m.of(metricName{p, d.Index, d.Kind.String(), d.Reason, d.Shadow}).count++
	}
}

// counts sets the counters of the cells of a step.
func (m *metrics) counts(p *policy, step int, c *shared.Counts) {
	for _, one := range [...]struct {
		word  string
		count uint64
	}{
		{"conflicts", c.Conflicts}, {"exhausted", c.Exhausted}, {"evictions", c.Evictions}, {"shared", c.Shared},
		{"unblocked", c.Unblocked}, {"lost", c.Lost},
	} {
		if one.count > 0 {
			m.of(metricName{policy: p, step: step, word: one.word}).count = one.count
		}
	}
}

// flush tells the proxy what has been counted since the last time.
func (m *metrics) flush(policies []*policy) {
	for _, p := range policies {
		if p.admitted > 0 {
			m.of(metricName{policy: p, step: pipeline.NoStep, word: "admit"}).count = p.admitted
		}
		if p.engine != nil {
			p.engine.count(m)
		}
	}
	for i := range m.list {
		one := &m.list[i]
		if one.count == one.told {
			continue
		}
		if !one.declared {
			var status abi.Status
			if one.id, status = abi.DefineMetric(abi.Counter, one.name.text()); status != abi.OK {
				continue
			}
			one.declared = true
		}
		if one.id.Add(int64(one.count-one.told)) == abi.OK {
			one.told = one.count
		}
	}
}
