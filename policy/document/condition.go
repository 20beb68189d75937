package document

import (
	"slices"

	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/tree"
)

const (
	// conditionText is what every error about a condition allows.
	conditionText = "a map of attributes and their values, or a list of such maps"
	// valueText is likewise for the value of an attribute.
	valueText = "a text, or a list of texts"
	// prefixText is likewise for the attribute ip.
	prefixText = "an address or a prefix as in 10.0.0.0/8 or 2001:db8::/32"
	// entryText is likewise for the name of an attribute.
	entryText = mechanism.AttributeText + ", or not"
	// classAttributes and rateClassText are what the attribute of classes may be: the classes are
	// no addresses.
	classAttributes = "key host method path route"
	rateClassText   = "key, header:NAME, cookie:NAME, query:NAME, host, method, path or route"
	// notWord is the name, beside attributes, of the map of those that must not match.
	notWord = "not"
)

// condition reads a map of attributes and their values, or a list of such maps, of which
// one must match.
func (r *reader) condition(n *tree.Node) (c condition.Condition) {
	items := []*tree.Node{n}
	if n.Kind == tree.List && len(n.Items) > 0 {
		items = n.Items
		r.atMost(condition.MaxCases, n, "a list of $x")
	}
	for _, item := range items {
		if item.Kind != tree.Map || len(item.Items) == 0 {
			r.mistyped(item, conditionText)
			continue
		}
		one := condition.Case{All: r.entries(item, entryText)}
		if not := entryOf(item, notWord); not != nil {
			if not.Kind != tree.Map || len(not.Items) == 0 {
				r.mistyped(not, "a map of attributes and their values, none of which may match")
			} else {
				one.None = r.entries(not, mechanism.AttributeText)
			}
		}
		if count := len(one.All) + len(one.None); count > condition.MaxEntries {
			p := r.fail(item, "$x attributes", "at most $y")
			p.x, p.y = count, condition.MaxEntries
		}
		c = append(c, one)
	}
	return c
}

// entries reads the attributes of a map, without its not where that is allowed.
func (r *reader) entries(n *tree.Node, allowed string) (list []condition.Entry) {
	for i, e := range n.Items {
		if isTorn(e) {
			continue
		}
		if first := entryOf(n, e.Key); first != n.Items[i] {
			r.double(e, first.KeyLine)
			continue
		}
		if allowed == entryText && e.Key == notWord {
			continue
		}
		key := *e
		key.Kind, key.Text, key.Line, key.Column = tree.Text, e.Key, e.KeyLine, e.KeyColumn
		name, ok := r.attribute(&key, plainAttributes, allowed)
		if !ok {
			continue
		}
		list = append(list, condition.Entry{Attribute: name, Values: r.valuesOf(e, name)})
	}
	return condition.Sort(list)
}

// valuesOf reads the values of an attribute: a text or a list of them.
func (r *reader) valuesOf(n *tree.Node, attribute string) (values []string) {
	items := n.Items
	switch {
	case n.Kind != tree.List:
		items = []*tree.Node{n}
	case len(items) == 0:
		r.mistyped(n, valueText)
	default:
		r.atMost(condition.MaxValues, n, "a list of $x")
	}
	for _, item := range items {
		if !r.isText(item, valueText) {
			continue
		}
		if attribute == keyed.IP && item.Text != "" {
			if _, ok := keyed.ParsePrefix(item.Text); !ok {
				r.mistyped(item, prefixText)
			}
		}
		if len(values) <= condition.MaxValues && slices.Contains(values, item.Text) {
			r.fail(item, "$q again", "each value once")
		}
		values = append(values, item.Text)
	}
	return values
}

// enforce reads the share of the calls that a step enforces for.
func (r *reader) enforce(n *tree.Node, s *condition.Share) {
	if n.Kind != tree.Map {
		r.asRatio(n, &s.Of)
		return
	}
	var f fields
	if !f.read(r, n, "a share as in 10%, or a map of share and by", "share by") {
		return
	}
	if e := f.need("share", "a share as in 10%"); e != nil {
		r.asRatio(e, &s.Of)
	}
	if e := f.get("by"); e != nil {
		s.By, _ = r.attribute(e, plainAttributes, mechanism.AttributeText)
	}
}

// refuseShadow reports an enforce beside shadow.
func (r *reader) refuseShadow(shadow bool, enforce *tree.Node) {
	if shadow {
		r.failKey(enforce, "$t beside shadow", "shadow or enforce")
	}
}

// noDenial reports a deny beside a step that has its name in decisions.
func (r *reader) noDenial(n *tree.Node, one *Policy) {
	for i := range one.Steps {
		if one.Steps[i].Name == pipeline.Denial {
			r.failKey(n, "$t beside a step of the name $t", "$t beside steps of other names")
		}
	}
}

// areRates reports whether a node has the rates of classes, which are checked with the
// settings that they share.
func (r *reader) areRates(n *tree.Node) bool {
	if n.Kind != tree.Map || len(n.Items) == 0 {
		r.mistyped(n, "a map of classes and their rates, as in {free: 10/m}")
		return false
	}
	for i, e := range n.Items {
		if first := entryOf(n, e.Key); first != n.Items[i] && !isTorn(e) {
			r.double(e, first.KeyLine)
		} else if !isTorn(e) && !validName(e.Key) {
			r.failKey(e, "the class $q", "a class of lower-case letters, digits and hyphens that begins with a letter or a digit")
		}
	}
	return true
}

// classes returns a step for each class of a limit: its settings with the rate of the class,
// for calls of the class alone. The step itself is then for the calls of no class.
func (s *settings) classes(base *pipeline.Step) (steps []pipeline.Step) {
	if when := s.fields.get("when"); when != nil && slices.Contains(base.When.Attributes(), s.class) {
		s.failKey(when, "$t of the attribute of class", "$t of other attributes")
	}
	var names []string
	for _, e := range s.rates.Items {
		if isTorn(e) || len(names) >= pipeline.MaxSteps {
			continue
		}
		before := len(s.problems)
		of := settings{reader: s.reader, row: s.row, draft: s.row.New(), fields: s.fields}
		of.fields.found[index(of.fields.known, "rate")] = e
		of.parts(&of.fields, of.row.Settings, "")
		of.draft.Check(&of)
		s.dropTwins(before)
		step := *base
		step.Name, step.Config = e.Key, of.draft.Config()
		step.When = base.When.And([]condition.Entry{{Attribute: s.class, Values: []string{e.Key}}}, nil)
		steps, names = append(steps, step), append(names, e.Key)
	}
	base.When = base.When.And(nil, []condition.Entry{{Attribute: s.class, Values: names}})
	return steps
}

// dropTwins drops the problems from an index on that are there already.
func (r *reader) dropTwins(from int) {
	if from > len(r.problems) {
		return
	}
	added := r.problems[from:]
	r.problems = r.problems[:from:from]
	for _, p := range added {
		if !slices.ContainsFunc(r.problems, func(q *problem) bool {
			return q.node == p.node && q.atKey == p.atKey && q.missing == p.missing && q.found == p.found && q.allowed == p.allowed
		}) {
			r.problems = append(r.problems, p)
		}
	}
}
