package tree

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ReadJSON reads a JSON text (RFC 8259) strictly: one value and nothing after
// it, no comments, no commas at the end of a list, no half of a surrogate pair,
// no NUL. A byte order mark in front is skipped. Double keys are kept for the
// reader of the tree to report. On an error the node is nil.
func ReadJSON(src []byte) (*Node, *SyntaxError) {
	if err := CheckSource(src); err != nil {
		return nil, err
	}
	r := jsonReader{cursor: newCursor(string(src))}
	r.space()
	if r.done() {
		return nil, r.fail("an empty document", "a policy document")
	}
	node := r.value(0)
	if r.err != nil {
		return nil, r.err
	}
	r.space()
	if !r.done() {
		return nil, r.fail(r.here(), "the end of the document")
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

// here names what stands under the cursor.
func (r *jsonReader) here() string {
	if r.done() {
		return "the end of the document"
	}
	char, _ := utf8.DecodeRuneInString(r.text[r.offset:])
	return strconv.QuoteRune(char)
}

// space moves over white space.
func (r *jsonReader) space() {
	for !r.done() && strings.IndexByte(" \t\n\r", r.peek()) >= 0 {
		r.next()
	}
}

// expect moves over one byte, or fails.
func (r *jsonReader) expect(b byte, allowed string) bool {
	if r.done() || r.peek() != b {
		r.fail(r.here(), allowed)
		return false
	}
	r.next()
	return true
}

// value reads any value inside depth lists and maps. After an error what it
// returns has no meaning.
func (r *jsonReader) value(depth int) *Node {
	node := &Node{Line: r.line, Column: r.column}
	switch b := r.peek(); {
	case b == '{' || b == '[':
		if depth == MaxDepth {
			r.fail("a value inside "+strconv.Itoa(MaxDepth)+" others", "at most "+strconv.Itoa(MaxDepth)+" lists and maps in one another")
			return node
		}
		r.next()
		if b == '{' {
			r.object(node, depth+1)
		} else {
			r.array(node, depth+1)
		}
	case b == '"':
		node.Kind, node.Text = Text, r.str()
	case b == '-' || b >= '0' && b <= '9':
		node.Kind, node.Text = Number, r.number()
	default:
		r.word(node)
	}
	return node
}

// word reads true, false or null.
func (r *jsonReader) word(node *Node) {
	for _, word := range []string{"true", "false", "null"} {
		if !strings.HasPrefix(r.text[r.offset:], word) {
			continue
		}
		node.Kind, node.Text = Bool, word
		if word == "null" {
			node.Kind, node.Text = Null, ""
		}
		for range word {
			r.next()
		}
		return
	}
	r.fail(r.here(), "a JSON value")
}

// array reads the items behind the opening bracket.
func (r *jsonReader) array(node *Node, depth int) {
	node.Kind = List
	r.space()
	if r.peek() == ']' {
		r.next()
		return
	}
	for r.err == nil {
		r.space()
		node.Items = append(node.Items, r.value(depth))
		r.space()
		if r.peek() != ',' {
			r.expect(']', "',' or ']'")
			return
		}
		r.next()
	}
}

// object reads the entries behind the opening brace.
func (r *jsonReader) object(node *Node, depth int) {
	node.Kind = Map
	r.space()
	if r.peek() == '}' {
		r.next()
		return
	}
	for r.err == nil {
		r.space()
		if r.peek() != '"' {
			r.fail(r.here(), "a name in double quotes")
			return
		}
		entry := Entry{Line: r.line, Column: r.column}
		entry.Key = r.str()
		r.space()
		if r.err != nil || !r.expect(':', "':'") {
			return
		}
		r.space()
		entry.Value = r.value(depth)
		node.Entries = append(node.Entries, entry)
		r.space()
		if r.peek() != ',' {
			r.expect('}', "',' or '}'")
			return
		}
		r.next()
	}
}

// number reads a number and returns it as written.
func (r *jsonReader) number() string {
	start := r.offset
	if r.peek() == '-' {
		r.next()
	}
	if r.peek() == '0' {
		r.next()
	} else {
		r.digits()
	}
	if r.peek() == '.' {
		r.next()
		r.digits()
	}
	if b := r.peek(); b == 'e' || b == 'E' {
		r.next()
		if b := r.peek(); b == '+' || b == '-' {
			r.next()
		}
		r.digits()
	}
	return r.text[start:r.offset]
}

// digits reads one digit or more.
func (r *jsonReader) digits() {
	if b := r.peek(); b < '0' || b > '9' {
		r.fail(r.here(), "a digit")
		return
	}
	for b := r.peek(); b >= '0' && b <= '9'; b = r.peek() {
		r.next()
	}
}
