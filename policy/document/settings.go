package document

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// settings reads the settings of a step into a draft. The draft reads the document
// through it.
type settings struct {
	*reader
	fields fields
	row    *mechanism.Row
	draft  mechanism.Draft
	given  []given
	// methods that the step names, the default ones where it names none.
	methods []string
	// class is the attribute whose values are the classes of a limit, and rates their
	// rates, nil for none.
	class string
	rates *tree.Node
}

// given is a setting that the document has.
type given struct {
	name        string
	node        *tree.Node
	whole, none bool
}

// read reads a step, with its short form, and returns its configuration.
func (s *settings) read(n *tree.Node) mechanism.Config {
	s.draft = s.row.New()
	for i := range s.row.Settings {
		if s.row.Settings[i].Type == mechanism.Methods {
			s.methods = DefaultMethods()
		}
	}
	if short := s.row.Setting(s.row.Short); short != nil && isShort(short.Type, n.Kind) {
		if short.Type == mechanism.Duration && n.Kind == tree.Number {
			s.mistyped(n, "$d")
			return s.draft.Config()
		}
		s.value(short, short.Name, n)
	} else if s.row.Like != "" && n.Kind == tree.Text {
		p := s.mistyped(n, s.row.Form)
		if isDelay(n.Text) {
			p.near, p.word, p.other, p.hint = "{$o: $w}", n.Text, s.row.Like, filled
		}
		return s.draft.Config()
	} else if !s.fields.read(s.reader, n, s.row.Form, names(s.row.Settings)+common) {
		return s.draft.Config()
	} else {
		s.parts(&s.fields, s.row.Settings, "")
	}
	s.draft.Check(s)
	return s.draft.Config()
}

// isShort reports whether a value may be a short form; a quantity without its unit
// may be one, too.
func isShort(t mechanism.Type, kind tree.Kind) bool {
	return kind == tree.Number || kind == tree.Text && t != mechanism.Count
}

// names lists the names of settings.
func names(settings []mechanism.Setting) string {
	var list builder
	for i := range settings {
		if i > 0 {
			list.add(" ")
		}
		list.add(settings[i].Name)
	}
	return list.String()
}

// parts reads the settings of a map and returns whether all that are there are
// whole, and all that are required are there.
func (s *settings) parts(f *fields, list []mechanism.Setting, prefix string) bool {
	whole := true
	for i := range list {
		part := &list[i]
		n := f.get(part.Name)
		if part.Required && (part.Or == "" || f.get(part.Or) == nil && !f.meant[index(f.known, part.Or)]) {
			n = f.need(part.Name, says(part))
			whole = whole && n != nil
		}
		if n != nil {
			whole = s.value(part, prefix+part.Name, n) && whole
		}
	}
	return whole
}

// says describes a setting, for an error that it is missing.
func says(part *mechanism.Setting) string {
	switch {
	case part.Says != "":
		return part.Says
	case part.Type == mechanism.Rate:
		return limitRateText
	}
	return "$d"
}

// value reads the value of a setting, and returns whether it is whole.
func (s *settings) value(part *mechanism.Setting, name string, n *tree.Node) bool {
	at := len(s.given)
	s.given = append(s.given, given{name: name, node: n, none: n.Kind == tree.Text && n.Text == noneWord})
	whole := s.typed(part, name, n)
	s.given[at].whole = whole
	return whole
}

// typed reads the value of a setting by its type.
func (s *settings) typed(part *mechanism.Setting, name string, n *tree.Node) bool {
	switch part.Type {
	case mechanism.Map:
		if short := shortPart(part, n); short != nil {
			return s.value(short, name+"."+short.Name, n)
		}
		var f fields
		return f.read(s.reader, n, part.Says, names(part.Parts)) && s.parts(&f, part.Parts, name+".")
	case mechanism.OneOf:
		return s.oneOf(part, name, n)
	case mechanism.Methods:
		s.methods = s.reader.methods(n)
		return true
	case mechanism.Attribute:
		name, ok := s.attribute(n, classAttributes, rateClassText)
		s.class = name
		return ok
	case mechanism.Rates:
		ok := s.areRates(n)
		if ok {
			s.rates = n
		}
		return ok
	}
	switch into := s.draft.Field(name).(type) {
	case *time.Duration:
		return s.asDuration(n, time.Duration(part.Least), into)
	case *uint32:
		return s.asInteger(n, int(part.Least), int(part.Most), into)
	case *reducer.Share:
		if part.Type == mechanism.Chance {
			return s.asShare(n, 0, int(reducer.Whole), chanceText, into)
		}
		return s.asRatio(n, into)
	case *bool:
		*into = s.asBool(n)
		return true
	case *uint8:
		i := s.asWord(n, part.Words)
		*into = uint8(max(i, 0))
		return i >= 0
	case mechanism.RateField:
		return s.asLimitRate(n, into)
	case mechanism.ZoneField:
		return s.asZone(n, into.Zone)
	case mechanism.WordsField:
		return s.words(n, part.Words, into.Set)
	case mechanism.CostField:
		return s.cost(n, part, into)
	case mechanism.DelayField:
		return s.delay(n, into)
	case mechanism.BoundField:
		return s.bound(n, into)
	case budget.Field:
		into.Set(n.Kind == tree.Text && n.Text == noneWord)
		return s.budget(n, into.Config)
	case *backoff.Config:
		switch part.Type {
		case mechanism.Backoff:
			s.backoff(n, into)
		case mechanism.OpenTime:
			s.open(n, into)
		case mechanism.BlockTime:
			s.blockTime(n, into)
		default:
			s.jitter(n, into)
		}
	}
	return true
}

// shortPart returns the part of a map whose value is in its place, nil for none. A map
// with none of the parts is the value of one that may be a map.
func shortPart(whole *mechanism.Setting, n *tree.Node) *mechanism.Setting {
	if whole.Short == "" {
		return nil
	}
	var short *mechanism.Setting
	for i := range whole.Parts {
		part := &whole.Parts[i]
		if part.Name == whole.Short {
			short = part
		}
	}
	if n.Kind != tree.Map {
		return short
	}
	known := names(whole.Parts)
	if short.Type != mechanism.BlockTime || slices.ContainsFunc(n.Items, func(e *tree.Node) bool { return index(known, e.Key) >= 0 }) {
		return nil
	}
	return short
}

// oneOf reads a map of which one variant is given.
func (s *settings) oneOf(part *mechanism.Setting, name string, n *tree.Node) bool {
	var f fields
	if !f.read(s.reader, n, part.Says, names(part.Parts)) {
		return false
	}
	var variants builder
	for i := range part.Parts {
		if part.Parts[i].Variant {
			if len(variants.text) > 0 {
				variants.add(" ")
			}
			variants.add(part.Parts[i].Name)
		}
	}
	e := f.oneOf(variants.String(), part.Says)
	if e == nil {
		return false
	}
	*s.draft.Field(name).(*uint8) = uint8(index(variants.String(), e.Key))
	whole, variant := true, ""
	for i := range part.Parts {
		p := &part.Parts[i]
		if p.Variant {
			variant = p.Name
		}
		switch found := f.get(p.Name); {
		case found == nil:
		case variant == e.Key:
			whole = s.value(p, name+"."+p.Name, found) && whole
		default:
			f.refuse(p.Name, "$t beside "+e.Key, "$t beside "+variant, "")
		}
	}
	return whole
}

// find returns a setting that is there, nil for one that is not.
func (s *settings) find(name string) *given {
	for i := range s.given {
		if s.given[i].name == name {
			return &s.given[i]
		}
	}
	return nil
}

// Has implements mechanism.Given, as the methods below do.
func (s *settings) Has(name string) bool { return s.find(name) != nil }

func (s *settings) Whole(name string) bool {
	g := s.find(name)
	return g != nil && g.whole
}

func (s *settings) None(name string) bool {
	g := s.find(name)
	return g != nil && g.none
}

func (s *settings) Meant(name string) bool {
	i := index(s.fields.known, name)
	return i >= 0 && s.fields.meant[i]
}

func (s *settings) Need(name, allowed string) { s.fields.need(name, allowed) }

// Refuse replaces other errors of the value: the setting is not allowed there,
// whatever its value.
func (s *settings) Refuse(name, found, allowed string) {
	g := s.find(name)
	if g == nil {
		return
	}
	s.forget(g.node)
	s.failKey(g.node, "$t "+found, "$t "+allowed)
}

func (s *settings) Wrong(name, allowed string) {
	if g := s.find(name); g != nil {
		s.mistyped(g.node, allowed)
	}
}

// forget drops the problems of a node and of its content.
func (r *reader) forget(n *tree.Node) {
	kept := r.problems[:0]
	for _, p := range r.problems {
		if p.atKey && p.node == n || !isIn(p.node, n) {
			kept = append(kept, p)
		}
	}
	r.problems = kept
}

// isIn reports whether a node is another one or in it.
func isIn(n, whole *tree.Node) bool {
	for n != nil && n != whole {
		n = n.Up
	}
	return n != nil
}
