package document

import (
	"strconv"

	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/policy/tree"
)

// ParseJSON reads a whole document in JSON. The file names it in errors. The
// error is nil or an Errors with everything that is wrong.
func ParseJSON(file string, src []byte) (*Document, error) {
	root, err := tree.ReadJSON(src)
	if err != nil {
		return nil, Unreadable(file, err)
	}
	return Read(file, root, nil)
}

// ParseOneJSON reads the body of a single policy in JSON, as in
// {"steps": [...]}. Its name is empty. The error is as for ParseJSON.
func ParseOneJSON(file string, src []byte) (*Policy, error) {
	root, err := tree.ReadJSON(src)
	if err != nil {
		return nil, Unreadable(file, err)
	}
	return ReadOne(file, root, nil)
}

// Read gives the tree of a whole document its meaning. The errors that the
// reader of the source found already are reported among those found here.
func Read(file string, root *tree.Node, before Errors) (*Document, error) {
	r := &report{file: file, list: before}
	doc := place{r, root, ""}.document()
	if errs := r.errors(); len(errs) > 0 {
		return nil, errs
	}
	return doc, nil
}

// ReadOne is Read for the body of a single policy.
func ReadOne(file string, root *tree.Node, before Errors) (*Policy, error) {
	r := &report{file: file, list: before}
	one := place{r, root, ""}.policy("")
	if errs := r.errors(); len(errs) > 0 {
		return nil, errs
	}
	one.Line, one.Column = root.Line, root.Column
	return &one, nil
}

// document reads the whole.
func (p place) document() *Document {
	doc := &Document{}
	f, ok := p.fields("a policy document: a map of version, policies and routes", "version", "policies", "routes", "$schema")
	if !ok {
		return doc
	}
	if v, ok := f.need("version", "the version of the format, 1"); ok {
		if v.node.Kind != tree.Number || v.node.Text != "1" {
			v.mistyped("the number 1, the version of the format")
		}
	}
	if v, ok := f.get("$schema"); ok {
		v.text("the address of the JSON Schema, for editors")
	}
	names := map[string]bool{}
	if v, ok := f.need("policies", "a map of policies by name"); ok {
		doc.Policies = v.policies(names)
	}
	if v, ok := f.get("routes"); ok {
		doc.Routes = v.routes(names)
	}
	return doc
}

// policies reads the map of policies and notes their names.
func (p place) policies(names map[string]bool) []Policy {
	const allowed = "a map of policies by name, one or more"
	if p.node.Kind != tree.Map || len(p.node.Entries) == 0 {
		p.mistyped(allowed)
		return nil
	}
	if len(p.node.Entries) > MaxPolicies {
		p.fail(strconv.Itoa(len(p.node.Entries))+" policies", "at most "+strconv.Itoa(MaxPolicies), "")
	}
	list := make([]Policy, 0, len(p.node.Entries))
	first := map[string]int{}
	for i := range p.node.Entries {
		e := &p.node.Entries[i]
		path := JoinPath(p.path, e.Key)
		if isTorn(e) {
			continue
		}
		if line, double := first[e.Key]; double {
			p.double(e, path, line)
			continue
		}
		first[e.Key] = e.Line
		if !validName(e.Key) {
			p.failAt(e.Line, e.Column, path, "the name "+quote(e.Key), nameText, nearestName(e.Key))
		}
		names[e.Key] = true
		one := place{p.report, e.Value, path}.policy(e.Key)
		one.Line, one.Column = e.Line, e.Column
		list = append(list, one)
	}
	return list
}

// policy reads the body of one policy.
func (p place) policy(name string) Policy {
	one := Policy{Outcomes: defaultOutcomes()}
	one.Name = name
	f, ok := p.fields("a policy: a map of steps, fallback and outcomes", "steps", "fallback", "outcomes")
	if !ok {
		return one
	}
	if v, ok := f.need("steps", "a list of steps, outermost first"); ok {
		v.steps(&one)
	}
	if v, ok := f.get("fallback"); ok {
		one.Fallback = v.fallback()
	}
	if v, ok := f.get("outcomes"); ok {
		one.Outcomes = v.outcomes()
	}
	return one
}

// fallback reads what a caller gets in place of a refusal.
func (p place) fallback() *fallback.Config {
	f, ok := p.fields("a fallback: a map of status and body", "status", "body")
	if !ok {
		return nil
	}
	c := &fallback.Config{Status: 503}
	if v, ok := f.get("status"); ok {
		status, _ := v.integer(100, 599)
		c.Status = int(status)
	}
	if v, ok := f.get("body"); ok {
		c.Body, _ = v.text("a text")
	}
	return c
}
