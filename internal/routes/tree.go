package routes

import (
	"math"
	"slices"
	"strings"
)

// none is the index of no route.
const none = int32(math.MaxInt32)

// node is a place in a tree of segments. Each route ends at one node.
type node struct {
	literal map[string]*node
	one     *node // behind *
	any     *node // behind **, which may match no segment
	isAny   bool
	first   int32 // the least index of the routes that end here or below
	ends    []end // by index, each with a method that those before do not have
}

// end is where a route ends.
type end struct {
	methods uint16
	route   int32
}

func newNode() *node { return &node{first: none} }

// child returns the node behind a segment of a pattern.
func (n *node) child(s segment) *node {
	into := &n.one
	switch s.kind {
	case anyNumber:
		into = &n.any
	case literal:
		if n.literal == nil {
			n.literal = map[string]*node{}
		}
		if n.literal[s.text] == nil {
			n.literal[s.text] = newNode()
		}
		return n.literal[s.text]
	}
	if *into == nil {
		*into = newNode()
		(*into).isAny = s.kind == anyNumber
	}
	return *into
}

// add adds a route, which is behind all that are there.
func (n *node) add(pattern []segment, methods uint16, route int32) {
	n.first = min(n.first, route)
	for _, s := range pattern {
		n = n.child(s)
		n.first = min(n.first, route)
	}
	covered := uint16(0)
	for _, e := range n.ends {
		covered |= e.methods
	}
	if methods&^covered != 0 {
		n.ends = append(n.ends, end{methods, route})
	}
}

// kind of a segment.
type kind uint8

const (
	literal kind = iota
	single       // *
	anyNumber
)

// segment of a pattern, or of a path, where it is always literal.
type segment struct {
	kind kind
	text string
}

// usual is how many nodes a walk is at in common documents; more allocate.
const usual = 16

// enter adds a node to those at which the segments so far may end, and the node
// behind a ** that matches no segment. It skips nodes without a route before best.
func enter(nodes []*node, n *node, best int32) []*node {
	for n != nil && n.first < best {
		// A node behind ** is reached in two ways, any other in one.
		if n.isAny && slices.Contains(nodes, n) {
			break
		}
		nodes = append(nodes, n)
		n = n.any
	}
	return nodes
}

// step returns, in the room of another list, where one more segment leads.
func step(into, nodes []*node, s segment, best int32) []*node {
	into = into[:0]
	for _, n := range nodes {
		if s.kind == literal {
			into = enter(into, n.literal[s.text], best)
		}
		if s.kind != anyNumber && (s.kind == single || s.text != "") {
			into = enter(into, n.one, best)
		}
		if n.isAny {
			into = enter(into, n, best)
		}
	}
	return into
}

// firstEnd returns the first route that ends at one of the nodes, best if none
// does before it.
func firstEnd(nodes []*node, method uint16, best int32) int32 {
	for _, n := range nodes {
		for _, e := range n.ends {
			if e.methods&method != 0 {
				best = min(best, e.route)
				break
			}
		}
	}
	return best
}

// forest has a tree for each host.
type forest struct {
	hosts   map[string]*node
	below   map[string]*node // *.example.com by .example.com
	longest int              // of the names in below
	all     *node
}

// root returns the tree of a host as a route has it.
func (f *forest) root(host string) *node {
	into := &f.hosts
	switch {
	case host == "":
		if f.all == nil {
			f.all = newNode()
		}
		return f.all
	case strings.HasPrefix(host, "*"):
		into, host = &f.below, host[1:]
		f.longest = max(f.longest, len(host))
	}
	if *into == nil {
		*into = map[string]*node{}
	}
	if (*into)[host] == nil {
		(*into)[host] = newNode()
	}
	return (*into)[host]
}

// trees calls f with each tree that may match a host, or, with a star in front, all
// hosts below one.
func (f *forest) trees(host string, visit func(*node)) {
	if f.all != nil {
		visit(f.all)
	}
	if n := f.hosts[host]; n != nil {
		visit(n)
	}
	// The least suffix is .host: a star matches one character or more.
	for i := len(host) - 1; i > 0 && len(host)-i <= f.longest; i-- {
		if host[i] == '.' {
			if n := f.below[host[i:]]; n != nil {
				visit(n)
			}
		}
	}
}
