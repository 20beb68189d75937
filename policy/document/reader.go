package document

import (
	"strconv"

	"github.com/sluice-go/sluice/policy/tree"
)

// reader reads the nodes of one document and notes their errors. The texts are made
// at the end, in one place, so that the code that reads a setting is short.
type reader struct {
	file     string
	before   Errors // what the reader of the source found
	problems []*problem
	more     int     // problems past MaxErrors
	spare    problem // takes what is not reported
	// within is the policy being read where policies take settings from elsewhere in the
	// document, and item its step.
	within, item *tree.Node
	// shared are the mechanisms that steps may use.
	shared []sharedMechanism
}

// full reports whether further errors are only counted, so that their texts need not
// be made.
func (r *reader) full() bool { return len(r.before)+len(r.problems) >= MaxErrors }

// fail notes an error at a node, unless the reader of the source has. It returns the
// problem, so that its caller can add to it.
func (r *reader) fail(n *tree.Node, found, allowed string) *problem {
	if n.Kind == tree.Bad {
		return &r.spare
	}
	p := r.failKey(n, found, allowed)
	p.atKey = false
	return p
}

// failKey is fail for the key of an entry, which the reader of the source cannot
// have reported.
func (r *reader) failKey(e *tree.Node, found, allowed string) *problem {
	if r.full() {
		r.more++
		return &r.spare
	}
	p := &problem{node: e, atKey: true, found: found, allowed: allowed, taker: r.taker(e)}
	r.problems = append(r.problems, p)
	return p
}

// taker returns what takes a node from elsewhere in the document: the step being read, or
// its policy where the step is elsewhere too; nil for a node of the policy itself.
func (r *reader) taker(n *tree.Node) *tree.Node {
	switch {
	case r.within == nil || isPart(n, r.within):
		return nil
	case r.item != nil && isPart(r.item, r.within):
		return r.item
	}
	return r.within
}

// isPart reports whether a node of the source is in a policy, which may be a copy.
func isPart(n, policy *tree.Node) bool {
	for n != nil && (n.Up != policy.Up || n.Index != policy.Index) {
		n = n.Up
	}
	return n != nil
}

// mistyped notes that a node has another type than allowed.
func (r *reader) mistyped(n *tree.Node, allowed string) *problem {
	return r.fail(n, "", allowed)
}

// err returns the errors in the order of their places, nil for none.
func (r *reader) err() error {
	var list Errors
	for _, e := range r.before {
		list.add(e)
	}
	errs := make(Errors, len(r.problems))
	for i, p := range r.problems {
		errs[i] = p.err(r.file)
	}
	for i, p := range r.problems {
		if p.taker == nil || !r.isWrong(errs, errs[i]) {
			list.add(errs[i].takenBy(p.taker))
		}
	}
	if r.more > 0 {
		list = append(list, &Error{
			File:    r.file,
			Found:   strconv.Itoa(r.more) + " more errors",
			Allowed: "none; they show once those above are mended",
		})
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// isWrong reports whether the place from which something is taken has an error itself:
// that must be mended first.
func (r *reader) isWrong(errs Errors, one *Error) bool {
	for i, e := range errs {
		if r.problems[i].taker == nil && e.Line == one.Line && e.Column == one.Column {
			return true
		}
	}
	return false
}

// takenBy returns the error with what takes its place from elsewhere in the document.
func (e *Error) takenBy(taker *tree.Node) *Error {
	if taker == nil {
		return e
	}
	var path builder
	writePath(&path, taker)
	taken := *e
	taken.Found += ", taken by " + path.String()
	return &taken
}

// add inserts an error after those with an earlier or the same place.
func (e *Errors) add(one *Error) {
	list := append(*e, one)
	*e = list
	for i := len(list) - 1; i > 0 && one.isBefore(list[i-1]); i-- {
		list[i-1], list[i] = one, list[i-1]
	}
}

// atMost reports a list or a map with more items than there may be.
func (r *reader) atMost(most int, n *tree.Node, found string) {
	if len(n.Items) > most {
		p := r.fail(n, found, "at most $y")
		p.x, p.y = len(n.Items), most
	}
}

// writePath writes the path from the root to a node.
func writePath(path *builder, n *tree.Node) {
	if n.Up == nil {
		return
	}
	writePath(path, n.Up)
	if n.Up.Kind != tree.List {
		writeName(path, n.Key)
		return
	}
	path.add("[")
	path.addInt(n.Index)
	path.add("]")
}

// JoinPath returns the path of a name inside the path, quoted when the name is
// none that a document may have.
func JoinPath(path, name string) string {
	var whole builder
	whole.add(path)
	writeName(&whole, name)
	return whole.String()
}

// writeName writes a name behind a path.
func writeName(path *builder, name string) {
	before, behind := "[", "]"
	if isMadeOf(name, upperCase+"-_$") {
		before, name, behind = ".", shorten(name), ""
		if len(path.text) == 0 {
			before = ""
		}
	} else {
		name = quote(name)
	}
	path.add(before)
	path.add(name)
	path.add(behind)
}

// describe describes a node for an error.
func describe(n *tree.Node) string {
	empty := len(n.Items) == 0
	switch {
	case n.Kind == tree.Null:
		return "nothing"
	case n.Kind == tree.Bool:
		return "$t"
	case n.Kind == tree.Number:
		return "the number $t"
	case n.Kind == tree.Text:
		return "the text $q"
	case n.Kind == tree.List && empty:
		return "an empty list"
	case n.Kind == tree.List:
		return "a list"
	case empty:
		return "an empty map"
	}
	return "a map"
}
