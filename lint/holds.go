package lint

import (
	"encoding/json"
	"slices"

	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/keyed"
)

// Whether conditions hold for all calls, for none, and whenever others do. Calls differ to
// conditions in the values that these name: with them, the missing value and one that no
// condition names, every kind of call is there. An address differs in the prefixes that it
// lies in: the least address of each kind is the first one of a prefix, or the one behind
// the last of another.

// mostKinds is the most kinds of calls that are looked at; of conditions with more
// nothing is said.
const mostKinds = 20_000

// valuesBy returns the values of an attribute that differ to the entries.
func valuesBy(attribute string, entries []condition.Entry) []string {
	list := []string{"", "-"} // the second one is no address, either
	for i := range entries {
		if e := &entries[i]; e.Attribute == attribute {
			list = append(list, e.Values...)
		}
	}
	if attribute == keyed.IP {
		return addressesOf(list)
	}
	for slices.Contains(list[2:], list[1]) {
		list[1] += "-"
	}
	return list
}

// addressesOf returns the addresses that differ to prefixes: those at which one begins, or
// another has ended. Texts that are no prefixes stay as they are.
func addressesOf(texts []string) (list []string) {
	for _, text := range append(texts, "0.0.0.0/0") { // which ::/0 has not
		p, ok := keyed.ParsePrefix(text)
		if !ok {
			list = append(list, text)
			continue
		}
		first := p.First()
		list = append(list, first.Text(32, 128))
		if next, ok := p.Next(); ok {
			list = append(list, next.Text(32, 128))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// entriesOf returns all entries of conditions.
func entriesOf(conditions ...condition.Condition) (all []condition.Entry) {
	for _, c := range conditions {
		for i := range c {
			all = append(append(all, c[i].All...), c[i].None...)
		}
	}
	return all
}

// tested compiles a condition. The conditions of a document are valid.
func tested(c condition.Condition) condition.Test {
	test, _ := condition.New("when", c)
	return test
}

// everywhere reports whether holds is true of every kind of call by which the conditions
// differ, and false where there are too many of them.
func everywhere(holds func(lookup func(attribute string) string) bool, conditions ...condition.Condition) bool {
	entries, kinds := entriesOf(conditions...), 1
	var names []string
	var values [][]string
	for _, e := range entries {
		if slices.Contains(names, e.Attribute) {
			continue
		}
		list := valuesBy(e.Attribute, entries)
		names, values = append(names, e.Attribute), append(values, list)
		if kinds *= len(list); kinds > mostKinds {
			return false
		}
	}
	for kind := range kinds {
		if !holds(func(attribute string) string {
			rest := kind
			for i, name := range names {
				if name == attribute {
					return values[i][rest%len(values[i])]
				}
				rest /= len(values[i])
			}
			return ""
		}) {
			return false
		}
	}
	return true
}

// everyCall reports whether every call matches a condition.
func everyCall(c condition.Condition) bool {
	test := tested(c)
	return len(c) > 0 && everywhere(test.Matches, c)
}

// implies reports whether every call that matches a condition matches another one.
func implies(c, other condition.Condition) bool {
	if len(other) == 0 {
		return false
	}
	one, two := tested(c), tested(other)
	return everywhere(func(lookup func(string) string) bool { return !one.Matches(lookup) || two.Matches(lookup) }, c, other)
}

// never reports whether no call can match a condition: in each of its cases no value of an
// attribute meets all that the case asks of it.
func never(c condition.Condition) bool {
	return len(c) > 0 && !slices.ContainsFunc(c, func(one condition.Case) bool { return !contradicts(&one) })
}

func contradicts(c *condition.Case) bool {
	return slices.ContainsFunc(c.All, func(e condition.Entry) bool {
		of := func(entries []condition.Entry) (list []condition.Entry) {
			for _, other := range entries {
				if other.Attribute == e.Attribute {
					list = append(list, other)
				}
			}
			return list
		}
		all, none := of(c.All), of(c.None)
		test := tested(condition.Condition{{All: all, None: none}})
		return !slices.ContainsFunc(valuesBy(e.Attribute, slices.Concat(all, none)), func(value string) bool {
			return test.Matches(func(string) string { return value })
		})
	})
}

// caseText writes a case as a document does.
func caseText(c *condition.Case) string {
	text, _ := json.Marshal(mapOf(c))
	return string(text)
}

func mapOf(c *condition.Case) map[string]any {
	entries := func(list []condition.Entry) map[string]any {
		m := map[string]any{}
		for _, e := range list {
			m[e.Attribute] = e.Values
		}
		return m
	}
	m := entries(c.All)
	if len(c.None) > 0 {
		m["not"] = entries(c.None)
	}
	return m
}

// exceptText writes a deny without the calls that a case of an allow asks for; nothing
// where the case asks for none.
func exceptText(deny condition.Condition, allow *condition.Case) string {
	if len(allow.All) == 0 {
		return ""
	}
	list := make([]map[string]any, len(deny))
	for i := range deny {
		one := condition.Case{All: deny[i].All, None: slices.Clone(deny[i].None)}
		for _, e := range allow.All {
			j := slices.IndexFunc(one.None, func(other condition.Entry) bool { return other.Attribute == e.Attribute })
			if j < 0 {
				one.None = append(one.None, e)
				continue
			}
			one.None[j].Values = slices.Clone(one.None[j].Values)
			for _, value := range e.Values {
				if !slices.Contains(one.None[j].Values, value) {
					one.None[j].Values = append(one.None[j].Values, value)
				}
			}
		}
		list[i] = mapOf(&one)
	}
	text, _ := json.Marshal(list)
	return "deny: " + string(text)
}
