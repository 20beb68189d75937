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
	r.unknownPolicy(&missing, names)
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

// ReadOne is Read for the body of a single policy.
func ReadOne(file string, root *tree.Node, before Errors) (*Policy, error) {
	r := &reader{file: file, before: before}
	one := &Policy{Line: root.Line, Column: root.Column}
	r.policy(root, one)
	if err := r.err(); err != nil {
		return nil, err
	}
	return one, nil
}

// document reads a whole document. It returns the node of the policies, and their
// names as a list.
func (r *reader) document(root *tree.Node, doc *Document) (policies *tree.Node, names string) {
	var f fields
	if !f.read(r, root, "a policy document: a map of version, policies and routes", "version policies routes http proxy $schema") {
		return nil, ""
	}
	if n := f.need("version", "the version of the format, 1"); n != nil && (n.Kind != tree.Number || n.Text != "1") {
		r.mistyped(n, "the number 1, the version of the format")
	}
	if n := f.get("$schema"); n != nil {
		r.isText(n, "the address of the JSON Schema, for editors")
	}
	if policies = f.need("policies", "a map of policies by name"); policies != nil {
		r.policies(policies, doc)
	}
	names = namesOf(doc.Policies)
	doc.HTTP = defaultHTTP()
	if n := f.get("http"); n != nil {
		section := r.http(n, httpSettings, &doc.HTTP)
		if n := section.get("default"); n != nil {
			r.unmatched(n, &doc.HTTP, doc, names)
		}
	}
	doc.Proxy = Proxy{Slots: pipeline.DefaultKeys}
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
		name := policies[i].Name
		if name == "" || strings.IndexByte(name, ' ') >= 0 {
			continue
		}
		if len(names.text) > 0 {
			names.add(" ")
		}
		names.add(name)
	}
	return names.String()
}

// policies reads the map of policies.
func (r *reader) policies(n *tree.Node, doc *Document) {
	if n.Kind != tree.Map || len(n.Items) == 0 {
		r.mistyped(n, "a map of policies by name, one or more")
		return
	}
	r.atMost(MaxPolicies, n, "$x policies")
	list, count := make([]Policy, len(n.Items)), 0
	for _, e := range n.Items {
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
		r.policy(e, one)
	}
	doc.Policies = list[:count]
}

// unknownPolicy reports a text that names none of the policies of the document,
// which are known.
func (r *reader) unknownPolicy(n *tree.Node, known string) {
	if r.full() {
		r.more++
		return
	}
	p := r.fail(n, "the policy $q, which is not there", "the name of a policy of this document")
	p.near = word(known, nearest(n.Text, known))
	const most = 8
	if known != "" && word(known, most) == "" {
		p.allowed, p.word = "the name of a policy of this document: $l", known
	}
}

// policy reads the body of one policy.
func (r *reader) policy(n *tree.Node, one *Policy) {
	var f fields
	if !f.read(r, n, "a policy: a map of steps, fallback and outcomes", "steps fallback outcomes") {
		return
	}
	if n := f.need("steps", "a list of steps, outermost first"); n != nil {
		r.steps(n, one)
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
