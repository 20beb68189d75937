package document

import (
	"strconv"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/tree"
)

const (
	// MaxExtends is the most policies that one policy extends, one after another.
	MaxExtends = 16
	// MaxTaken is the most values that policies take from defaults and from the
	// policies that they extend, so that a short document does not grow without bound.
	MaxTaken = 250_000
)

// policySettings are the names of a policy. The names of changes are not in a resolved one.
const policySettings = "steps pass extends change add remove allow deny fallback outcomes description"

// policyForm is what every error about a policy allows.
const policyForm = "a policy: a map of steps, fallback and outcomes"

// resolver makes plain policies: without extends, and with the defaults of the document in
// their steps. A node of the source that several policies take is shared, so that it keeps
// its place and its path.
type resolver struct {
	*reader
	policies *tree.Node
	defaults *tree.Node // nil for none
	bases    []int      // of each policy: the one that it extends, noBase or badBase
	plain    []*tree.Node
	taken    int
	// takers counts the steps of each mechanism that take its defaults.
	takers [mechanism.Kinds]int
}

// What a policy extends that extends none, and one whose error is reported.
const (
	noBase  = -1
	badBase = -2
)

// resolve returns the policies without extends and with the defaults in their steps, and
// how many steps of each mechanism take defaults.
func (r *reader) resolve(policies, defaults *tree.Node) (plain *tree.Node, takers [mechanism.Kinds]int) {
	if policies.Kind != tree.Map || len(policies.Items) > MaxPolicies {
		return policies, takers
	}
	re := resolver{reader: r, policies: policies, defaults: defaults, plain: make([]*tree.Node, len(policies.Items))}
	extended := false
	for i := range policies.Items {
		re.bases = append(re.bases, re.base(i))
		extended = extended || re.bases[i] != noBase
	}
	if !extended && defaults == nil {
		return policies, takers
	}
	all := *policies
	all.Items = nil
	for i := range policies.Items {
		all.Items = append(all.Items, re.policy(i))
	}
	return &all, re.takers
}

// entryOf returns the first entry of a name in a map, nil for none.
func entryOf(n *tree.Node, name string) *tree.Node {
	if n.Kind == tree.Map {
		for _, e := range n.Items {
			if e.Key == name {
				return e
			}
		}
	}
	return nil
}

// bad returns a node in the place of another one whose errors are reported.
func bad(n *tree.Node) *tree.Node {
	node := *n
	node.Kind, node.Items = tree.Bad, nil
	return &node
}

// base returns the index of the policy that a policy extends.
func (r *resolver) base(i int) int {
	e := entryOf(r.policies.Items[i], "extends")
	if e == nil {
		return noBase
	}
	if !r.isText(e, "the name of a policy of this document") {
		return badBase
	}
	for j, other := range r.policies.Items {
		if other.Key == e.Text && !isTorn(other) {
			return j
		}
	}
	var names builder
	for _, other := range r.policies.Items {
		addName(&names, other.Key)
	}
	r.unknownPolicy(e, "", names.String())
	return badBase
}

// policy returns a plain policy, a bad node for one that has none.
func (r *resolver) policy(i int) *tree.Node {
	if r.plain[i] == nil {
		own := r.policies.Items[i]
		switch base := r.bases[i]; {
		case base == noBase:
			r.plain[i] = r.defaulted(own)
		case !r.ends(i):
			r.plain[i] = bad(own)
		default:
			r.plain[i] = r.extended(own, r.policy(base))
		}
	}
	return r.plain[i]
}

// ends reports whether the policies that a policy extends end with one that extends none.
// It reports a cycle at each of its policies.
func (r *resolver) ends(i int) bool {
	path := []int{i}
	for at := r.bases[i]; at != noBase; at = r.bases[at] {
		e := entryOf(r.policies.Items[i], "extends")
		switch {
		case at == badBase:
			return false
		case at == i:
			r.fail(e, "the policy $q, which extends this one", "a policy that does not extend this one")
			return false
		case len(path) > MaxExtends:
			r.fail(e, "a chain of more than $x policies", "at most $x that extend one another").x = MaxExtends
			return false
		}
		for _, before := range path {
			if at == before {
				return false
			}
		}
		path = append(path, at)
	}
	return true
}

// take counts the values of a node that a policy takes, and reports at a node of the policy
// when they are too many.
func (r *resolver) take(n, at *tree.Node) bool {
	if r.taken > MaxTaken {
		return false
	}
	if r.taken += size(n); r.taken <= MaxTaken {
		return true
	}
	p := r.fail(at, "defaults and extends that add more than $x values", "at most so many")
	p.x = MaxTaken
	return false
}

// size counts a node and all in it.
func size(n *tree.Node) int {
	count := 1
	for _, item := range n.Items {
		count += size(item)
	}
	return count
}

// defaulted returns a policy with the defaults in its steps.
func (r *resolver) defaulted(own *tree.Node) *tree.Node {
	steps := entryOf(own, "steps")
	if r.defaults == nil || steps == nil || steps.Kind != tree.List {
		return own
	}
	plain, list := *own, *steps
	plain.Items, list.Items = nil, nil
	for _, item := range steps.Items {
		list.Items = append(list.Items, r.step(item))
	}
	for _, e := range own.Items {
		if e == steps {
			e = &list
		}
		plain.Items = append(plain.Items, e)
	}
	return &plain
}

// step returns a step with the defaults of its mechanism.
func (r *resolver) step(item *tree.Node) *tree.Node {
	e := mechanismOf(item)
	if e == nil || e.Key == useKey || r.defaults == nil {
		return item
	}
	given := entryOf(r.defaults, e.Key)
	if given == nil || !r.take(given, e) {
		return item
	}
	if off := entryOf(e, "defaults"); off != nil && off.Kind == tree.Bool && off.Text == "false" {
		return stepOf(item, without(e, off))
	}
	merged := merge(given, e)
	if merged == nil {
		return item
	}
	r.takers[rowOf(e.Key).Kind]++
	return stepOf(item, merged)
}

// mechanismOf returns the entry of a step, nil for a node that is none.
func mechanismOf(item *tree.Node) *tree.Node {
	if item.Kind != tree.Map || len(item.Items) != 1 {
		return nil
	}
	if e := item.Items[0]; e.Key == useKey || rowOf(e.Key) != nil {
		return e
	}
	return nil
}

// stepOf returns a step with another entry.
func stepOf(item, e *tree.Node) *tree.Node {
	step := *item
	step.Items = []*tree.Node{e}
	return &step
}

// without returns a map without one of its entries.
func without(n, e *tree.Node) *tree.Node {
	rest := *n
	rest.Items = nil
	for _, item := range n.Items {
		if item != e {
			rest.Items = append(rest.Items, item)
		}
	}
	return &rest
}

// settingsOf returns the settings of a mechanism as a map, also of a short form; nil for what
// is neither.
func settingsOf(e *tree.Node) *tree.Node {
	if e.Kind == tree.Map {
		return e
	}
	short, isIt := "mechanism", e.Kind == tree.Text
	if e.Key != useKey {
		row := rowOf(e.Key)
		setting := row.Setting(row.Short)
		if setting == nil {
			return nil
		}
		short, isIt = setting.Name, isShort(setting.Type, e.Kind)
	}
	if !isIt {
		return nil
	}
	whole, value := *e, *e
	whole.Kind = tree.Map
	value.Key, value.KeyLine, value.KeyColumn, value.Up, value.Index = short, e.Line, e.Column, e, 0
	whole.Items = []*tree.Node{&value}
	return &whole
}

// merge returns the settings of a mechanism, with the settings of another node for what they
// leave out; nil where one of the two has no settings.
func merge(below, own *tree.Node) *tree.Node {
	below, own = settingsOf(below), settingsOf(own)
	if below == nil || own == nil {
		return nil
	}
	merged := *own
	merged.Items = nil
	for _, e := range below.Items {
		if entryOf(own, e.Key) == nil {
			merged.Items = append(merged.Items, e)
		}
	}
	merged.Items = append(merged.Items, own.Items...)
	return &merged
}

// placed is a step of a policy that extends another one.
type placed struct {
	item    *tree.Node
	name    string
	changed bool
}

// extended returns a policy that changes another one, which is plain.
func (r *resolver) extended(own, base *tree.Node) *tree.Node {
	var f fields
	if !f.read(r.reader, own, policyForm, policySettings) {
		return bad(own)
	}
	extends := f.get("extends")
	for _, name := range [...]string{"steps", "pass"} {
		f.refuse(name, "$t beside extends", "change, add and remove beside extends", "")
	}
	steps := entryOf(base, "steps")
	passes := steps == nil && entryOf(base, "pass") != nil
	if passes {
		steps = &tree.Node{Kind: tree.List}
	}
	if steps == nil || steps.Kind != tree.List || len(steps.Items) > pipeline.MaxSteps || !r.take(base, extends) {
		return bad(own)
	}
	e := extension{resolver: r, base: extends.Text, list: named(steps.Items)}
	if n := f.get("remove"); n != nil {
		e.remove(n)
	}
	if n := f.get("change"); n != nil {
		e.each(n, e.change)
	}
	if n := f.get("add"); n != nil {
		e.each(n, e.add)
	}
	plain := *own
	plain.Items = nil
	for _, name := range [...]string{"description", "allow", "deny", "fallback", "outcomes"} {
		n := f.get(name)
		if n == nil && name != "description" {
			n = entryOf(base, name)
		}
		if n != nil {
			plain.Items = append(plain.Items, n)
		}
	}
	if passes && len(e.list) == 0 {
		plain.Items = append(plain.Items, entryOf(base, "pass"))
		return &plain
	}
	list := *extends
	list.Kind, list.Key, list.Items = tree.List, "steps", namedItems(e.list)
	plain.Items = append(plain.Items, &list)
	return &plain
}

// named returns steps with their names.
func named(items []*tree.Node) []placed {
	list := make([]placed, len(items))
	for i, item := range items {
		list[i] = placed{item: item, name: nameOf(item)}
		if e := mechanismOf(item); e != nil && list[i].name == "" {
			list[i].name = unnamed(e.Key, list[:i])
		}
	}
	return list
}

// nameOf returns the name that a step states, or the name of the shared mechanism which it
// uses, empty for none.
func nameOf(item *tree.Node) string {
	if n := nameIn(mechanismOf(item)); n != nil && n.Kind == tree.Text {
		return n.Text
	}
	return ""
}

// nameIn returns the node that has the name of a step, nil for none.
func nameIn(e *tree.Node) *tree.Node {
	if e == nil {
		return nil
	}
	n := entryOf(e, "name")
	if n == nil && e.Key == useKey {
		if n = e; e.Kind == tree.Map {
			n = entryOf(e, "mechanism")
		}
	}
	return n
}

// unnamed returns the name of a step without one: its mechanism, and its number from the
// second one of the mechanism on.
func unnamed(kind string, before []placed) string {
	count := 1
	for _, p := range before {
		if e := mechanismOf(p.item); e != nil && e.Key == kind {
			count++
		}
	}
	return numbered(kind, count)
}

func numbered(kind string, count int) string {
	if count == 1 {
		return kind
	}
	return kind + "-" + strconv.Itoa(count)
}

// namedItems returns steps that state their names where they would have other ones.
func namedItems(list []placed) []*tree.Node {
	items := make([]*tree.Node, len(list))
	for i, p := range list {
		items[i] = p.item
		e := mechanismOf(p.item)
		if e == nil || nameOf(p.item) != "" || entryOf(e, "name") != nil || unnamed(e.Key, list[:i]) == p.name {
			continue
		}
		if settings := settingsOf(e); settings != nil {
			whole := *settings
			name := &tree.Node{Kind: tree.Text, Text: p.name, Key: "name", Up: e, Line: e.Line, Column: e.Column, KeyLine: e.KeyLine, KeyColumn: e.KeyColumn}
			whole.Items = append([]*tree.Node{name}, settings.Items...)
			items[i] = stepOf(p.item, &whole)
		}
	}
	return items
}

// extension changes the steps of a policy.
type extension struct {
	*resolver
	base string // its name
	list []placed
}

// find returns the index of the step of a name. It reports one that is not there at a node
// whose text or key is the name, and returns -1.
func (e *extension) find(n *tree.Node, atKey bool, name string) int {
	var names builder
	for i, p := range e.list {
		if p.name == name {
			return i
		}
		addName(&names, p.name)
	}
	report := e.fail
	if atKey {
		report = e.failKey
	}
	p := report(n, "the step $q, which is not there", "the name of a step")
	if known := names.String(); known != "" {
		p.allowed, p.word, p.near = "the name of a step: $l", known, word(known, nearest(name, known))
	}
	return -1
}

// remove drops the steps of a name or of a list of them.
func (e *extension) remove(n *tree.Node) {
	const allowed = "the name of a step, or a list of them"
	items := []*tree.Node{n}
	if n.Kind == tree.List && len(n.Items) > 0 {
		items = n.Items
	}
	for _, item := range items {
		if !e.isText(item, allowed) {
			continue
		}
		if i := e.find(item, false, item.Text); i >= 0 {
			e.list = append(e.list[:i:i], e.list[i+1:]...)
		}
	}
}

// each calls f with every step of a list.
func (e *extension) each(n *tree.Node, f func(item *tree.Node)) {
	if n.Kind != tree.List || len(n.Items) == 0 {
		e.mistyped(n, "a list of steps, one or more")
		return
	}
	if e.atMost(pipeline.MaxSteps, n, "$x steps"); len(n.Items) > pipeline.MaxSteps {
		return
	}
	for _, item := range n.Items {
		f(item)
	}
}

// change puts the settings of a step in place of the settings of the step of its name.
func (e *extension) change(item *tree.Node) {
	own := mechanismOf(item)
	if own == nil {
		e.reader.mechanism(item)
		return
	}
	name, at, atKey := nameOf(item), nameIn(own), false
	if name == "" {
		name, at, atKey = own.Key, own, true
	}
	i := e.find(at, atKey, name)
	if i < 0 {
		return
	}
	p := &e.list[i]
	was := mechanismOf(p.item)
	switch {
	case was == nil:
	case was.Key != own.Key:
		e.failKey(own, "$t where the step is a $w", "$w; remove and add replace a step").word = was.Key
	case p.changed:
		e.failKey(own, "a second change of the step $w", "one change of a step").word = quote(name)
	default:
		p.changed = true
		if merged := merge(was, own); merged != nil {
			p.item = stepOf(item, merged)
		} else {
			p.item = item
		}
	}
}

// add puts a step before or after another one, or behind all.
func (e *extension) add(item *tree.Node) {
	step, at := item, len(e.list)
	var position *tree.Node
	for _, name := range [...]string{"before", "after"} {
		n := entryOf(item, name)
		if n == nil {
			continue
		}
		step = without(step, n)
		if position != nil {
			e.failKey(n, "$t beside $w", "before or after").word = position.Key
			return
		}
		position = n
	}
	if position != nil {
		if !e.isText(position, "the name of a step") {
			return
		}
		if at = e.find(position, false, position.Text); at < 0 {
			return
		}
		if position.Key == "after" {
			at++
		}
	}
	own := mechanismOf(step)
	if own == nil {
		e.reader.mechanism(step)
		return
	}
	p := placed{item: e.step(step), name: nameOf(step)}
	for count := 1; p.name == ""; count++ {
		name := numbered(own.Key, count)
		if !has(e.list, name) {
			p.name = name
		}
	}
	e.list = append(e.list[:at:at], append([]placed{p}, e.list[at:]...)...)
}

// has reports whether a step has a name.
func has(list []placed, name string) bool {
	for _, p := range list {
		if p.name == name {
			return true
		}
	}
	return false
}

// defaults checks the defaults of a document, each by itself: what a step needs, and what
// its settings exclude, concerns the steps that take them.
func (r *reader) defaults(n *tree.Node) {
	var f fields
	if !f.read(r, n, "a map of mechanisms and their settings", mechanismNames()) {
		return
	}
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		row := mechanisms.Row(k)
		if row == nil {
			continue
		}
		if e := f.get(k.String()); e != nil {
			in := settings{reader: r, row: row}
			in.defaults(e)
		}
	}
}

// defaults reads the defaults of a mechanism.
func (s *settings) defaults(e *tree.Node) {
	s.draft = s.row.New()
	n := settingsOf(e)
	if n == nil {
		s.mistyped(e, s.row.Form)
		return
	}
	known := names(s.row.Settings) + " shadow"
	if s.row.Traits.Has(mechanism.Keyed) {
		known += " per keys when_full missing scope"
	}
	f := &s.fields
	if !f.read(s.reader, n, s.row.Form, known) {
		return
	}
	for i := range s.row.Settings {
		part := &s.row.Settings[i]
		if n := f.get(part.Name); n != nil {
			s.value(part, part.Name, n)
		}
	}
	var step pipeline.Step
	if n := f.get("shadow"); n != nil {
		s.asBool(n)
	}
	if n := f.get("per"); n != nil {
		f.per(n)
	}
	f.keyed(&step)
	if n := f.get("scope"); n != nil {
		s.scope(n)
	}
}
