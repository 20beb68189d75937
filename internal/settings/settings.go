package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
)

// Setting is the documentation of one setting, in Markdown.
type Setting struct {
	// Name in the map of the mechanism's settings. The name of a part has the name of its whole
	// in front, as in "ramp.over".
	Name string
	// Type of the value, and what the setting needs or excludes.
	Type string
	// Range of the value. Empty where the type determines it.
	Range string
	// Default, "required" or "none".
	Default string
	// Example is an entry of the map.
	Example string
	// Meaning of the value, and what a Larger and a Smaller one do.
	Meaning, Larger, Smaller string
}

// Names returns the mechanisms and their settings, as in "limit", "limit.rate" and
// "limit.warm_up.over".
func Names() []string {
	var names []string
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		list := Of(k)
		if list == nil {
			continue
		}
		names = append(names, k.String())
		for _, s := range list {
			names = append(names, k.String()+"."+s.Name)
		}
	}
	return names
}

// Explain returns a text about a setting or about all of a mechanism, named as
// Names does, and false for an unknown name.
func Explain(name string) (text string, ok bool) {
	of, setting, one := strings.Cut(name, ".")
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		list := Of(k)
		if k.String() != of || list == nil {
			continue
		}
		if !one {
			text = of + ": " + mechanisms.Docs(k).Means + "\n"
		}
		for _, s := range list {
			if !one || s.Name == setting {
				text += explain(of, s)
			}
		}
		return text, text != ""
	}
	return "", false
}

// explain returns the lines of one setting.
func explain(of string, s Setting) string {
	text := of + "." + s.Name + "\n"
	for _, line := range [][2]string{
		{"meaning", s.Meaning}, {"type", s.Type}, {"range", s.Range}, {"default", s.Default}, {"example", s.Example}, {"larger", s.Larger}, {"smaller", s.Smaller},
	} {
		if line[1] != "" {
			text += fmt.Sprintf("  %-8s %s\n", line[0], Plain(line[1]))
		}
	}
	return text
}

var link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// Plain returns Markdown without its marks.
func Plain(text string) string {
	return strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "`", "")
}

// Of returns the settings of a mechanism in their order, parts behind their whole, nil for a
// mechanism that this version does not have.
func Of(k mechanism.Kind) []Setting {
	row, docs := mechanisms.Row(k), mechanisms.Docs(k)
	if row == nil {
		return nil
	}
	return listed(docs, row.Settings, "")
}

// listed returns the settings, whose names have a prefix where they are parts.
func listed(docs *mechanism.Docs, rows []mechanism.Setting, prefix string) (list []Setting) {
	for i := range rows {
		s := &rows[i]
		name := prefix + s.Name
		doc := docs.Setting(name)
		one := Setting{
			Name: name, Type: doc.Type, Range: doc.Range, Default: defaultText(s, doc),
			Example: doc.Example, Meaning: doc.Meaning, Larger: doc.Larger, Smaller: doc.Smaller,
		}
		if one.Type == "" {
			one.Type = typeText(s)
		}
		if doc.Note != "" {
			one.Type += "; " + doc.Note
		}
		if one.Range == "" {
			one.Range = rangeText(s)
		}
		list = append(append(list, one), listed(docs, s.Parts, name+".")...)
	}
	return list
}

// typeTexts are the types whose text does not depend on the setting.
var typeTexts = map[mechanism.Type]string{
	mechanism.Count: "number", mechanism.Share: "share", mechanism.Chance: "share, `0%` allowed", mechanism.Bool: "true or false", mechanism.Rate: "rate",
	mechanism.Delay: "duration or percentile", mechanism.Bound: "duration or share", mechanism.Backoff: "`none` or a [backoff](#backoff)",
	mechanism.OpenTime:  "duration, or a [backoff](#backoff) other than `none` in which `jitter` may be written",
	mechanism.BlockTime: "duration, or a [backoff](#backoff) other than `none` and `decorrelated`",
	mechanism.Jitter:    "`none`, `full`, `equal` or a share", mechanism.Budget: "`none`, a ratio or a [budget](#budget)",
	mechanism.Methods:   "an HTTP method or a list of them",
	mechanism.Attribute: "one of the attributes of [per](#common-settings), not `ip`", mechanism.Rates: "a map of classes and their rates",
}

// typeText describes the type of a value.
func typeText(s *mechanism.Setting) string {
	switch s.Type {
	case mechanism.Duration:
		if s.Least == 0 {
			return "duration, `0s` allowed"
		}
		return "duration"
	case mechanism.Word:
		return "`" + strings.Join(strings.Fields(s.Words), "`, `") + "`"
	}
	return typeTexts[s.Type]
}

// rangeText describes the range of a value.
func rangeText(s *mechanism.Setting) string {
	switch s.Type {
	case mechanism.Count:
		return grouped(s.Least) + " to " + grouped(s.Most)
	case mechanism.Methods:
		return "the eight of RFC 9110 and PATCH, upper case"
	case mechanism.Rates:
		return "classes of lower-case letters, digits and hyphens; at most 15"
	}
	return ""
}

// grouped writes a number with separators from five digits on.
func grouped(n uint32) string {
	text := strconv.FormatUint(uint64(n), 10)
	if len(text) < 5 {
		return text
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// defaultText describes the default of a setting.
func defaultText(s *mechanism.Setting, doc *mechanism.Doc) string {
	switch {
	case s.Variant:
		return "one of them is required"
	case s.Or != "":
		return "required without `" + s.Or + "`"
	case s.Required:
		return "required"
	case doc.Default != "":
		return doc.Default
	case doc.Value == "":
		return "none"
	}
	text, quoted := strings.Trim(doc.Value, `"`), strings.HasPrefix(doc.Value, `"`)
	switch {
	case doc.Value[0] == '{':
		return "`" + flow(doc.Value) + "`"
	case doc.Value[0] == '[':
		return strings.Trim(flow(doc.Value), "[]")
	case quoted && !slices.Contains([]byte("0123456789"), text[0]):
		return "`" + text + "`"
	}
	return text
}

// flow writes JSON as YAML does in one line. The defaults have no signs in their
// texts that would need quotes.
func flow(value string) string {
	return strings.NewReplacer(`":`, ": ", `"`, "", ",", ", ").Replace(value)
}
