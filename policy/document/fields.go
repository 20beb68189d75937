package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/policy/tree"
)

// fields are the entries of a map whose names are known.
type fields struct {
	place
	found []field
	// meant has the known name nearest to each unknown one, or "": that it is
	// missing need not be said as well.
	meant []string
	// torn says that an entry could not be read, so that nobody knows what is
	// missing.
	torn bool
}

// field is one entry that is there.
type field struct {
	name         string
	line, column int
	value        place
}

// fields reads the node as a map. Unknown names and second ones of a name are
// errors. It returns false, and reports why, for what is no map.
func (p place) fields(allowed string, known ...string) (fields, bool) {
	f := fields{place: p}
	if p.node.Kind != tree.Map {
		p.mistyped(allowed)
		return f, false
	}
	for i := range p.node.Entries {
		e := &p.node.Entries[i]
		path := JoinPath(p.path, e.Key)
		if isTorn(e) {
			f.torn = true
			continue
		}
		if !slices.Contains(known, e.Key) {
			f.meant = append(f.meant, p.unknown(e, path, known))
			continue
		}
		if j := f.index(e.Key); j >= 0 {
			p.double(e, path, f.found[j].line)
			continue
		}
		f.found = append(f.found, field{e.Key, e.Line, e.Column, place{p.report, e.Value, path}})
	}
	return f, true
}

// isTorn reports whether the key of an entry could not be read. The reader of
// the source has reported it.
func isTorn(e *tree.Entry) bool { return e.Key == "" && e.Value.Kind == tree.Bad }

// unknown reports an entry whose name is none of the known ones, and returns
// the nearest of them.
func (p place) unknown(e *tree.Entry, path string, known []string) string {
	near := ""
	if !p.full() {
		near = nearest(e.Key, known)
	}
	p.failAt(e.Line, e.Column, path, "the unknown name "+quote(e.Key), orList(known), near)
	return near
}

// double reports the second entry of one name.
func (p place) double(e *tree.Entry, path string, first int) {
	p.failAt(e.Line, e.Column, path, "the name "+quote(e.Key)+" again", "each name once; the first is on line "+strconv.Itoa(first), "")
}

// index returns where the field of the name is, -1 when it is not there.
func (f *fields) index(name string) int {
	return slices.IndexFunc(f.found, func(e field) bool { return e.name == name })
}

// has reports whether the field is there.
func (f *fields) has(name string) bool { return f.index(name) >= 0 }

// get returns the value of a field.
func (f *fields) get(name string) (place, bool) {
	if i := f.index(name); i >= 0 {
		return f.found[i].value, true
	}
	return place{}, false
}

// need is get for a field that must be there; allowed says what it holds.
func (f *fields) need(name, allowed string) (place, bool) {
	p, ok := f.get(name)
	if !ok && !f.torn && !slices.Contains(f.meant, name) {
		f.failAt(f.node.Line, f.node.Column, JoinPath(f.path, name), "nothing", allowed+"; it is required", "")
	}
	return p, ok
}

// refuse reports each named field that is there as one that cannot stand where
// it does: found completes "name ...", allowed says which partner it needs.
func (f *fields) refuse(found, allowed string, names ...string) {
	for _, name := range names {
		if i := f.index(name); i >= 0 {
			e := f.found[i]
			f.failAt(e.line, e.column, e.value.path, name+" "+found, name+" "+allowed, "")
		}
	}
}

// orList returns "a, b or c".
func orList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
