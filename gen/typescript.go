package main

import "strings"

// value is a value of TypeScript. Its text begins in a column, and its further lines
// are indented.
type value interface {
	text(indent, column int) string
}

// word is a value as it is written.
type word string

func (w word) text(int, int) string { return string(w) }

// object has properties in their order.
type object []property

type property struct {
	name string
	value
}

func (o *object) add(name, text string) { *o = append(*o, property{name, word(text)}) }

// addText adds a property whose value is a text, unless it is empty.
func (o *object) addText(name, text string) {
	if text != "" {
		o.add(name, quoted(text))
	}
}

// without returns the object without a property.
func (o object) without(name string) object {
	var kept object
	for _, p := range o {
		if p.name != name {
			kept = append(kept, p)
		}
	}
	return kept
}

// list is a list of objects.
type list []value

func (o object) text(indent, column int) string {
	if line := o.line(); column+len(line) <= width && !strings.Contains(line, "\n") {
		return line
	}
	var b strings.Builder
	b.WriteString("{\n")
	space := strings.Repeat(" ", indent+2)
	for _, p := range o {
		b.WriteString(space + p.name + ": ")
		b.WriteString(p.value.text(indent+2, indent+2+len(p.name)+3))
		b.WriteString(",\n")
	}
	b.WriteString(space[2:] + "}")
	return b.String()
}

func (o object) line() string {
	var parts []string
	for _, p := range o {
		parts = append(parts, p.name+": "+p.value.text(0, 0))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

func (l list) text(indent, column int) string {
	if len(l) == 1 {
		// The comma behind it fits, too.
		if line := "[" + l[0].text(0, 0) + "]"; column+len(line) <= width && !strings.Contains(line, "\n") {
			return line
		}
	}
	var b strings.Builder
	b.WriteString("[\n")
	space := strings.Repeat(" ", indent+2)
	for _, v := range l {
		b.WriteString(space + v.text(indent+2, indent+3) + ",\n")
	}
	b.WriteString(space[2:] + "]")
	return b.String()
}

// quoted writes a text in single quotes, or in double ones where it has single ones alone.
func quoted(text string) string {
	if strings.Contains(text, "'") && !strings.ContainsAny(text, `"\`) {
		return `"` + text + `"`
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
