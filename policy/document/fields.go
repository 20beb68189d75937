package document

import (
	"time"

	"github.com/sluice-go/sluice/policy/tree"
)

// fields are the entries of a map whose names are known.
type fields struct {
	*reader
	node  *tree.Node // nil for a node that is not a map
	known string     // the list of the names
	// found has the first entry of each known name. meant says that the name is
	// nearest to an unknown one: then no second error says that it is missing.
	found [mostFields]*tree.Node
	meant [mostFields]bool
	// torn says that an entry could not be read, so that missing names are unknown;
	// strange that an entry has an unknown name.
	torn, strange bool
}

// mostFields is the greatest number of names that a map may have.
const mostFields = 32

// read reads a node as a map of the known names. Unknown names and duplicate names
// are errors. It reports a node that is not a map, and returns false.
func (f *fields) read(r *reader, n *tree.Node, allowed, known string) bool {
	if n.Kind != tree.Map {
		r.mistyped(n, allowed)
		return false
	}
	f.reader, f.node, f.known = r, n, known
	for _, e := range n.Items {
		i := index(known, e.Key)
		switch {
		case isTorn(e):
			f.torn = true
		case i < 0:
			f.strange = true
			if near := r.unknown(e, known); near >= 0 {
				f.meant[near] = true
			}
		case f.found[i] != nil:
			r.double(e, f.found[i].KeyLine)
		default:
			f.found[i] = e
		}
	}
	return true
}

// isTorn reports whether the key of an entry could not be read. The reader of
// the source has reported it.
func isTorn(e *tree.Node) bool { return e.Key == "" && e.Kind == tree.Bad }

// unknown reports an entry whose name is none of the known ones, and returns
// the index of the nearest of them, -1 for none.
func (r *reader) unknown(e *tree.Node, known string) int {
	near := -1
	if !r.full() {
		near = nearest(e.Key, known)
	}
	p := r.failKey(e, "the unknown name $q", "$l")
	p.word, p.near = known, word(known, near)
	return near
}

// double reports the second entry of one name.
func (r *reader) double(e *tree.Node, first int) {
	r.failKey(e, "the name $q again", "each name once; the first is on line $x").x = first
}

// get returns the entry of a known name, nil when it is not there.
func (f *fields) get(name string) *tree.Node {
	i := index(f.known, name)
	if i < 0 {
		return nil
	}
	return f.found[i]
}

// need is get for an entry that must be there; allowed describes its value.
func (f *fields) need(name, allowed string) *tree.Node {
	i := index(f.known, name)
	e := f.found[i]
	if e == nil && !f.torn && !f.meant[i] {
		f.fail(f.node, "nothing", allowed).missing = name
	}
	return e
}

// refuse reports an entry, if it is there, as one that is not allowed in its place.
// The word replaces $w in the texts.
func (f *fields) refuse(name, found, allowed, word string) {
	if e := f.get(name); e != nil {
		f.failKey(e, found, allowed).word = word
	}
}

// oneOf returns which one of the names is there; none or two are an error, unless an
// unknown name in their place is reported already.
func (f *fields) oneOf(names, allowed string) *tree.Node {
	var found *tree.Node
	for _, e := range f.found[:] {
		switch {
		case e == nil || index(names, e.Key) < 0:
		case found != nil:
			p := f.failKey(e, "$t beside $w", "$t alone: $o")
			p.word, p.other = found.Key, allowed
			return nil
		default:
			found = e
		}
	}
	if found == nil && !f.torn && !f.strange {
		f.fail(f.node, "none of $l", allowed).word = names
	}
	return found
}

// duration reads the entry of a name, if it is there, as asDuration does, and
// returns whether it holds one.
func (f *fields) duration(name string, least time.Duration, into *time.Duration) bool {
	n := f.get(name)
	return n != nil && f.asDuration(n, least, into)
}

// integer is duration for a whole number.
func (f *fields) integer(name string, least, most int, into *uint32) bool {
	n := f.get(name)
	return n != nil && f.asInteger(n, least, most, into)
}
