package policy_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/policy"
)

// rows returns the rows of the table.
func rows() []*mechanism.Row {
	var list []*mechanism.Row
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		if row := mechanisms.Row(k); row != nil {
			list = append(list, row)
		}
	}
	return list
}

// TestRows holds rows and texts to each other: both have the same settings.
func TestRows(t *testing.T) {
	for _, row := range rows() {
		docs := mechanisms.Docs(row.Kind)
		require.NotNil(t, docs, row.Kind)
		assert.NotEmpty(t, docs.Means, row.Kind)
		names := 0
		var walk func(settings []mechanism.Setting, prefix string)
		walk = func(settings []mechanism.Setting, prefix string) {
			for i := range settings {
				s := &settings[i]
				name := prefix + s.Name
				names++
				assert.Same(t, s, row.Setting(name), name)
				doc := docs.Setting(name)
				if assert.NotNil(t, doc, "%s.%s", row.Kind, name) {
					assert.NotEmpty(t, doc.Meaning, name)
					assert.True(t, strings.HasPrefix(doc.Example, s.Name+": "), "%s: %s", name, doc.Example)
				}
				if s.Type != mechanism.Map && s.Type != mechanism.OneOf && s.Type != mechanism.Methods {
					assert.NotNil(t, row.New().Field(name), name)
				}
				walk(s.Parts, name+".")
			}
		}
		walk(row.Settings, "")
		assert.Len(t, docs.Settings, names, row.Kind)
		for _, name := range []string{row.Short, row.Like} {
			assert.True(t, name == "" || row.Setting(name) != nil, name)
		}
	}
}

// TestSchemaIsMadeOfTheRows compares the part of the schema that the rows say
// with the file, or writes the file.
func TestSchemaIsMadeOfTheRows(t *testing.T) {
	schema := parseOrdered(t, string(policy.Schema())).(object)
	defs := schema.get("$defs").(object)
	steps := object{}
	for _, row := range rows() {
		name := row.Kind.String()
		steps = append(steps, member{name, reference(name)})
		defs = defs.with(name, schemaOf(t, row))
	}
	defs = defs.with("step", defs.get("step").(object).with("properties", steps))
	golden(t, "schema.json", indented(t, schema.with("$defs", defs)))
}

func reference(name string) object { return object{{"$ref", "#/$defs/" + name}} }

// schemaOf returns the schema of a mechanism's settings and of its short form.
func schemaOf(t *testing.T, row *mechanism.Row) object {
	docs := mechanisms.Docs(row.Kind)
	examples := []any{}
	for _, example := range docs.Examples {
		examples = append(examples, parseOrdered(t, example))
	}
	settings := object{{"type", "object"}, {"additionalProperties", false}}
	properties, required := propertiesOf(t, row, row.Settings, "")
	for _, name := range []string{"name", "shadow"} {
		properties = append(properties, member{name, reference(name)})
	}
	needs := object{}
	if row.Traits.Has(mechanism.Keyed) {
		for _, name := range []string{"per", "keys", "when_full", "missing", "scope"} {
			properties = append(properties, member{name, reference(name)})
		}
		for _, name := range []string{"keys", "when_full", "missing"} {
			needs = append(needs, member{name, []any{"per"}})
		}
	}
	settings = append(settings, member{"properties", properties})
	if len(required) > 0 {
		settings = append(settings, member{"required", required})
	}
	if docs.Schema != "" {
		for _, m := range parseOrdered(t, docs.Schema).(object) {
			if m.name == "dependentRequired" {
				needs = append(slices.Clone(m.value.(object)), needs...)
			} else {
				settings = append(settings, m)
			}
		}
	}
	if len(needs) > 0 {
		settings = append(settings, member{"dependentRequired", needs})
	}
	means := member{"description", docs.Means}
	if row.Short == "" {
		return append(object{means, {"examples", examples}}, settings...)
	}
	short := valueSchema(t, row, row.Setting(row.Short), row.Short)
	return object{means, {"examples", examples}, {"anyOf", []any{short, append(object{{"description", "The settings one by one."}}, settings...)}}}
}

// propertiesOf returns the properties of a map, and which of them are required.
func propertiesOf(t *testing.T, row *mechanism.Row, settings []mechanism.Setting, prefix string) (properties object, required []any) {
	for i := range settings {
		s := &settings[i]
		properties = append(properties, member{s.Name, propertySchema(t, row, s, prefix+s.Name)})
		if s.Required {
			required = append(required, s.Name)
		}
	}
	return properties, required
}

// propertySchema is valueSchema with what people read.
func propertySchema(t *testing.T, row *mechanism.Row, s *mechanism.Setting, name string) object {
	doc := mechanisms.Docs(row.Kind).Setting(name)
	property := object{{"description", sentences(doc)}}
	property = append(property, valueSchema(t, row, s, name)...)
	if doc.Value != "" {
		property = append(property, member{"default", parseOrdered(t, doc.Value)})
	}
	root, whole := policy.ReadTree("example.yaml", []byte(doc.Example+"\n"))
	require.True(t, whole, doc.Example)
	example, err := plainJSON(policy.Plain(root.Items[0]))
	require.NoError(t, err)
	return append(property, member{"examples", []any{parseOrdered(t, string(example))}})
}

// sentences returns the texts of a setting without Markdown.
func sentences(doc *mechanism.Doc) string {
	text := capital(doc.Meaning) + "."
	if note := doc.Note; note != "" {
		text += " " + capital(note) + "."
	}
	if doc.Range != "" {
		text += " Range: " + doc.Range + "."
	}
	if doc.Value == "" && doc.Default != "" {
		text += " Default: " + doc.Default + "."
	}
	if doc.Larger != "" {
		text += " Larger: " + doc.Larger + ". Smaller: " + doc.Smaller + "."
	}
	text = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(text, "$1")
	return strings.ReplaceAll(text, "`", "")
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// valueSchema returns the schema of a setting's value by its type.
func valueSchema(t *testing.T, row *mechanism.Row, s *mechanism.Setting, name string) object {
	switch s.Type {
	case mechanism.Duration:
		if s.Least == 0 {
			return reference("durationOrZero")
		}
		return reference("duration")
	case mechanism.Count:
		return object{{"type", "integer"}, {"minimum", s.Least}, {"maximum", s.Most}}
	case mechanism.Bool:
		return object{{"type", "boolean"}}
	case mechanism.Word:
		words := []any{}
		for _, word := range strings.Fields(s.Words) {
			words = append(words, word)
		}
		return object{{"type", "string"}, {"enum", words}}
	case mechanism.Map:
		properties, required := propertiesOf(t, row, s.Parts, name+".")
		return object{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}, {"required", required}}
	case mechanism.OneOf:
		return object{{"anyOf", variants(t, row, s, name)}}
	}
	return reference(schemaNames[s.Type])
}

// schemaNames are the definitions of the types that the schema file has.
var schemaNames = map[mechanism.Type]string{
	mechanism.Share: "share", mechanism.Rate: "rate", mechanism.Delay: "delay", mechanism.Backoff: "backoff",
	mechanism.OpenTime: "openTime", mechanism.Jitter: "jitter", mechanism.Budget: "budget", mechanism.Methods: "methods",
}

// variants returns a schema for each variant.
func variants(t *testing.T, row *mechanism.Row, s *mechanism.Setting, name string) []any {
	list := []any{}
	for start := 0; start < len(s.Parts); {
		end := start + 1
		for end < len(s.Parts) && !s.Parts[end].Variant {
			end++
		}
		properties, _ := propertiesOf(t, row, s.Parts[start:end], name+".")
		list = append(list, object{
			{"type", "object"}, {"additionalProperties", false}, {"properties", properties}, {"required", []any{s.Parts[start].Name}},
		})
		start = end
	}
	return list
}

// TestReferenceTables compares the tables of the mechanisms on the reference page
// with the rows, or writes them.
func TestReferenceTables(t *testing.T) {
	src, err := os.ReadFile("REFERENCE.md")
	require.NoError(t, err)
	page := string(src)
	for _, row := range rows() {
		begin, end := "<!-- settings of "+row.Kind.String()+" -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(page, begin)
		require.True(t, ok, "%s is not on the page", begin)
		_, behind, ok := strings.Cut(rest, end)
		require.True(t, ok, "the table of %s has no end", row.Kind)
		page = before + begin + table(t, row) + end + behind
	}
	golden(t, "REFERENCE.md", page)
}

// table returns the table of a mechanism's settings.
func table(t *testing.T, row *mechanism.Row) string {
	text := "| setting | type | range | default | example | meaning | larger | smaller |\n|---|---|---|---|---|---|---|---|\n"
	docs := mechanisms.Docs(row.Kind)
	for i := range row.Settings {
		s := &row.Settings[i]
		doc := docs.Setting(s.Name)
		form := doc.Type
		if form == "" {
			form = typeText(s)
		}
		if doc.Note != "" {
			form += "; " + doc.Note
		}
		span := doc.Range
		if span == "" {
			span = rangeText(s)
		}
		line := "|"
		for _, cell := range []string{"`" + s.Name + "`", form, span, defaultText(t, s, doc), "`" + doc.Example + "`", doc.Meaning, doc.Larger, doc.Smaller} {
			if cell != "" {
				line += " " + cell
			}
			line += " |"
		}
		text += line + "\n"
	}
	return text
}

// typeText says what a value is.
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
	return map[mechanism.Type]string{
		mechanism.Count: "number", mechanism.Share: "share", mechanism.Bool: "true or false", mechanism.Rate: "rate",
		mechanism.Delay: "duration or percentile", mechanism.Backoff: "`none` or a [backoff](#backoff)",
		mechanism.OpenTime: "duration, or a [backoff](#backoff) other than `none` in which `jitter` may be written",
		mechanism.Jitter:   "`none`, `full`, `equal` or a share", mechanism.Budget: "`none`, a ratio or a [budget](#budget)",
		mechanism.Methods: "an HTTP method or a list of them",
	}[s.Type]
}

// rangeText says which values there are.
func rangeText(s *mechanism.Setting) string {
	switch s.Type {
	case mechanism.Count:
		return grouped(s.Least) + " to " + grouped(s.Most)
	case mechanism.Methods:
		return "the eight of RFC 9110 and PATCH, upper case"
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

// defaultText says what a setting is that is left out.
func defaultText(t *testing.T, s *mechanism.Setting, doc *mechanism.Doc) string {
	switch {
	case s.Required:
		return "required"
	case doc.Default != "":
		return doc.Default
	case doc.Value == "":
		return "none"
	}
	switch value := parseOrdered(t, doc.Value).(type) {
	case object:
		return "`" + flow(value) + "`"
	case string:
		if value[0] >= '0' && value[0] <= '9' {
			return value
		}
		return "`" + value + "`"
	case []any:
		var words []string
		for _, word := range value {
			words = append(words, fmt.Sprint(word))
		}
		return strings.Join(words, ", ")
	default:
		return fmt.Sprint(value)
	}
}

// flow writes an object as YAML does in one line.
func flow(o object) string {
	var entries []string
	for _, m := range o {
		entries = append(entries, fmt.Sprintf("%s: %v", m.name, m.value))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}
