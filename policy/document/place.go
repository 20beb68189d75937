package document

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/policy/tree"
)

// report collects the errors of one document.
type report struct {
	file string
	list Errors
	more int // errors past MaxErrors
}

// errors returns what was collected in the order of the lines, nil for nothing.
func (r *report) errors() Errors {
	slices.SortStableFunc(r.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if r.more > 0 {
		r.list = append(r.list, &Error{
			File:    r.file,
			Found:   strconv.Itoa(r.more) + " more errors",
			Allowed: "none; they show once those above are mended",
		})
	}
	return r.list
}

// place is a node, the path to it, and the report that its errors go to.
type place struct {
	*report
	node *tree.Node
	path string
}

// fail reports an error at the place itself.
func (p place) fail(found, allowed, near string) {
	if p.node.Kind != tree.Bad {
		p.failAt(p.node.Line, p.node.Column, p.path, found, allowed, near)
	}
}

// mistyped reports that the node is not of the type that is allowed.
func (p place) mistyped(allowed string) { p.fail(describe(p.node), allowed, "") }

// failAt reports an error at any line and path.
func (p place) failAt(line, column int, path, found, allowed, near string) {
	if p.full() {
		p.more++
		return
	}
	p.list = append(p.list, &Error{
		File: p.file, Line: line, Column: column, Path: path, Found: found, Allowed: allowed, Nearest: near,
	})
}

// full reports whether further errors are only counted, so that no work is
// owed to their texts.
func (r *report) full() bool { return len(r.list) == MaxErrors }

// item returns the place of an item of a list.
func (p place) item(i int) place {
	return place{p.report, p.node.Items[i], p.path + "[" + strconv.Itoa(i) + "]"}
}

// JoinPath returns the path of a name inside the path, quoted when the name is
// none that a document may have.
func JoinPath(path, name string) string {
	switch {
	case !plainName(name):
		return path + "[" + quote(name) + "]"
	case path == "":
		return shorten(name)
	}
	return path + "." + shorten(name)
}

// plainName reports whether a name reads well in a path without quotes.
func plainName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r == '-' || r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}

// describe says what a node is, in the words of an error.
func describe(n *tree.Node) string {
	switch n.Kind {
	case tree.Null:
		return "nothing"
	case tree.Bool:
		return n.Text
	case tree.Number:
		return "the number " + shorten(n.Text)
	case tree.Text:
		return "the text " + quote(n.Text)
	case tree.List:
		if len(n.Items) == 0 {
			return "an empty list"
		}
		return "a list"
	}
	if len(n.Entries) == 0 {
		return "an empty map"
	}
	return "a map"
}

// quote returns a text in quotes, shortened.
func quote(text string) string { return strconv.Quote(shorten(text)) }

// shorten cuts what is too long for an error, between two characters.
func shorten(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + "..."
}
