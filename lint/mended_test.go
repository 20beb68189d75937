package lint_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy"
)

// TestMended applies the proposal of each warning to the document: the rule then
// finds less, and the document is still valid.
func TestMended(t *testing.T) {
	var documents []string
	for _, test := range ruleTests {
		documents = append(documents, "policies:\n  p:\n    steps: ["+test.steps+"]\n")
	}
	for _, test := range documentTests {
		documents = append(documents, test.document)
	}
	rules := map[lint.Rule]bool{}
	for _, src := range documents {
		src = "version: 1\n" + src
		before := checkDocument(t, src)
		before.All(func(p *lint.Policy, f *lint.Finding) {
			if f.Reason == "" || f.Message == "" {
				t.Errorf("%s: %s has no reason", src, f.Rule)
			}
			if f.Severity != lint.Warning {
				if f.Mended != "" && f.Rule != lint.Order {
					same, err := mend(src, p, &lint.Finding{Step: f.Step, Mended: "{}"})
					require.NoError(t, err)
					mended, err := mend(src, p, f)
					require.NoError(t, err)
					require.NotEqual(t, string(same), string(mended), "%s [%s]: %s is what it has", f.Message, f.Rule, f.Mended)
				}
				return
			}
			rules[f.Rule] = true
			if f.Mended == "" {
				if f.Rule != lint.DeadRoute && f.Rule != lint.NeverHolds && f.Rule != lint.GRPCAttribute {
					t.Errorf("%s: %s: nothing mended", src, f.Rule)
				}
				return
			}
			mended, err := mend(src, p, f)
			if err != nil {
				t.Fatalf("%s: %s: %v", src, f.Mended, err)
			}
			doc, err := policy.Parse("mended.json", mended)
			if err != nil {
				t.Fatalf("%s\n%s: %v", src, f.Mended, err)
			}
			after := lint.Check(doc)
			if count(&after, f.Rule) >= count(&before, f.Rule) {
				t.Errorf("%s\n%s [%s]: %s leaves it as it was:\n%s", src, f.Message, f.Rule, f.Mended, mended)
			}
		})
	}
	for _, info := range lint.Rules() {
		if info.Severities[0] == lint.Warning && !rules[info.Rule] {
			t.Errorf("no document has a warning of %s", info.Rule)
		}
	}
}

func count(r *lint.Report, rule lint.Rule) (n int) {
	r.All(func(_ *lint.Policy, f *lint.Finding) {
		if f.Rule == rule && f.Severity == lint.Warning {
			n++
		}
	})
	return n
}

// mend returns a document, in JSON, with the proposal of a finding.
func mend(src string, p *lint.Policy, f *lint.Finding) ([]byte, error) {
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(src), &doc); err != nil {
		return nil, err
	}
	text, added := strings.CutPrefix(f.Mended, "- ")
	var change map[string]any
	if err := yaml.Unmarshal([]byte(text), &change); err != nil {
		return nil, err
	}
	if p == nil {
		maps.Copy(doc, change)
		return json.Marshal(doc)
	}
	one := doc["policies"].(map[string]any)[p.Name].(map[string]any)
	steps := one["steps"].([]any)
	at := slices.IndexFunc(p.Steps, func(s lint.Step) bool { return s.Name == f.Step })
	switch order, isOrder := change["steps"].([]any); {
	case isOrder:
		one["steps"] = reorder(p, steps, order)
	case added:
		one["steps"] = append([]any{change}, steps...)
	case at >= 0:
		step := steps[at].(map[string]any)
		maps.Copy(step, merge(step, change))
	default:
		maps.Copy(one, change)
	}
	return json.Marshal(doc)
}

// reorder puts the steps into the order of their names.
func reorder(p *lint.Policy, steps, order []any) []any {
	list := make([]any, len(steps))
	for i := range p.Steps {
		list[slices.Index(order, any(p.Steps[i].Name))] = steps[i]
	}
	return list
}

// merge returns a step with changed settings; a short form becomes a long one.
func merge(step, change map[string]any) map[string]any {
	short := map[string]string{"timeout": "after", "retry": "attempts", "limit": "rate", "bulkhead": "concurrent", "hedge": "after"}
	for kind, value := range change {
		settings, long := step[kind].(map[string]any)
		if !long {
			settings = map[string]any{short[kind]: step[kind]}
		}
		maps.Copy(settings, value.(map[string]any))
		if kind == mechanism.Retry.String() && fmt.Sprint(settings["backoff"]) == "none" {
			delete(settings, "jitter")
		}
		step[kind] = settings
	}
	return step
}
