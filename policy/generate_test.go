package policy_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/internal/settings"
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

// TestRows compares rows and texts: both have the same settings.
func TestRows(t *testing.T) {
	for _, row := range rows() {
		docs := mechanisms.Docs(row.Kind)
		require.NotNil(t, docs, row.Kind)
		assert.NotEmpty(t, docs.Means, row.Kind)
		config := row.New().Config()
		assert.Equal(t, config, docs.Draft(config).Config(), "%s: a draft of a configuration", row.Kind)
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
				if s.Type != mechanism.Map && s.Type != mechanism.OneOf && !s.Type.Fieldless() {
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

// TestSchemaIsMadeOfTheRows compares the part of the schema that the rows determine
// with the file, or writes the file.
func TestSchemaIsMadeOfTheRows(t *testing.T) {
	schema := parseOrdered(t, string(policy.Schema())).(object)
	defs := schema.get("$defs").(object)
	whole, part, given := object{}, object{}, object{}
	for _, row := range rows() {
		name := row.Kind.String()
		whole = append(whole, member{name, reference(name)})
		part = append(part, member{name, partOf(t, row)})
		given = append(given, member{name, givenOf(t, row)})
		defs = defs.with(name, schemaOf(t, row)).with(settingsName(row), settingsSchema(t, row))
	}
	whole, part = append(whole, member{"use", reference("use")}), append(part, member{"use", reference("use")})
	places := object{{"before", reference("before")}, {"after", reference("after")}}
	for name, properties := range map[string]object{
		"step": whole, "stepPart": part, "added": whole, "addedPart": append(places, part...), "defaults": given,
	} {
		defs = defs.with(name, defs.get(name).(object).with("properties", properties))
	}
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
	whole := reference(settingsName(row))
	_, required := propertiesOf(t, row, row.Settings, "")
	needs := object{}
	if row.Traits.Has(mechanism.Keyed) {
		for _, name := range []string{"keys", "when_full", "missing"} {
			needs = append(needs, member{name, []any{"per"}})
		}
	}
	if len(required) > 0 {
		whole = append(whole, member{"required", required})
	}
	if docs.Schema != "" {
		for _, m := range parseOrdered(t, docs.Schema).(object) {
			if m.name == "dependentRequired" {
				needs = append(slices.Clone(m.value.(object)), needs...)
			} else {
				whole = append(whole, m)
			}
		}
	}
	if len(needs) > 0 {
		whole = append(whole, member{"dependentRequired", needs})
	}
	means := member{"description", docs.Means}
	if row.Short == "" {
		return append(object{means, {"examples", examples}}, whole...)
	}
	short := valueSchema(t, row, row.Setting(row.Short), row.Short)
	return object{means, {"examples", examples}, {"anyOf", []any{short, append(object{{"description", "The settings one by one."}}, whole...)}}}
}

// settingsName is the name of the definition of settingsSchema.
func settingsName(row *mechanism.Row) string { return row.Kind.String() + "Settings" }

// settingsSchema returns the schema of settings any of which may be left out.
func settingsSchema(t *testing.T, row *mechanism.Row) object {
	properties, _ := propertiesOf(t, row, row.Settings, "")
	for _, name := range []string{"name", "shadow", "when", "enforce"} {
		properties = append(properties, member{name, reference(name)})
	}
	if row.Traits.Has(mechanism.Keyed) {
		for _, name := range []string{"per", "keys", "when_full", "missing", "scope"} {
			properties = append(properties, member{name, reference(name)})
		}
	}
	properties = append(properties, member{"description", reference("description")}, member{"defaults", reference("withoutDefaults")})
	return object{{"description", "Settings of a " + row.Kind.String() + "."}, {"type", "object"}, {"additionalProperties", false}, {"properties", properties}}
}

// partOf returns the schema of a step's settings that may be incomplete, or of its short
// form.
func partOf(t *testing.T, row *mechanism.Row) object {
	means := member{"description", mechanisms.Docs(row.Kind).Means}
	if row.Short == "" {
		return append(object{means}, reference(settingsName(row))...)
	}
	short := valueSchema(t, row, row.Setting(row.Short), row.Short)
	return object{means, {"anyOf", []any{short, reference(settingsName(row))}}}
}

// givenOf returns the schema of the defaults of a mechanism, which have no settings of one
// step alone.
func givenOf(t *testing.T, row *mechanism.Row) object {
	alone := []any{}
	for _, name := range []string{"name", "when", "enforce", "description", "defaults"} {
		alone = append(alone, object{{"type", "object"}, {"required", []any{name}}})
	}
	return append(partOf(t, row), member{"not", object{{"anyOf", alone}}})
}

// propertiesOf returns the properties of a map, and which of them are required.
func propertiesOf(t *testing.T, row *mechanism.Row, settings []mechanism.Setting, prefix string) (properties object, required []any) {
	for i := range settings {
		s := &settings[i]
		properties = append(properties, member{s.Name, propertySchema(t, row, s, prefix+s.Name)})
		if s.Required && s.Or == "" {
			required = append(required, s.Name)
		}
	}
	return properties, required
}

// propertySchema is valueSchema with the texts for people.
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
	return settings.Plain(text)
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
	case mechanism.Words:
		one := valueSchema(t, row, &mechanism.Setting{Type: mechanism.Word, Words: s.Words}, name)
		return object{{"anyOf", []any{one, object{{"type", "array"}, {"items", one}, {"minItems", 1}, {"uniqueItems", true}}}}}
	case mechanism.Word:
		words := []any{}
		for _, word := range strings.Fields(s.Words) {
			words = append(words, word)
		}
		return object{{"type", "string"}, {"enum", words}}
	case mechanism.Map:
		properties, required := propertiesOf(t, row, s.Parts, name+".")
		whole := object{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}, {"required", required}}
		for i := range s.Parts {
			if p := &s.Parts[i]; p.Or != "" {
				either := []any{object{{"required", []any{p.Name}}}, object{{"required", []any{p.Or}}}}
				whole = append(whole, member{"anyOf", either})
			}
		}
		if s.Short == "" {
			return whole
		}
		short := name + "." + s.Short
		return object{{"anyOf", []any{valueSchema(t, row, row.Setting(short), short), whole}}}
	case mechanism.OneOf:
		return object{{"anyOf", variants(t, row, s, name)}}
	}
	return reference(schemaNames[s.Type])
}

// schemaNames are the definitions of the types that the schema file has.
var schemaNames = map[mechanism.Type]string{
	mechanism.Share: "share", mechanism.Chance: "chance", mechanism.Rate: "limitRate", mechanism.Delay: "delay", mechanism.Bound: "bound", mechanism.Backoff: "backoff",
	mechanism.OpenTime: "openTime", mechanism.Jitter: "jitter", mechanism.Budget: "budget", mechanism.Methods: "methods",
	mechanism.Cost: "cost", mechanism.BlockTime: "blockTime", mechanism.Attribute: "classAttribute", mechanism.Rates: "rates", mechanism.Zone: "zone",
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
		page = before + begin + table(row) + end + behind
	}
	golden(t, "REFERENCE.md", page)
}

// table returns the table of a mechanism's settings.
func table(row *mechanism.Row) string {
	text := "| setting | type | range | default | example | meaning | larger | smaller |\n|---|---|---|---|---|---|---|---|\n"
	for _, s := range settings.Of(row.Kind) {
		line := "|"
		for _, cell := range []string{"`" + s.Name + "`", s.Type, s.Range, s.Default, "`" + s.Example + "`", s.Meaning, s.Larger, s.Smaller} {
			if cell != "" {
				line += " " + cell
			}
			line += " |"
		}
		text += line + "\n"
	}
	return text
}
