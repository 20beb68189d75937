package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
)

// bounds writes the function that checks the ranges of the settings, and then the relations
// between them.
func (s *source) bounds() {
	s.printf("// check adds what is wrong with the ranges of the settings, and where nothing is, with the\n// relations between them.\nfunc (c *Config) check(e *reducer.ConfigErrors) {\n")
	for _, one := range s.settings {
		if one.Is.Type != mechanism.OneOf {
			s.bound(one, one.Needed || one.Is.Required)
			for _, p := range one.parts {
				s.bound(p, false)
			}
			continue
		}
		s.printf("switch c.%s {\n", one.places[0].path)
		variant := 0
		for _, p := range one.parts {
			if p.Is.Variant {
				s.printf("case %d:\n", variant)
				variant++
			}
			s.bound(p, p.Is.Variant || p.Value != "")
		}
		s.printf("default:\ne.Count(true, %q, uint64(c.%s), %q)\n}\n", one.Name, one.places[0].path, one.Is.Says)
	}
	if b := s.comparisons(false, false); b != "" {
		s.printf("if len(*e) > 0 {\nreturn\n}\n%s", b)
	}
	s.printf("}\n")
}

// bound writes the check of a range. Where a value is needed, it is not the zero value.
func (s *source) bound(one *setting, needed bool) {
	if one.ByHand || s.bounded(one, mechanism.AtMost) && (!needed || s.bounded(one, mechanism.AtLeast)) {
		return
	}
	least := 0
	if needed {
		least = 1
	}
	path := ""
	if len(one.places) > 0 {
		path = "c." + one.places[0].path
	}
	switch is := one.Is; is.Type {
	case mechanism.Count:
		s.printf("e.Within(%q, %s, %d, %d)\n", one.Name, path, uint32(least)*is.Least, is.Most)
	case mechanism.Duration:
		s.printf("e.Lasts(%q, %s, %d)\n", one.Name, path, least)
	case mechanism.Share, mechanism.Chance:
		most := "1000000"
		for _, r := range s.relations {
			if r.Setting != one.Name || s.named[r.Than] != nil {
				continue
			}
			if most = millionths(r.Than); r.Op == mechanism.Below {
				s.printf("e.Share(%s.Millionths() >= %s, %q, %s, %q)\n", path, most, one.Name, path, r.Says)
				return
			}
		}
		s.printf("e.PartOf(%q, %s, %d, %s)\n", one.Name, path, least, most)
	case mechanism.Word:
		words := strings.Fields(is.Words)
		allowed := strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
		s.printf("e.Count(%s > %d, %q, uint64(%s), %q)\n", path, len(words)-1, one.Name, path, allowed)
	case mechanism.Bound:
		over, share := path, "c."+one.places[1].path
		s.printf("e.Duration(%[2]s < 0 || (%[2]s > 0) == %[3]s.Positive(), %[1]q, %[2]s, \"more than 0, or a share in its place\")\n", one.Name, over, share)
		s.printf("e.PartOf(%q, %s, 0, 1000000)\n", one.Name, share)
	}
}

// bounded reports whether a relation with another number, which is in its own range, bounds a number.
func (s *source) bounded(one *setting, op mechanism.Op) bool {
	return one.Is.Type == mechanism.Count && slices.ContainsFunc(s.relations, func(r mechanism.Relation) bool {
		other := s.named[r.Than]
		return r.Setting == one.Name && r.Op == op && other != nil && other.Is.Type == mechanism.Count && other.Is.Most <= one.Is.Most && other.Is.Least >= one.Is.Least
	})
}

// millionths returns the number of a share as a document has it.
func millionths(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(must(share(text)), "reducer.Millionths("), ")")
}

func must(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}

// compare writes the comparisons of a draft: of what the document says with fixed values, then
// with the defaults of the settings with each other.
func (s *source) compare() {
	fixed, others := s.comparisons(true, true), s.comparisons(true, false)
	if fixed+others == "" {
		return
	}
	s.printf("// compare reports the values of settings that do not stand in their relations")
	if s.defaults {
		s.printf(", and fills in the\n// defaults")
	}
	s.printf(".\nfunc (d *draft) compare(g mechanism.Given) {\nc := &d.c\n%s", fixed)
	if s.defaults {
		s.printf("*c = c.WithDefaults()\n")
	}
	s.printf("%s}\n\n", others)
}

// comparisons returns the statements that compare settings with fixed values or with each
// other, of a draft or of a configuration.
func (s *source) comparisons(draft, fixed bool) string {
	var b strings.Builder
	for _, group := range s.groups() {
		var cases []string
		var readable, aside []string
		for _, r := range group {
			one, other := s.named[r.Setting], s.named[r.Than]
			if !draft && r.Document || (other == nil) != fixed {
				continue
			}
			wrong := s.wrong(&r)
			if draft && (r.Aside || len(group) == 1) {
				wrong = fmt.Sprintf("g.Whole(%q) && %s", r.Setting, wrong)
			} else {
				readable = append(readable, r.Setting)
			}
			if other != nil {
				readable = append(readable, r.Than)
			}
			if !draft && r.Op == mechanism.AtLeast && !one.Needed && !one.Is.Required && !one.Is.Variant {
				wrong = not(one.form.zero(one.places)) + " && " + wrong
			}
			if r.Aside {
				aside = append(aside, r.Setting)
			}
			report := fmt.Sprintf("g.Wrong(%q, %s)", r.Setting, s.says(&r))
			if !draft {
				report = fmt.Sprintf("e.%s(true, %q, %s, %q)", one.form.report, r.Setting, one.form.found(one.places), strings.NewReplacer(", #", "", "# ", "").Replace(r.Says))
			}
			cases = append(cases, fmt.Sprintf("case %s:\n%s\n", wrong, report))
		}
		if len(cases) == 0 {
			continue
		}
		slices.Sort(readable)
		readable = slices.DeleteFunc(slices.Compact(readable), func(name string) bool { return slices.Contains(aside, name) })
		text := "switch {\n" + strings.Join(cases, "") + "}\n"
		if len(cases) == 1 {
			condition, report, _ := strings.Cut(strings.TrimPrefix(cases[0], "case "), ":\n")
			if draft {
				condition = s.readable(readable) + condition
			}
			text = "if " + condition + " {\n" + report + "}\n"
		} else if draft {
			text = "if " + strings.TrimSuffix(s.readable(readable), " && ") + " {\n" + text + "}\n"
		}
		b.WriteString(text)
	}
	return b.String()
}

// readable returns the condition that settings could be read where they are given, and that
// required ones are given.
func (s *source) readable(names []string) string {
	text, optional := "", []string{}
	for _, name := range names {
		one := s.named[name]
		if one.whole != nil && one.whole.Is.Type == mechanism.OneOf {
			name, one = one.whole.Name, one.whole
		}
		if one.Is.Required {
			text += fmt.Sprintf("g.Whole(%q) && ", name)
		} else {
			optional = append(optional, fmt.Sprintf("%q", name))
		}
	}
	if len(optional) > 0 {
		text += "mechanism.Readable(g, " + strings.Join(slices.Compact(optional), ", ") + ") && "
	}
	return text
}

// groups returns the relations, those that share a setting together.
func (s *source) groups() (groups [][]mechanism.Relation) {
	for _, r := range s.relations {
		joined := false
		if s.named[r.Than] != nil {
			for i := range groups {
				if slices.ContainsFunc(groups[i], func(o mechanism.Relation) bool {
					return s.named[o.Than] != nil && (o.Setting == r.Setting || o.Than == r.Than || o.Setting == r.Than || o.Than == r.Setting)
				}) && !joined {
					groups[i], joined = append(groups[i], r), true
				}
			}
		}
		if !joined {
			groups = append(groups, []mechanism.Relation{r})
		}
	}
	return groups
}

// wrong returns the condition that a relation does not hold.
func (s *source) wrong(r *mechanism.Relation) string {
	op := map[mechanism.Op]string{mechanism.AtMost: ">", mechanism.AtLeast: "<", mechanism.Below: ">="}[r.Op]
	one, other := s.named[r.Setting], s.named[r.Than]
	if other == nil {
		value := strings.TrimSuffix(strings.TrimPrefix(must(one.form.literal(r.Than)), "reducer.Millionths("), ")")
		return fmt.Sprintf("%s %s %s", one.form.compared(one.places), op, value)
	}
	text := fmt.Sprintf("%s %s %s", one.form.compared(one.places), op, other.form.compared(other.places))
	if one.Is.Type == mechanism.Duration && other.Is.Type == mechanism.Duration {
		text = fmt.Sprintf("c.%s %s c.%s", one.places[0].path, op, other.places[0].path)
	} else if one.Is.Type == mechanism.Duration {
		text = fmt.Sprintf("%s %s uint64(%s)", one.form.compared(one.places), op, other.form.compared(other.places))
	}
	for _, part := range []*setting{one, other} {
		if part.whole != nil && part.whole.Is.Type == mechanism.OneOf {
			return fmt.Sprintf("c.%s == %d && %s", part.whole.places[0].path, part.variant, text)
		}
	}
	return text
}

// says returns the expression of the text of a relation.
func (s *source) says(r *mechanism.Relation) string {
	before, after, ok := strings.Cut(r.Says, "#")
	if !ok {
		return fmt.Sprintf("%q", r.Says)
	}
	other := s.named[r.Than]
	text := fmt.Sprintf("%q+mechanism.Number(%s)", before, other.form.compared(other.places))
	if after != "" {
		text += fmt.Sprintf("+%q", after)
	}
	return text
}
