package document

import (
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/tree"
)

// useKey is the key of a step that uses a mechanism which policies share.
const useKey = "use"

// sharedMechanism is a mechanism that steps may use.
type sharedMechanism struct {
	Mechanism
	methods []string
}

// resolveMechanisms returns the mechanisms with the defaults of the document, and how many
// of each kind take them.
func (r *reader) resolveMechanisms(source, defaults *tree.Node) (plain *tree.Node, takers [mechanism.Kinds]int) {
	if defaults == nil || source.Kind != tree.Map || len(source.Items) > MaxMechanisms {
		return source, takers
	}
	re := resolver{reader: r, defaults: defaults}
	all := *source
	all.Items = nil
	for _, e := range source.Items {
		all.Items = append(all.Items, re.step(e))
	}
	return &all, re.takers
}

// mechanisms reads the map of mechanisms that policies share.
func (r *reader) mechanisms(source, defaults *tree.Node, doc *Document) {
	n, takers := r.resolveMechanisms(source, defaults)
	for i := range doc.Defaults {
		doc.Defaults[i].Steps += takers[doc.Defaults[i].Kind]
	}
	if n.Kind != tree.Map || len(n.Items) == 0 {
		r.mistyped(n, "a map of mechanisms by name, one or more")
		return
	}
	if r.atMost(MaxMechanisms, n, "$x mechanisms"); len(n.Items) > MaxMechanisms {
		return
	}
	for _, e := range n.Items {
		if isTorn(e) {
			continue
		}
		if first := r.findShared(e.Key); first != nil {
			r.double(e, first.Line)
			continue
		}
		switch {
		case e.Key == pipeline.Deadline:
			r.failKey(e, reservedName, reservedText)
		case !validName(e.Key):
			r.failKey(e, "the name $q", nameText).hint = hyphenated
		}
		if n != source {
			r.within = e
		}
		r.shared = append(r.shared, r.sharedMechanism(e))
		r.within = nil
	}
	for i := range r.shared {
		if m := &r.shared[i].Mechanism; m.Kind() != 0 {
			doc.Mechanisms = append(doc.Mechanisms, *m)
		}
	}
}

// sharedMechanism reads a mechanism that policies share. It has no kind where the node is
// none.
func (r *reader) sharedMechanism(e *tree.Node) (m sharedMechanism) {
	m.Line, m.Column = e.KeyLine, e.KeyColumn
	if own := mechanismOf(e); own != nil && own.Key == useKey {
		r.failKey(own, "$t in a mechanism", "a mechanism to its settings, without $t")
		m.Step.Name = e.Key
		return m
	}
	if row := r.mechanism(e); row != nil {
		var extra Extra
		in := r.settings(e.Items[0], row, &m.Step, &extra)
		if in.fields.node != nil {
			in.fields.refuse("name", "$t in a mechanism of several policies", "$t in the step that uses it", "")
			for _, setting := range [...]string{"class", "rates"} {
				in.fields.refuse(setting, "$t in a mechanism of several policies", "$t in a limit of one policy", "")
			}
		}
		m.Description, m.methods, m.Stateless = extra.Description, in.methods, stateless(row, m.Config) != ""
	}
	m.Step.Name, m.Step.Mechanism = e.Key, e.Key
	return m
}

// findShared returns the shared mechanism of a name, nil for none.
func (r *reader) findShared(name string) *sharedMechanism {
	for i := range r.shared {
		if r.shared[i].Step.Name == name {
			return &r.shared[i]
		}
	}
	return nil
}

// sharedNames lists the shared mechanisms.
func (r *reader) sharedNames() string {
	var names builder
	for i := range r.shared {
		addName(&names, r.shared[i].Step.Name)
	}
	return names.String()
}

// stepNames lists what a step may be.
func (r *reader) stepNames() string {
	if len(r.shared) == 0 {
		return mechanismNames()
	}
	return mechanismNames() + " " + useKey
}

// use reads a step that uses a shared mechanism: its settings, and what belongs to the
// place alone.
func (r *reader) use(e *tree.Node, s *pipeline.Step, extra *Extra, one *Policy) {
	const allowed = "the name of a mechanism of this document, or a map of mechanism, name, shadow and description"
	extra.Line, extra.Column = e.KeyLine, e.KeyColumn
	var f fields
	name := e
	if e.Kind != tree.Text {
		if !f.read(r, e, allowed, "mechanism name shadow description") {
			return
		}
		if name = f.need("mechanism", "the name of a mechanism of this document"); name == nil {
			return
		}
	}
	if !r.isText(name, "the name of a mechanism of this document") {
		return
	}
	m := r.findShared(name.Text)
	if m == nil {
		r.unknownShared(name)
		return
	}
	if m.Kind() == 0 {
		return // its error is reported
	}
	*s = m.Step
	// The state belongs to the mechanism, wherever the step is.
	extra.Named, extra.Description = true, m.Description
	one.repeats(mechanisms.Row(s.Kind()), m.methods)
	if f.node == nil {
		return
	}
	if n := f.get("name"); n != nil {
		f.stepName(n, &s.Name)
	}
	if n := f.get("shadow"); n != nil {
		s.Shadow = f.asBool(n)
	}
	if s.Shadow {
		s.Enforce = condition.Share{} // the place says more
	}
	if n := f.get("description"); n != nil && f.isText(n, "a text") {
		extra.Description = n.Text
	}
}

// unknownShared reports a text that names no shared mechanism.
func (r *reader) unknownShared(n *tree.Node) {
	if r.full() {
		r.more++
		return
	}
	known := r.sharedNames()
	p := r.fail(n, "the mechanism $q, which is not there", "the name of a mechanism of this document")
	p.near = word(known, nearest(n.Text, known))
	if known != "" && word(known, mostListed) == "" {
		p.allowed, p.word = p.allowed+": $l", known
	}
}

// usedOnce reports a second step with the state of one shared mechanism, and returns
// false.
func (r *reader) usedOnce(e *tree.Node, s *pipeline.Step, before []pipeline.Step, written []int) bool {
	if s.Mechanism == "" || stateless(mechanisms.Row(s.Kind()), s.Config) != "" {
		return true
	}
	for i := range before[:min(len(before), pipeline.MaxSteps)] {
		if before[i].Mechanism == s.Mechanism {
			p := r.failKey(e, "a second use of the mechanism $w", "one step of a policy with its state; the first is steps[$x]")
			p.x, p.word = written[i], quote(s.Mechanism)
			return false
		}
	}
	return true
}
