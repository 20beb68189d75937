package tree

import (
	"strconv"
	"strings"
)

// ReadJSON reads a JSON text (RFC 8259) strictly: one value and nothing after it, no
// comments, no commas at the end of a list, no half of a surrogate pair, no NUL. A
// byte order mark in front is skipped. Double keys are kept, so that the reader of
// the tree reports them. On an error the node is nil.
func ReadJSON(src []byte) (*Node, *SyntaxError) {
	if err := CheckSource(src); err != nil {
		return nil, err
	}
	r := jsonReader{cursor: newCursor(string(src))}
	r.space()
	if r.done() {
		return nil, r.fail("an empty document", "a policy document")
	}
	node := &Node{}
	r.value(node, 0)
	r.space()
	if !r.done() {
		r.fail(r.here(), "the end of the document")
	}
	if r.err != nil {
		return nil, r.err
	}
	return node, nil
}

// jsonReader is a cursor that stops at the first error.
type jsonReader struct {
	cursor
	err *SyntaxError
}

// fail keeps the first error, placed at the cursor.
func (r *jsonReader) fail(found, allowed string) *SyntaxError {
	if r.err == nil {
		r.err = &SyntaxError{Line: r.line, Column: r.column, Found: found, Allowed: allowed}
	}
	return r.err
}

// here names the text at the cursor.
func (r *jsonReader) here() string {
	if r.done() {
		return "the end of the document"
	}
	end := r.offset + 1
	for end < len(r.text) && r.text[end]&0xC0 == 0x80 {
		end++
	}
	return Quote(r.text[r.offset:end], '\'')
}

// space moves over white space.
func (r *jsonReader) space() {
	for !r.done() && strings.IndexByte(" \t\n\r", r.peek()) >= 0 {
		r.next()
	}
}

// skip moves over a text if it is at the cursor, and reports whether it is.
func (r *jsonReader) skip(text string) bool {
	if !strings.HasPrefix(r.text[r.offset:], text) {
		return false
	}
	for range len(text) {
		r.next()
	}
	return true
}

// value reads any value inside depth lists and maps into a node. After an error the
// content of the node is undefined.
func (r *jsonReader) value(node *Node, depth int) {
	node.Line, node.Column = r.line, r.column
	start := r.offset
	switch b := r.peek(); {
	case b == '{' || b == '[':
		if depth == MaxDepth {
			r.fail("a value inside "+strconv.Itoa(MaxDepth)+" others", "at most "+strconv.Itoa(MaxDepth)+" lists and maps in one another")
			return
		}
		r.next()
		if b == '{' {
			node.Kind = Map
			r.items(node, "}", "',' or '}'", depth+1)
		} else {
			node.Kind = List
			r.items(node, "]", "',' or ']'", depth+1)
		}
		return
	case b == '"':
		node.Kind, node.Text = Text, r.str()
		return
	case b == '-' || isDigit(b):
		node.Kind = Number
		r.number()
	case r.skip("null"):
		node.Kind = Null
		return
	case r.skip("true"), r.skip("false"):
		node.Kind = Bool
	default:
		r.fail(r.here(), "a JSON value")
	}
	node.Text = r.text[start:r.offset]
}

// items reads the content of a list or a map, up to the closing bracket.
func (r *jsonReader) items(node *Node, end, allowed string, depth int) {
	r.space()
	if r.skip(end) {
		return
	}
	for {
		r.space()
		item := &Node{}
		if node.Kind == Map {
			r.key(item)
		}
		if r.err == nil {
			r.value(item, depth)
		}
		node.Add(item)
		r.space()
		if r.err != nil || r.skip(end) {
			return
		}
		if !r.skip(",") {
			r.fail(r.here(), allowed)
			return
		}
	}
}

// key reads the key of an entry and the colon behind it.
func (r *jsonReader) key(entry *Node) {
	if r.peek() != '"' {
		r.fail(r.here(), "a name in double quotes")
		return
	}
	entry.KeyLine, entry.KeyColumn = r.line, r.column
	entry.Key = r.str()
	r.space()
	if !r.skip(":") {
		r.fail(r.here(), "':'")
	}
	r.space()
}

// number moves over a number.
func (r *jsonReader) number() {
	r.skip("-")
	if !r.skip("0") {
		r.digits()
	}
	if r.skip(".") {
		r.digits()
	}
	if r.skip("e") || r.skip("E") {
		if !r.skip("+") {
			r.skip("-")
		}
		r.digits()
	}
}

// digits moves over one digit or more.
func (r *jsonReader) digits() {
	if !isDigit(r.peek()) {
		r.fail(r.here(), "a digit")
	}
	for isDigit(r.peek()) {
		r.next()
	}
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
