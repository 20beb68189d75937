package document

import (
	"slices"

	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/tree"
)

const (
	// later are mechanisms that other versions of Sluice may have.
	later = "shed queue cache throttle"
	// common are the settings that every mechanism has, behind its own.
	common = " name shadow when enforce per keys when_full missing scope description defaults"
)

// nameText is what every error about a name allows.
const nameText = "a name of lower-case letters, digits and hyphens that begins with a letter or a digit"

// steps reads the steps of a policy and gives those without a name their
// mechanism's, numbered from the second one of the mechanism on.
func (r *reader) steps(n *tree.Node, one *Policy) {
	if n.Kind != tree.List || len(n.Items) == 0 {
		r.mistyped(n, "a list of steps, one or more")
		return
	}
	defer func() { r.item = nil }()
	r.atMost(pipeline.MaxSteps, n, "$x steps")
	steps, extras := make([]pipeline.Step, 0, len(n.Items)), make([]Extra, 0, len(n.Items))
	defer func() { one.Steps, one.Extras = steps, extras }()
	var count, first, own [mechanism.Kinds]int
	var written []int // the item of each step
	for i, item := range n.Items {
		r.item = item
		var s pipeline.Step
		var extra Extra
		classes := r.step(item, &s, &extra, one)
		k := s.Kind()
		if k == 0 {
			continue
		}
		e := item.Items[0]
		if count[k]++; count[k] == 1 {
			first[k] = i
		}
		r.once(e, mechanisms.Row(k), &count, &first)
		if s.Mechanism == "" {
			own[k]++
		}
		if !extra.Named {
			s.Name = numbered(e.Key, own[k])
		}
		of := extra
		of.Named = true
		for j := range classes {
			own := &classes[j]
			own.Name = s.Name + "-" + own.Name
			r.nameOnce(e, own.Name, steps, written)
			steps, extras, written = append(steps, *own), append(extras, of), append(written, i)
		}
		if r.usedOnce(e, &s, steps, written) {
			r.nameOnce(e, s.Name, steps, written)
		}
		steps, extras, written = append(steps, s), append(extras, extra), append(written, i)
		if len(classes) > 0 && len(steps) > pipeline.MaxSteps && len(n.Items) <= pipeline.MaxSteps {
			p := r.failKey(entryOf(e, "rates"), "classes that make $x steps of the policy", "at most $y, one for each class and one for the calls of no class")
			p.x, p.y = len(steps), pipeline.MaxSteps
			break
		}
	}
}

// once reports a second step of a mechanism that makes attempts or injects results, and a step
// whose mechanism must not be below the mechanism of another step.
func (r *reader) once(e *tree.Node, row *mechanism.Row, count, first *[mechanism.Kinds]int) {
	const single = mechanism.Repeats | mechanism.Hedges | mechanism.Injects
	name := row.Kind.String()
	if row.Traits&single != 0 && count[row.Kind] > 1 {
		p := r.failKey(e, "a second $w", "one $w in a policy; the first is steps[$x]")
		p.word, p.x = name, first[row.Kind]
		return
	}
	for k := range count {
		other := mechanisms.Row(mechanism.Kind(k))
		if count[k] > 0 && other != nil && k != int(row.Kind) && (other.Below == row.Kind || other.Traits.Has(mechanism.Injects)) {
			p := r.failKey(e, "a $w below the $o", "a $w above the $o, which is steps[$x]")
			p.word, p.other, p.x = name, other.Kind.String(), first[k]
		}
	}
}

// nameOnce reports the entry of a step whose name one before it has. Past the
// greatest number of steps the policy is refused anyway, and to look at all of
// them would take long.
func (r *reader) nameOnce(e *tree.Node, name string, before []pipeline.Step, written []int) {
	for i := range before[:min(len(before), pipeline.MaxSteps)] {
		if name != "" && before[i].Name == name {
			p := r.failKey(e, "a second step of the name $w", "names that differ; the first is steps[$x]")
			p.x, p.word = written[i], quote(name)
			return
		}
	}
}

// step reads a map of one entry, mechanism to settings. Its kind stays 0 when
// it is none. It returns the steps of the classes, which have the names of the classes.
func (r *reader) step(n *tree.Node, s *pipeline.Step, extra *Extra, one *Policy) (classes []pipeline.Step) {
	if e := mechanismOf(n); e != nil && e.Key == useKey {
		r.use(e, s, extra, one)
		return nil
	}
	row := r.mechanism(n)
	if row == nil {
		return nil
	}
	in := r.settings(n.Items[0], row, s, extra)
	one.repeats(row, in.methods)
	if in.rates != nil && in.class != "" {
		classes = in.classes(s)
	}
	return classes
}

// settings reads the settings of a mechanism into a step.
func (r *reader) settings(e *tree.Node, row *mechanism.Row, s *pipeline.Step, extra *Extra) settings {
	extra.Line, extra.Column = e.KeyLine, e.KeyColumn
	in := settings{reader: r, row: row}
	s.Config = in.read(e)
	if in.fields.node != nil {
		in.fields.common(s, extra, stateless(row, s.Config))
	}
	return in
}

// stateless says why a configuration needs no cells, empty for one that needs them.
func stateless(row *mechanism.Row, c mechanism.Config) string {
	if row.Stateless == nil {
		return ""
	}
	return row.Stateless(c)
}

// repeats notes the methods for which a step makes further attempts.
func (p *Policy) repeats(row *mechanism.Row, methods []string) {
	switch {
	case row.Traits.Has(mechanism.Repeats):
		p.Methods = methods
	case row.Traits.Has(mechanism.Hedges):
		p.HedgeMethods = methods
	}
}

// mechanism returns the row of a step's mechanism. It reports a node that is no step, and
// returns nil.
func (r *reader) mechanism(n *tree.Node) *mechanism.Row {
	const allowed = "a step: a map of one entry, mechanism to settings"
	switch {
	case n.Kind == tree.Map && slices.ContainsFunc(n.Items, isTorn):
		return nil
	case n.Kind == tree.Map && len(n.Items) > 1:
		r.fail(n, "a map of $x entries", allowed+"; name, shadow, per and scope belong inside the settings").x = len(n.Items)
		return nil
	case n.Kind == tree.Text && rowOf(n.Text) != nil:
		p := r.mistyped(n, allowed)
		p.near, p.word, p.hint = "{$w: {...}}", n.Text, filled
		return nil
	case n.Kind != tree.Map || len(n.Items) == 0:
		r.mistyped(n, allowed)
		return nil
	}
	e := n.Items[0]
	row := rowOf(e.Key)
	if row == nil {
		if index(later, e.Key) >= 0 {
			r.failKey(e, "the mechanism $q, which this version does not have", "$l").word = r.stepNames()
		} else {
			r.unknown(e, r.stepNames())
		}
	}
	return row
}

// rowOf returns the row of the mechanism of a name, nil for none.
func rowOf(name string) *mechanism.Row {
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		if k.String() == name {
			return mechanisms.Row(k)
		}
	}
	return nil
}

// mechanismNames lists the mechanisms of a step.
func mechanismNames() string {
	var list builder
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		if mechanisms.Row(k) == nil {
			continue
		}
		if len(list.text) > 0 {
			list.add(" ")
		}
		list.add(k.String())
	}
	return list.String()
}

// common reads the settings that every mechanism has. A step that keeps no state has
// no cells, so that per and the settings of keys do not apply; without says why, ""
// for a step with cells.
func (f *fields) common(s *pipeline.Step, extra *Extra, without string) {
	if n := f.get("name"); n != nil {
		extra.Named = true
		f.stepName(n, &s.Name)
	}
	if n := f.get("shadow"); n != nil {
		s.Shadow = f.asBool(n)
	}
	if n := f.get("when"); n != nil {
		s.When = f.condition(n)
	}
	if n := f.get("enforce"); n != nil {
		f.enforce(n, &s.Enforce)
		f.refuseShadow(s.Shadow, n)
	}
	if n := f.get("description"); n != nil && f.isText(n, "a text") {
		extra.Description = n.Text
	}
	if n := f.get("defaults"); n != nil {
		if n.Kind == tree.Bool && n.Text == "false" {
			f.failKey(n, "$t where there are none for the step", "$t: false beside defaults of the document for the mechanism")
		} else {
			f.mistyped(n, "false, for a step without the defaults of the document")
		}
	}
	if without != "" {
		without = "$t " + without
		const allowed = "$t only on a limit, a breaker, a bulkhead, a retry with a budget, or a hedge with a percentile or a budget"
		for _, name := range [...]string{"per", "keys", "when_full", "missing", "scope"} {
			f.refuse(name, without, allowed, "")
		}
		return
	}
	if n := f.get("per"); n != nil {
		s.Per = f.per(n)
		f.keyed(s)
	} else if !f.meant[index(f.known, "per")] {
		for _, name := range [...]string{"keys", "when_full", "missing"} {
			f.refuse(name, "$t without per", "$t beside per", "")
		}
	}
	if n := f.get("scope"); n != nil {
		f.scope(n)
	}
}

// keyed reads the settings of cells for many keys.
func (f *fields) keyed(s *pipeline.Step) {
	f.integer("keys", 1, pipeline.MaxKeys, &s.Keys)
	if n := f.get("when_full"); n != nil {
		s.WhenFull = pipeline.WhenFull(max(f.asWord(n, "evict share"), 0))
	}
	if n := f.get("missing"); n != nil {
		s.Missing = pipeline.Missing(max(f.asWord(n, keyed.MissingWords), 0))
	}
}

// What an error about the name of the caller's deadline says.
const (
	reservedName = "the reserved name $q"
	reservedText = "any other name; " + pipeline.Deadline + " is the caller's own deadline"
)

// stepName reads the name of a step.
func (r *reader) stepName(n *tree.Node, into *string) {
	if !r.isText(n, nameText) {
		return
	}
	*into = n.Text
	switch {
	case n.Text == pipeline.Deadline:
		r.fail(n, reservedName, reservedText)
	case !validName(n.Text):
		r.fail(n, "the name $q", nameText).hint = hyphenated
	}
}

// validName reports whether a name is [a-z0-9][a-z0-9-]*.
func validName(name string) bool { return isMadeOf(name, "-") && name[0] != '-' }

// scope reads the scope of a step's cells; Local is the only one.
func (r *reader) scope(n *tree.Node) {
	if n.Kind == tree.Text && n.Text == "shared" {
		r.mistyped(n, "local; shared needs a store, which this version does not have")
		return
	}
	r.asWord(n, "local")
}
