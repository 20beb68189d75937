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

// never reports whether no call can match a condition: in each of its cases an attribute has
// two lists of values without a common one.
func never(c condition.Condition) bool {
	return len(c) > 0 && !slices.ContainsFunc(c, func(one condition.Case) bool { return !contradicts(&one) })
}

func contradicts(c *condition.Case) bool {
	for i := range c.All {
		e := &c.All[i]
		if e.Attribute == condition.IP {
			continue
		}
		if !slices.ContainsFunc(e.Values, func(value string) bool { return allows(c, e.Attribute, value) }) {
			return true
		}
	}
	return false
}

// allows reports whether a call of a value of an attribute may match a case.
func allows(c *condition.Case, attribute, value string) bool {
	has := func(e condition.Entry) bool { return e.Attribute == attribute && slices.Contains(e.Values, value) }
	for i := range c.All {
		if c.All[i].Attribute == attribute && !has(c.All[i]) {
			return false
		}
	}
	return !slices.ContainsFunc(c.None, has)
}

// checkConditions finds conditions that no call matches, and calls that clients let pass
// themselves.
func checkConditions(a *analysis) {
	for i := range a.steps {
		if s := &a.steps[i]; never(s.When) {
			a.find(Warning, NeverHolds, i, fmt.Sprintf("%s applies to no call: its when asks for two values of one attribute", s.Name), "")
		}
	}
	for _, one := range a.policy.Allow {
		chosen := func(e condition.Entry) bool { return isChosen(e.Attribute) }
		if len(one.All) == 0 || slices.ContainsFunc(one.All, func(e condition.Entry) bool { return !chosen(e) }) {
			continue
		}
		var names []string
		for _, e := range one.All {
			names = append(names, e.Attribute)
		}
		a.find(Warning, ChosenAllow, -1, fmt.Sprintf("a client that sends %s itself passes without any step", strings.Join(names, " and ")), "allow: {key: vip}")
	}
}

// adds reports whether a step makes further attempts.
func (a *analysis) adds(i int) bool {
	return a.rows[i].Traits&(mechanism.Repeats|mechanism.Hedges) != 0
}
