package document

import (
	"time"

	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// Reader reads a document of another kind that has policies inside, as a scenario
// does, with the errors and the texts of a policy document.
//
// Its methods read a node as a type. They return false, and note an error, for a node
// of another type.
type Reader struct{ r reader }

// NewReader returns a reader for a file, with the errors of the reader of the source.
func NewReader(file string, before Errors) *Reader {
	return &Reader{r: reader{file: file, before: before}}
}

// Err returns all errors so far in the order of their places, nil for none.
func (r *Reader) Err() error { return r.r.err() }

// Fail notes an error: a node is not what is allowed. What was found is described by
// the node itself.
func (r *Reader) Fail(n *tree.Node, allowed string) { r.r.mistyped(n, allowed) }

// FailKey is Fail for the key of an entry, with a text that describes it.
func (r *Reader) FailKey(e *tree.Node, found, allowed string) { r.r.failKey(e, found, allowed) }

// Unknown notes that a text names none of several things, and suggests the nearest
// name. The names are separated by spaces.
func (r *Reader) Unknown(n *tree.Node, allowed, names string) {
	r.r.mistyped(n, allowed).near = word(names, nearest(n.Text, names))
}

// Policies reads a map of policies by name.
func (r *Reader) Policies(n *tree.Node) []Policy {
	doc := &Document{}
	r.r.policies(n, nil, doc)
	return doc.Policies
}

// Name reads the name of a policy or of anything that is named like one.
func (r *Reader) Name(n *tree.Node) (string, bool) {
	if n.Kind != tree.Text || !validName(n.Text) {
		r.r.mistyped(n, nameText).hint = hyphenated
		return "", false
	}
	return n.Text, true
}

// Text reads a text; allowed describes it.
func (r *Reader) Text(n *tree.Node, allowed string) bool { return r.r.isText(n, allowed) }

// Bool reads true or false, which is false for anything else, too.
func (r *Reader) Bool(n *tree.Node) bool { return r.r.asBool(n) }

// Duration reads a duration of at least the least one, 0 or 1.
func (r *Reader) Duration(n *tree.Node, least time.Duration) (d time.Duration, ok bool) {
	ok = r.r.asDuration(n, least, &d)
	return d, ok
}

// Integer reads a whole number.
func (r *Reader) Integer(n *tree.Node, least, most int) (i uint32, ok bool) {
	ok = r.r.asInteger(n, least, most, &i)
	return i, ok
}

// Rate reads a count and its period, as in 100/s.
func (r *Reader) Rate(n *tree.Node, least uint64) (count uint32, period time.Duration, ok bool) {
	ok = r.r.asRate(n, least, &count, &period)
	return count, period, ok
}

// Share reads a percentage from 0% to 100%.
func (r *Reader) Share(n *tree.Node) (s reducer.Share, ok bool) {
	ok = r.r.asShare(n, 0, int(reducer.Whole), "a share as in 20% or 0.5%, from 0% to 100%, with at most 4 decimals", &s)
	return s, ok
}

// Whole reads a whole number of up to 64 bits as it is written.
func (r *Reader) Whole(n *tree.Node) (uint64, bool) {
	i, ok := parseWhole(n.Text)
	if ok = ok && n.Kind == tree.Number && len(n.Text) <= len("18446744073709551615") && sameNumber(i, n.Text); !ok {
		r.r.mistyped(n, "a whole number from 0 to 18446744073709551615")
	}
	return i, ok
}

// sameNumber reports whether a number is what a text says: parseWhole changes one
// beyond 64 bits.
func sameNumber(i uint64, text string) bool {
	for k := len(text) - 1; k >= 0; k-- {
		if text[k] != byte('0'+i%10) {
			return false
		}
		i /= 10
	}
	return i == 0
}

// Fields are the entries of a map whose names are known.
type Fields struct{ f fields }

// Fields reads a node as a map of known names, separated by spaces, at most 24.
// Unknown names and duplicate names are errors; allowed describes the map. It returns
// nil for a node that is not a map.
func (r *Reader) Fields(n *tree.Node, allowed, known string) *Fields {
	f := &Fields{}
	if !f.f.read(&r.r, n, allowed, known) {
		return nil
	}
	return f
}

// Get returns the entry of a known name, nil when it is not there.
func (f *Fields) Get(name string) *tree.Node { return f.f.get(name) }

// Need is Get for an entry that must be there; allowed describes its value.
func (f *Fields) Need(name, allowed string) *tree.Node { return f.f.need(name, allowed) }

// OneOf returns which one of the names is there. None or two are an error.
func (f *Fields) OneOf(names, allowed string) *tree.Node { return f.f.oneOf(names, allowed) }
