package lint

import (
	"cmp"
	"slices"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/document"
)

// Check analyses a document.
func Check(doc *document.Document) Report {
	report := Report{Policies: make([]Policy, 0, len(doc.Policies)), Findings: checkRoutes(doc)}
	used := map[string]bool{doc.HTTP.Default: true}
	for i := range doc.Routes {
		used[doc.Routes[i].Policy] = true
	}
	for i := range doc.Policies {
		used[doc.Policies[i].Extends] = true
	}
	report.Findings = append(report.Findings, checkDefaults(doc)...)
	report.Findings = append(report.Findings, checkMechanisms(doc)...)
	crossed := holdingsOf(doc)
	for i := range doc.Policies {
		p := &doc.Policies[i]
		one := CheckPolicy(p)
		one.Findings = append(one.Findings, checkCrossed(p, crossed)...)
		if len(doc.Routes) > 0 && !used[p.Name] {
			one.Findings = append(one.Findings, Finding{
				Severity: Note, Rule: Unused, Line: p.Line, Column: p.Column,
				Message: "no route leads to this policy", Reason: reasonOf(Unused),
			})
		}
		if doc.Proxy.Stated && doc.Proxy.State == document.ProcessState {
			one.Findings = append(one.Findings, checkProxyWaits(p)...)
		}
		for j := range one.Steps {
			one.Steps[j].SharedWith = usersOf(doc, one.Steps[j].Shared, p)
		}
		report.Policies = append(report.Policies, one)
	}
	return report
}

// usersOf returns the policies that use a mechanism of the document beside another one.
func usersOf(doc *document.Document, name string, beside *document.Policy) (list []string) {
	for i := range doc.Policies {
		p := &doc.Policies[i]
		if name != "" && p != beside && slices.ContainsFunc(p.Steps, func(s pipeline.Step) bool { return s.Mechanism == name }) {
			list = append(list, p.Name)
		}
	}
	return list
}

// checkMechanisms finds mechanisms that no step uses.
func checkMechanisms(doc *document.Document) (list []Finding) {
	for i := range doc.Mechanisms {
		if m := &doc.Mechanisms[i]; usersOf(doc, m.Name, nil) == nil {
			list = append(list, Finding{
				Severity: Note, Rule: UnusedMechanism, Line: m.Line, Column: m.Column,
				Message: "no policy uses the mechanism " + m.Name, Reason: reasonOf(UnusedMechanism),
			})
		}
	}
	return list
}

// checkDefaults finds defaults that no step takes.
func checkDefaults(doc *document.Document) (list []Finding) {
	for _, d := range doc.Defaults {
		if d.Steps == 0 {
			list = append(list, Finding{
				Severity: Note, Rule: UnusedDefaults, Line: d.Line, Column: d.Column,
				Message: "no step takes the defaults of " + d.Kind.String(), Reason: reasonOf(UnusedDefaults),
			})
		}
	}
	return list
}

// CheckPolicy analyses one policy.
func CheckPolicy(p *document.Policy) Policy {
	a := newAnalysis(p)
	for _, rule := range []func(*analysis){
		checkOrder, checkTimeouts, checkWaits, checkQueues, checkHeld, checkRetry, checkMethods, checkBudget, checkMechanism, checkNeverBinds,
		checkKeys, checkLeases, checkOutcomes, checkFallback, checkNames, checkShadow, checkConditions,
	} {
		rule(a)
	}
	slices.SortStableFunc(a.findings, func(f, g Finding) int {
		return cmp.Or(cmp.Compare(g.Severity, f.Severity), cmp.Compare(f.Line, g.Line), cmp.Compare(f.Column, g.Column))
	})
	one := Policy{
		Name: p.Name, Description: p.Description, Line: p.Line, Column: p.Column,
		Steps:      make([]Step, 0, len(p.Steps)),
		Guarantees: a.guarantees(),
		Findings:   append([]Finding{}, a.findings...),
	}
	one.Allow, one.Deny = p.Allow.String(), p.Deny.String()
	if p.Fallback != nil {
		one.Fallback = &Fallback{Status: p.Fallback.Status, Body: p.Fallback.Body}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		line, column := a.place(i)
		description := ""
		if i < len(p.Extras) {
			description = p.Extras[i].Description
		}
		one.Steps = append(one.Steps, Step{
			Name: s.Name, Description: description, Mechanism: s.Kind().String(), Settings: a.settings(i),
			Per: orEmpty(s.Per), Shadow: s.Shadow, EachAttempt: a.each(i), Shared: s.Mechanism, Line: line, Column: column,
		})
	}
	return one
}

// each reports whether a step is below a retry or a hedge.
func (a *analysis) each(i int) bool {
	return slices.ContainsFunc(a.rows[:i], func(r *mechanism.Row) bool {
		return r.Traits&(mechanism.Repeats|mechanism.Hedges) != 0
	})
}

// place returns where the document has a step.
func (a *analysis) place(i int) (line, column int) {
	if i < 0 || i >= len(a.policy.Extras) {
		return a.policy.Line, a.policy.Column
	}
	return a.policy.Extras[i].Line, a.policy.Extras[i].Column
}

// find adds a finding about a step; -1 is the policy. Mended is a part of a document
// without the finding, empty for none.
func (a *analysis) find(severity Severity, rule Rule, i int, message, mended string) {
	f := Finding{Severity: severity, Rule: rule, Message: message, Reason: reasonOf(rule), Mended: mended}
	f.Line, f.Column = a.place(i)
	if i >= 0 {
		f.Step = a.steps[i].Name
	}
	a.findings = append(a.findings, f)
}

// orEmpty avoids null in JSON.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
