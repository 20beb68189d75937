package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
)

// counted returns the steps as guarantees and rules count them: a step that bounds only some
// calls, because it does not apply to all or does not enforce for all, bounds nothing, as in
// shadow. One that makes further attempts makes them for some calls at worst.
func counted(steps []pipeline.Step, adds func(i int) bool) []pipeline.Step {
	list := slices.Clone(steps)
	for i := range list {
		if s := &list[i]; (len(s.When) > 0 || s.Enforce.Partial()) && !adds(i) {
			s.Shadow = true
		}
	}
	return list
}

// chosenText describes which calls a step is for, empty for all.
func chosenText(s *pipeline.Step) (text string) {
	if len(s.When) > 0 {
		text = ", for calls whose " + s.When.String()
	}
	if s.Enforce.Partial() {
		text += ", enforced for " + s.Enforce.Of.String() + " of the calls"
		if s.Enforce.By != "" {
			text += " by " + s.Enforce.By
		}
	}
	return text
}

// checkConditions finds conditions that no call or every call matches, and calls that
// clients let pass themselves.
func checkConditions(a *analysis) {
	allow, deny := a.policy.Allow, a.policy.Deny
	a.checkChoice("deny", deny, "deny refuses every call")
	a.checkChoice("allow", allow, "every call passes without any step")
	for i := range a.steps {
		a.checkWhen(i, slices.Concat(deny, allow))
	}
	for i := range allow {
		one := allow[i : i+1]
		if !never(one) && !everyCall(deny) && implies(one, deny) {
			a.find(Warning, DeniedAllow, -1, fmt.Sprintf("no call passes because %s: deny refuses all of them", one), exceptText(deny, &one[0]))
			continue
		}
		a.checkChosen(&allow[i])
	}
}

// checkChoice checks the allow or the deny of a policy.
func (a *analysis) checkChoice(name string, c condition.Condition, all string) {
	a.checkCases(-1, name, c)
	switch {
	case never(c):
		a.find(Warning, NeverHolds, -1, name+" matches no call: it asks for two values of one attribute", "")
	case everyCall(c):
		a.find(Warning, AlwaysHolds, -1, fmt.Sprintf("%s: each one matches %s", all, c), name+": "+caseText(&c[0]))
	}
}

// checkCases finds what can never match beside what can.
func (a *analysis) checkCases(step int, name string, c condition.Condition) {
	for i := range c {
		if len(c) > 1 && !never(c) && never(c[i:i+1]) {
			a.find(Warning, NeverHolds, step, fmt.Sprintf("%s: no call matches %s: it asks for two values of one attribute", name, c[i:i+1]), "")
		}
	}
	for _, e := range entriesOf(c) {
		for _, value := range e.Values {
			if lower := strings.ToLower(value); e.Attribute == "host" && lower != value {
				a.find(Warning, NeverHolds, step, fmt.Sprintf("%s: no host is %s: a host is compared in lower case, as in %s", name, value, lower), "")
			}
		}
	}
}

// checkWhen checks the condition of a step. Others are the calls that do not reach the steps.
func (a *analysis) checkWhen(i int, others condition.Condition) {
	s := &a.steps[i]
	a.checkCases(i, s.Name, s.When)
	switch {
	case never(s.When):
		a.find(Warning, NeverHolds, i, fmt.Sprintf("%s applies to no call: its when asks for two values of one attribute", s.Name), "")
	case everyCall(s.When):
		a.find(Warning, AlwaysHolds, i, fmt.Sprintf("%s applies to every call: each one matches %s", s.Name, s.When), fmt.Sprintf("%s: {when: %s}", s.Kind(), caseText(&s.When[0])))
	case len(s.When) > 0 && !everyCall(others) && implies(s.When, others):
		a.find(Warning, NeverHolds, i, fmt.Sprintf("%s applies to no call: those that its when matches are denied or allowed before", s.Name), "")
	}
	if s.Enforce.Of.Positive() && !s.Enforce.Partial() {
		a.find(Note, WholeShare, i, fmt.Sprintf("%s enforces for every call, as without the setting", s.Name), fmt.Sprintf("%s: {enforce: 10%%}", s.Kind()))
	}
}

// checkChosen finds a case of an allow that asks for nothing but what clients choose.
func (a *analysis) checkChosen(one *condition.Case) {
	chosen := func(e condition.Entry) bool { return isChosen(e.Attribute) }
	if len(one.All) == 0 || slices.ContainsFunc(one.All, func(e condition.Entry) bool { return !chosen(e) }) {
		return
	}
	var names []string
	for _, e := range one.All {
		names = append(names, e.Attribute)
	}
	a.find(Warning, ChosenAllow, -1, fmt.Sprintf("a client that sends %s itself passes without any step", strings.Join(names, " and ")), "allow: {key: vip}")
}

// adds reports whether a step makes further attempts.
func (a *analysis) adds(i int) bool {
	return a.rows[i].Traits&(mechanism.Repeats|mechanism.Hedges) != 0
}
