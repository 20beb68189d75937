package document

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// MethodNames are the methods of HTTP that a document may name (RFC 9110 and RFC
// 5789).
const MethodNames = "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT"

// DefaultMethods returns what a retry repeats when the document does not say:
// the idempotent methods of RFC 9110 section 9.2.2.
func DefaultMethods() []string {
	return []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"}
}

// methods reads one method or a list of them.
func (r *reader) methods(n *tree.Node) []string {
	items := []*tree.Node{n}
	if n.Kind == tree.List {
		items = n.Items
		if len(items) == 0 {
			r.mistyped(n, "one or more of $l").word = MethodNames
		}
	}
	var list []string
	for _, item := range items {
		switch {
		case r.asWord(item, MethodNames) < 0:
		case slices.Contains(list, item.Text):
			r.fail(item, "$q again", "each method once")
		default:
			list = append(list, item.Text)
		}
	}
	return list
}

// Failure names an error of the network instead of an answer.
type Failure string

// The failures. A timeout here is the transport's own; a timeout step of the
// policy is reducer.Timeout whatever the outcomes say.
const (
	Connect  Failure = "connect" // no connection could be had
	Reset    Failure = "reset"   // the connection broke before the answer's headers
	NoAnswer Failure = "timeout" // the transport gave up waiting
)

// Outcomes gives an HTTP answer or a network error its outcome. An entry is in only
// one of the classes.
type Outcomes struct {
	Fail     Class // retried, votes against the dependency
	Throttle Class // retried, not counted: the dependency refused by a limit of its own
	Ignore   Class // neither
}

// Class is a set of answers and errors.
type Class struct {
	// Codes are single statuses, Hundreds the first digits of 5xx and its like.
	Codes    []int
	Hundreds []int
	Failures []Failure
}

// OfStatus returns the outcome of an answer of the status: the outcome of the status itself,
// else the outcome of its hundred, else OK.
func (o *Outcomes) OfStatus(status int) reducer.Outcome {
	if of := o.first(func(c *Class) bool { return listed(c.Codes, status) }); of != reducer.OK {
		return of
	}
	return o.first(func(c *Class) bool { return listed(c.Hundreds, status/100) })
}

// listed is slices.Contains, which the compiler does not inline. Every answer is asked
// about here.
func listed(list []int, n int) bool {
	for _, of := range list {
		if of == n {
			return true
		}
	}
	return false
}

// OfFailure returns the outcome of an error of the network, OK when no class has it.
func (o *Outcomes) OfFailure(f Failure) reducer.Outcome {
	return o.first(func(c *Class) bool { return slices.Contains(c.Failures, f) })
}

// first returns the outcome of the first class that has an entry.
func (o *Outcomes) first(has func(*Class) bool) reducer.Outcome {
	switch {
	case has(&o.Fail):
		return reducer.Fail
	case has(&o.Throttle):
		return reducer.Throttle
	case has(&o.Ignore):
		return reducer.Ignore
	}
	return reducer.OK
}

// entry is what a class may hold: an index of entryNames, or a status.
type entry uint16

// entryNames are the entries that are no single status.
const entryNames = "connect reset timeout 1xx 2xx 3xx 4xx 5xx"

// The failures among them, counted from 1. The hundreds follow.
const (
	connect entry = iota + 1
	reset
	noAnswer
)

// add puts an entry into a class.
func (c *Class) add(e entry) {
	list := &c.Codes
	switch {
	case e <= noAnswer:
		c.Failures = append(c.Failures, Failure(word(entryNames, int(e-1))))
		return
	case e < 100:
		list = &c.Hundreds
		e -= noAnswer
	}
	*list = append(*list, int(e))
}

// classNames are the classes in their order in Outcomes.
const classNames = "fail throttle ignore"

// defaultEntries is {fail: [5xx, connect, reset], throttle: [429], ignore: [4xx, 501, 505, 511]}.
var defaultEntries = [...]struct {
	class int // of classNames
	entry entry
}{
	{0, noAnswer + 5}, {0, connect}, {0, reset}, {1, 429}, {2, noAnswer + 4}, {2, 501}, {2, 505}, {2, 511},
}

// outcomes reads {fail, throttle, ignore}, nil for none of them. A list that is
// left out is the default one, without what the others name.
func (r *reader) outcomes(n *tree.Node, o *Outcomes) {
	var f fields
	if n != nil && !f.read(r, n, "a map of fail, throttle and ignore", classNames) {
		return
	}
	classes := [...]*Class{&o.Fail, &o.Throttle, &o.Ignore}
	var in [600]*tree.Node // the class of each entry
	for i, c := range classes {
		if n := f.found[i]; n != nil {
			r.class(n, c, &in)
		}
	}
	for _, d := range defaultEntries {
		if f.found[d.class] == nil && in[d.entry] == nil {
			classes[d.class].add(d.entry)
		}
	}
}

// classText is what every error about a class allows.
const classText = "a status from 100 to 599, 1xx to 5xx, connect, reset or timeout"

// class reads the list of one class and notes its entries, each of which may be in
// one class once.
func (r *reader) class(n *tree.Node, c *Class, in *[600]*tree.Node) {
	if n.Kind != tree.List {
		r.mistyped(n, "a list of these: "+classText)
		return
	}
	for _, item := range n.Items {
		e := r.asEntry(item)
		if e == 0 {
			continue
		}
		if in[e] != nil {
			r.fail(item, "$t again", "each in one class once; it is in $w").word = in[e].Key
		}
		in[e] = n
		c.add(e)
	}
}

// asEntry reads a status, a hundred of them, or a failure, 0 for none of them.
func (r *reader) asEntry(n *tree.Node) entry {
	near := ""
	switch n.Kind {
	case tree.Number:
		if status, ok := parseWhole(n.Text); ok && isStatus(status) {
			return entry(status)
		}
	case tree.Text:
		if i := index(entryNames, n.Text); i >= 0 {
			return entry(i + 1)
		}
		near = word(entryNames, nearest(n.Text, entryNames))
		if status, rest := cutNumber(strings.TrimPrefix(n.Text, "+")); rest == "" && isStatus(status) {
			near = n.Text[len(n.Text)-3:]
		}
	}
	r.mistyped(n, classText).near = near
	return 0
}

// isStatus reports whether a number may be the status of an answer.
func isStatus(n uint64) bool { return n >= 100 && n <= 599 }
