package condition

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/reducer"
)

// Bounds of a condition.
const (
	// MaxCases is the most cases of a condition.
	MaxCases = 16
	// MaxEntries is the most entries of a case.
	MaxEntries = 16
	// MaxValues is the most values of an entry.
	MaxValues = 1_000
)

// Entry matches a call whose attribute has one of the values.
type Entry struct {
	// Attribute is "key" or, as in "header:x-plan", whatever the host offers.
	Attribute string
	// Values are 1 to MaxValues. A call without the attribute has the empty one.
	Values []string
}

// Case matches a call that all entries of All match, and none of None.
type Case struct {
	All, None []Entry
}

// Condition matches a call that one of its cases matches. Without a case there is no
// condition.
type Condition []Case

// Test is a compiled condition, immutable. The zero value has no condition.
type Test struct{ cases []test }

// test is a compiled case.
type test struct{ all, none []entry }

// entry is a compiled entry: one for ip has the prefixes, and one for a credential the one
// form of each.
type entry struct {
	*Entry
	prefixes    []keyed.Prefix
	credentials []string
}

const valuesText = "1 to 1000 values; of ip an address, a prefix, or the empty text"

// New compiles a condition. It keeps the condition. The error is a reducer.ConfigError of
// the field.
func New(field string, c Condition) (t Test, err error) {
	if len(c) > MaxCases {
		return t, reducer.BadCount(field, uint64(len(c)), "at most 16 cases")
	}
	for i := range c {
		if n := len(c[i].All) + len(c[i].None); n == 0 || n > MaxEntries {
			return t, reducer.BadCount(field, uint64(n), "cases of 1 to 16 attributes")
		}
		var to test
		for _, part := range [...]struct {
			from []Entry
			to   *[]entry
		}{{c[i].All, &to.all}, {c[i].None, &to.none}} {
			for j := range part.from {
				x, ok := compile(&part.from[j])
				if !ok {
					return t, reducer.BadCount(field, uint64(len(x.Values)), valuesText)
				}
				*part.to = append(*part.to, x)
			}
		}
		t.cases = append(t.cases, to)
	}
	return t, nil
}

// compile reads the prefixes and the credentials of an entry.
func compile(e *Entry) (x entry, ok bool) {
	x.Entry = e
	if len(e.Values) == 0 || len(e.Values) > MaxValues {
		return x, false
	}
	if keyed.IsCredential(e.Attribute) {
		for _, text := range e.Values {
			x.credentials = append(x.credentials, keyed.Credential(text))
		}
		return x, true
	}
	if e.Attribute != keyed.IP {
		return x, true
	}
	for _, text := range e.Values {
		if text == "" {
			continue
		}
		p, ok := keyed.ParsePrefix(text)
		if !ok {
			return x, false
		}
		x.prefixes = append(x.prefixes, p)
	}
	return x, true
}

// Some reports whether there is a condition.
func (t *Test) Some() bool { return len(t.cases) > 0 }

// Matches reports whether the call whose attributes lookup returns matches. A missing
// attribute is empty.
func (t *Test) Matches(lookup func(attribute string) string) bool {
	for i := range t.cases {
		if c := &t.cases[i]; are(c.all, lookup, true) && are(c.none, lookup, false) {
			return true
		}
	}
	return false
}

// are reports whether all entries match, or none does.
func are(entries []entry, lookup func(attribute string) string, match bool) bool {
	for i := range entries {
		if entries[i].matches(lookup(entries[i].Attribute)) != match {
			return false
		}
	}
	return true
}

func (e *entry) matches(value string) bool {
	if e.credentials != nil {
		return slices.Contains(e.credentials, keyed.Credential(value))
	}
	if e.Attribute != keyed.IP || value == "" {
		return slices.Contains(e.Values, value)
	}
	client, ok := keyed.ParseClient(value)
	return ok && slices.ContainsFunc(e.prefixes, func(p keyed.Prefix) bool { return p.Contains(client.Address) })
}

// Attributes returns the attributes that the condition names, each once, in the order in
// which they come.
func (c Condition) Attributes() (names []string) {
	for i := range c {
		for _, entries := range [...][]Entry{c[i].All, c[i].None} {
			for j := range entries {
				if !slices.Contains(names, entries[j].Attribute) {
					names = append(names, entries[j].Attribute)
				}
			}
		}
	}
	return names
}

// String returns the condition for people, as in "header:plan is free or trial, method is
// not GET; or key is admin".
func (c Condition) String() string {
	cases := make([]string, len(c))
	for i := range c {
		parts := textsOf(nil, c[i].All, " is ")
		cases[i] = strings.Join(textsOf(parts, c[i].None, " is not "), ", ")
	}
	return strings.Join(cases, "; or ")
}

// mostShown is how many values of an entry a text has.
const mostShown = 8

func textsOf(parts []string, entries []Entry, verb string) []string {
	for i := range entries {
		e := &entries[i]
		shown := slices.Clone(e.Values[:min(len(e.Values), mostShown)])
		for j := range shown {
			if shown[j] == "" {
				shown[j] = "missing"
			}
		}
		if len(shown) < len(e.Values) {
			shown = append(shown, "another value")
		}
		parts = append(parts, e.Attribute+verb+strings.Join(shown, " or "))
	}
	return parts
}

// Sort puts entries in the order of their attributes, in which equal conditions are equal.
func Sort(entries []Entry) []Entry {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Attribute, b.Attribute) })
	return entries
}

// And returns the condition with more entries in every one of its cases, of attributes that
// it does not have.
func (c Condition) And(all, none []Entry) Condition {
	if len(c) == 0 {
		return Condition{{All: all, None: none}}
	}
	both := make(Condition, len(c))
	for i := range c {
		both[i] = Case{All: Sort(slices.Concat(c[i].All, all)), None: Sort(slices.Concat(c[i].None, none))}
	}
	return both
}

// Share is the calls of a step that it enforces for. The zero value is all.
type Share struct {
	// Of all calls: more than 0, at most the whole.
	Of reducer.Share
	// By is the attribute whose value decides. Empty: the seed of the call does, as it
	// does where the value is missing.
	By string
}

// Check returns an error that names the field and what is allowed.
func (s Share) Check(field string) error {
	if s.Of.Millionths() > reducer.Whole || s.By != "" && !s.Of.Positive() {
		return reducer.BadShare(field, s.Of, "more than 0%, at most 100%")
	}
	return nil
}

// Partial reports whether the share is less than all calls.
func (s Share) Partial() bool { return s.Of.Positive() && s.Of.Millionths() < reducer.Whole }

// Has reports whether a value of the attribute belongs to the share of the step of a name.
func (s Share) Has(step, value string) bool {
	return uint32(uint64(hash(step, keyed.Key(s.By, value)))*reducer.Whole>>32) < s.Of.Millionths()
}

// Word returns what separates the random words of the steps of a call: the word of a step of a
// name.
func Word(step string) uint64 { return uint64(hash(step, "")) }

// hash returns a hash that is uniformly distributed.
func hash(step, value string) uint32 {
	h := add(add(2166136261, step)*prime, value)
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

const prime = 16777619

// add continues an FNV-1a hash of 32 bits. A zero byte is a multiplication alone.
func add(h uint32, text string) uint32 {
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * prime
	}
	return h
}
