// Package tree has the syntax tree of a policy document: nodes with their places, and
// a strict reader of JSON that builds them. It does not import the YAML front end,
// package fmt or reflection, so that a small runtime needs only this package to read
// JSON documents.
package tree

// Limits of a document, whatever its format.
const (
	// MaxBytes is the greatest size of a document, 1 MiB.
	MaxBytes = 1 << 20
	// MaxDepth is how deep lists and maps may be nested. A policy document needs less
	// than half of it.
	MaxDepth = 32
)

// Kind says what a node is.
type Kind uint8

// The kinds.
const (
	// Bad replaces a value whose error has been reported already.
	Bad Kind = iota
	// Null is JSON's null, or a YAML value left empty.
	Null
	// Bool is true or false; Text has the word.
	Bool
	// Number is a number; Text has it as written.
	Number
	// Text is a string; Text has it with its escapes resolved.
	Text
	// List has Items.
	List
	// Map has Items that have a Key.
	Map
)

// Node is a value of a document and the place where it begins.
type Node struct {
	Kind Kind
	// Text of a Bool, a Number or a Text.
	Text string
	// Line and Column, both from 1; a column is a character, not a byte.
	Line, Column int
	// Key of an entry of a Map, and the place where it begins. A key that could
	// not be read is empty and its node Bad.
	Key                string
	KeyLine, KeyColumn int
	// Up is the List or the Map that has the node, nil for the root, and Index its
	// position there.
	Up    *Node
	Index int
	// Items of a List or entries of a Map, in order, double keys included.
	Items []*Node
}

// Add puts a node behind the items of a List or the entries of a Map.
func (n *Node) Add(item *Node) {
	item.Up, item.Index = n, len(n.Items)
	n.Items = append(n.Items, item)
}

// SyntaxError is the place and the reason why a document cannot be read at all.
type SyntaxError struct {
	// Line and Column, from 1; 0 where the place is unknown.
	Line, Column int
	// Found is the text there, Allowed what would be valid.
	Found, Allowed string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return "found " + e.Found + "; allowed " + e.Allowed
}
