package document

import (
	"strings"

	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/pipeline"
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

// ParsePolicyJSON reads the policy of a name from a whole document in JSON; an empty
// name is the only policy of the document. The rest of the document is checked as
// ParseJSON does. The error is as for ParseJSON.
func ParsePolicyJSON(file string, src []byte, name string) (*Policy, error) {
	root, err := tree.ReadJSON(src)
	if err != nil {
		return nil, Unreadable(file, err)
	}
	r := &reader{file: file}
	doc := &Document{}
	policies, names := r.document(root, doc)
	if err := r.err(); err != nil {
		return nil, err
	}
	if name == "" && len(doc.Policies) == 1 {
		return &doc.Policies[0], nil
	}
	if one := doc.Lookup(name); one != nil {
		return one, nil
	}
	missing := *policies
	missing.Kind, missing.Text = tree.Text, name
	r.unknownPolicy(&missing, "", names)
	return nil, r.err()
}

// Read interprets the tree of a whole document. It returns the errors of the reader
// of the source together with its own.
func Read(file string, root *tree.Node, before Errors) (*Document, error) {
	r := &reader{file: file, before: before}
	doc := &Document{}
	r.document(root, doc)
	if err := r.err(); err != nil {
		return nil, err
	}
	return doc, nil
}

// Resolved returns the tree of a whole document without extends and defaults: the policies
// have the steps that Read gives them. The errors are the errors of Read.
func Resolved(file string, root *tree.Node, before Errors) (*tree.Node, error) {
	if _, err := Read(file, root, before); err != nil {
		return nil, err
	}
	r := &reader{file: file}
	plain := *root
	plain.Items = nil
	defaults := entryOf(root, "defaults")
	for _, e := range root.Items {
		switch e.Key {
		case "defaults":
		case "mechanisms":
			mechanisms, _ := r.resolveMechanisms(e, defaults)
			plain.Items = append(plain.Items, mechanisms)
		case "policies":
			policies, _ := r.resolve(e, defaults)
			plain.Items = append(plain.Items, policies)
		default:
			plain.Items = append(plain.Items, e)
		}
	}
	return &plain, nil
}

// ReadOne is Read for the body of a single policy.
func ReadOne(file string, root *tree.Node, before Errors) (*Policy, error) {
	r := &reader{file: file, before: before}
	one := &Policy{Line: root.Line, Column: root.Column}
	if n := entryOf(root, "mechanisms"); n != nil {
		r.mechanisms(n, nil, &Document{})
	}
	r.policy(root, one, policySettings+" mechanisms")
	if err := r.err(); err != nil {
		return nil, err
	}
	return one, nil
}

// document reads a whole document. It returns the node of the policies, and their
// names as a list.
func (r *reader) document(root *tree.Node, doc *Document) (policies *tree.Node, names string) {
	var f fields
	if !f.read(r, root, "a policy document: a map of version, policies and routes", "version defaults mechanisms policies routes http proxy $schema") {
		return nil, ""
	}
	if n := f.need("version", "the version of the format, 1"); n != nil && (n.Kind != tree.Number || n.Text != "1") {
		r.mistyped(n, "the number 1, the version of the format")
	}
	if n := f.get("$schema"); n != nil {
		r.isText(n, "the address of the JSON Schema, for editors")
	}
	defaults := f.get("defaults")
	if defaults != nil {
		r.defaults(defaults)
		for _, e := range defaults.Items {
			if row := rowOf(e.Key); row != nil {
				doc.Defaults = append(doc.Defaults, Default{Kind: row.Kind, Line: e.KeyLine, Column: e.KeyColumn})
			}
		}
	}
	if n := f.get("mechanisms"); n != nil {
		r.mechanisms(n, defaults, doc)
	}
	if policies = f.need("policies", "a map of policies by name"); policies != nil {
		r.policies(policies, defaults, doc)
	}
	names = namesOf(doc.Policies)
	doc.HTTP = defaultHTTP()
	if n := f.get("http"); n != nil {
		section := r.http(n, httpSettings, &doc.HTTP)
		if n := section.get("default"); n != nil {
			r.unmatched(n, &doc.HTTP, doc, names)
		}
	}
	doc.Proxy = Proxy{Slots: pipeline.DefaultKeys, RateLimitedHeader: true, IPv4Prefix: defaultIPv4Prefix, IPv6Prefix: defaultIPv6Prefix}
	if n := f.get("proxy"); n != nil {
		r.proxy(n, &doc.Proxy)
	}
	if n := f.get("routes"); n != nil {
		r.routes(n, doc, names)
	}
	return policies, names
}

// namesOf returns the names of policies as a list. It cannot have a name with a
// space, which is invalid anyway.
func namesOf(policies []Policy) string {
	var names builder
	for i := range policies {
		addName(&names, policies[i].Name)
	}
	return names.String()
}

// addName adds a name to a list, without one that the list cannot have.
func addName(names *builder, name string) {
	if name == "" || strings.IndexByte(name, ' ') >= 0 {
		return
	}
	if len(names.text) > 0 {
		names.add(" ")
	}
	names.add(name)
}

// policies reads the map of policies, whose steps take the defaults of the document, nil
// for none.
func (r *reader) policies(source, defaults *tree.Node, doc *Document) {
	n, takers := r.resolve(source, defaults)
	for i := range doc.Defaults {
		doc.Defaults[i].Steps += takers[doc.Defaults[i].Kind]
	}
	if n.Kind != tree.Map || len(n.Items) == 0 {
		r.mistyped(n, "a map of policies by name, one or more")
		return
	}
	r.atMost(MaxPolicies, n, "$x policies")
	list, count := make([]Policy, len(n.Items)), 0
	for i, e := range n.Items {
		if isTorn(e) {
			continue
		}
		// Past the greatest number the document is refused anyway, and a search for
		// duplicates would take long.
		checked := Document{Policies: list[:min(count, MaxPolicies)]}
		if first := checked.Lookup(e.Key); first != nil {
			r.double(e, first.Line)
			continue
		}
		if !validName(e.Key) {
			r.failKey(e, "the name $q", nameText).hint = hyphenated
		}
		one := &list[count]
		count++
		one.Name, one.Line, one.Column = e.Key, e.KeyLine, e.KeyColumn
		if n != source {
			r.within = e
			if base := entryOf(source.Items[i], "extends"); base != nil {
				one.Extends = base.Text
			}
		}
		r.policy(e, one, policySettings)
	}
	r.within = nil
	doc.Policies = list[:count]
}

// mostListed is the most names that an error lists beside those that are near.
const mostListed = 8

// unknownPolicy reports a text that names none of the policies of the document,
// which are known. The word is allowed as well, empty for none.
func (r *reader) unknownPolicy(n *tree.Node, alone, known string) {
	if r.full() {
		r.more++
		return
	}
	allowed, all := "the name of a policy of this document", known
	if alone != "" {
		allowed, all = alone+", or "+allowed, alone
		if known != "" {
			all += " " + known
		}
	}
	p := r.fail(n, "the policy $q, which is not there", allowed)
	p.near = word(all, nearest(n.Text, all))
	if known != "" && word(known, mostListed) == "" {
		p.allowed, p.word = allowed+": $l", known
	}
}

// policy reads the body of one policy with entries of known names.
func (r *reader) policy(n *tree.Node, one *Policy, known string) {
	var f fields
	if !f.read(r, n, policyForm, known) {
		return
	}
	if n := f.get("extends"); n != nil {
		r.failKey(n, "$t in a policy alone", "$t in a document with other policies")
	}
	changes := f.get("extends") != nil
	for _, name := range [...]string{"change", "add", "remove"} {
		changes = changes || f.get(name) != nil
		f.refuse(name, "$t without extends", "$t beside extends", "")
	}
	switch pass := f.get("pass"); {
	case pass != nil:
		if pass.Kind != tree.Bool || pass.Text != "true" {
			r.mistyped(pass, "true, or steps in its place")
		}
		one.Pass = true
		f.refuse("steps", "$t beside pass", "steps or pass", "")
	case !changes || f.get("steps") != nil:
		if n := f.need("steps", "a list of steps, outermost first, or pass: true"); n != nil {
			r.steps(n, one)
		}
	}
	if n := f.get("description"); n != nil && r.isText(n, "a text") {
		one.Description = n.Text
	}
	if n := f.get("allow"); n != nil {
		one.Allow = r.condition(n)
	}
	if n := f.get("deny"); n != nil {
		one.Deny = r.condition(n)
		r.noDenial(n, one)
	}
	if n := f.get("fallback"); n != nil {
		one.Fallback = r.fallback(n)
	}
	r.outcomes(f.get("outcomes"), &one.Outcomes)
}

// fallback reads the answer in place of a refusal.
func (r *reader) fallback(n *tree.Node) *fallback.Config {
	var f fields
	if !f.read(r, n, "a fallback: a map of status and body", "status body") {
		return nil
	}
	status := uint32(503)
	f.integer("status", 100, 599, &status)
	c := &fallback.Config{Status: int(status)}
	if n := f.get("body"); n != nil && r.isText(n, "a text") {
		c.Body = n.Text
	}
	return c
}
