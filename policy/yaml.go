package policy

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
)

// MaxAliased is the most nodes that the aliases of a document may add to it, so
// that a short document does not grow without bound.
const MaxAliased = 100_000

// readYAML returns the tree of a source in YAML, and the errors of its parts. The
// tree is nil when the whole cannot be read.
func readYAML(file string, src []byte) (*tree.Node, Errors) {
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var root, second yaml.Node
	if err := decoder.Decode(&root); err != nil {
		return nil, unreadable(file, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, document.Unreadable(file, &tree.SyntaxError{
			Line: second.Line, Column: second.Column,
			Found: "a second document", Allowed: "one document a file",
		})
	case !errors.Is(err, io.EOF):
		return nil, unreadable(file, err)
	}
	r := yamlReader{file: file, open: map[*yaml.Node]bool{}}
	node := r.node(&root, "", 0)
	return node, r.errs
}

// unreadable returns the error of the YAML library in our words.
func unreadable(file string, err error) Errors {
	bad := &tree.SyntaxError{Found: "what is not YAML", Allowed: "YAML or JSON"}
	var load *yaml.LoadError
	switch {
	case errors.Is(err, io.EOF):
		bad.Line, bad.Column = 1, 1
		bad.Found, bad.Allowed = "an empty document", "a policy document"
	case errors.As(err, &load):
		bad.Line, bad.Column = load.Mark.Line, load.Mark.Column
		bad.Found = "what is not YAML: " + load.Message
		if load.ContextMsg != "" {
			bad.Found += ", " + load.ContextMsg
		}
		if at := load.ContextMark.Line; load.ContextMsg != "" && at > 0 && at != bad.Line {
			bad.Found += " that begins on line " + strconv.Itoa(at)
		}
	}
	return document.Unreadable(file, bad)
}

// yamlReader makes our nodes of YAML's.
type yamlReader struct {
	file string
	errs Errors
	// open are the anchored nodes being read: an alias to one has no end.
	open map[*yaml.Node]bool
	// inside counts the aliases being read, aliased the nodes made by all.
	inside, aliased int
}

// fail reports an error that only YAML can have, and returns a node that says so.
func (r *yamlReader) fail(n *yaml.Node, path, found, allowed string) *tree.Node {
	if len(r.errs) < document.MaxErrors {
		r.errs = append(r.errs, &Error{
			File: r.file, Line: n.Line, Column: n.Column, Path: path, Found: found, Allowed: allowed,
		})
	}
	return &tree.Node{Kind: tree.Bad, Line: n.Line, Column: n.Column}
}

// node returns our node for YAML's at the path, inside depth others.
func (r *yamlReader) node(n *yaml.Node, path string, depth int) *tree.Node {
	if r.inside > 0 {
		if r.aliased++; r.aliased > MaxAliased {
			return r.tooMany(n, path)
		}
	}
	if depth > tree.MaxDepth {
		return r.fail(n, path, "a value inside "+strconv.Itoa(tree.MaxDepth)+" others", "at most "+strconv.Itoa(tree.MaxDepth)+" lists and maps in one another")
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return r.fail(n, path, "the tag "+strconv.Quote(n.Tag), "values without tags; quotes make a text")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.node(n.Content[0], path, depth)
	case yaml.AliasNode:
		return r.alias(n, path, depth)
	case yaml.ScalarNode:
		return r.scalar(n, path)
	}
	if n.Anchor != "" {
		r.open[n] = true
		defer delete(r.open, n)
	}
	if n.Kind == yaml.SequenceNode {
		list := &tree.Node{Kind: tree.List, Line: n.Line, Column: n.Column}
		for i, item := range n.Content {
			list.Add(r.node(item, path+"["+strconv.Itoa(i)+"]", depth+1))
		}
		return list
	}
	return r.mapping(n, path, depth)
}

// tooMany reports once that aliases have made too many nodes.
func (r *yamlReader) tooMany(n *yaml.Node, path string) *tree.Node {
	if r.aliased == MaxAliased+1 {
		return r.fail(n, path, "aliases that add more than "+strconv.Itoa(MaxAliased)+" values", "at most so many")
	}
	return &tree.Node{Kind: tree.Bad, Line: n.Line, Column: n.Column}
}

// alias returns a copy of the anchored node. Its places are the places of the anchor, where an
// error must be corrected.
func (r *yamlReader) alias(n *yaml.Node, path string, depth int) *tree.Node {
	if r.open[n.Alias] {
		return r.fail(n, path, "the alias *"+n.Value+" inside its own anchor", "an alias to what is whole")
	}
	if r.aliased > MaxAliased {
		return &tree.Node{Kind: tree.Bad, Line: n.Line, Column: n.Column}
	}
	r.inside++
	defer func() { r.inside-- }()
	return r.node(n.Alias, path, depth)
}

// mapping returns a map. Keys are plain texts, whatever they look like: in a
// name of digits there is no number.
func (r *yamlReader) mapping(n *yaml.Node, path string, depth int) *tree.Node {
	node := &tree.Node{Kind: tree.Map, Line: n.Line, Column: n.Column}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		var entry *tree.Node
		switch {
		case key.Kind != yaml.ScalarNode || key.Style&yaml.TaggedStyle != 0 || strings.Contains(key.Value, "\x00"):
			entry = r.fail(key, path, "a key that is no plain text", "names as keys")
		case key.Value == "<<" && isPlain(key):
			entry = r.fail(key, document.JoinPath(path, "<<"), "a merge", "the settings themselves, or an alias for a whole value; merges are not supported")
		default:
			entry = r.node(n.Content[i+1], document.JoinPath(path, key.Value), depth+1)
			entry.Key = key.Value
		}
		entry.KeyLine, entry.KeyColumn = key.Line, key.Column
		node.Add(entry)
	}
	return node
}

// scalar returns a scalar by the core schema of YAML 1.2, which agrees with JSON: yes
// is a text, 010 a number that no setting accepts.
func (r *yamlReader) scalar(n *yaml.Node, path string) *tree.Node {
	node := &tree.Node{Kind: tree.Text, Text: n.Value, Line: n.Line, Column: n.Column}
	if strings.Contains(n.Value, "\x00") {
		return r.fail(n, path, "the character U+0000", "text without it")
	}
	if !isPlain(n) {
		return node
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		node.Kind, node.Text = tree.Null, ""
	case "true", "True", "TRUE":
		node.Kind, node.Text = tree.Bool, "true"
	case "false", "False", "FALSE":
		node.Kind, node.Text = tree.Bool, "false"
	default:
		if isNumber(n.Value) {
			node.Kind = tree.Number
		}
	}
	return node
}

// isPlain reports whether a scalar has no quotes and is not a block.
func isPlain(n *yaml.Node) bool {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Style&quoted == 0
}

// isNumber reports whether a plain scalar, not empty, is a number in the core
// schema.
func isNumber(text string) bool {
	if octal, ok := strings.CutPrefix(text, "0o"); ok {
		return octal != "" && strings.Trim(octal, "01234567") == ""
	}
	if hexadecimal, ok := strings.CutPrefix(text, "0x"); ok {
		return hexadecimal != "" && strings.Trim(hexadecimal, "0123456789abcdefABCDEF") == ""
	}
	switch strings.TrimPrefix(unsigned(text), ".") {
	case "inf", "Inf", "INF", "nan", "NaN", "NAN":
		return strings.Contains(text, ".")
	}
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(unsigned(text)), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || !allDigits(digits) {
		return false
	}
	exponent = unsigned(exponent)
	return !scientific || exponent != "" && allDigits(exponent)
}

// unsigned returns a number without the sign in front, if there is one.
func unsigned(text string) string {
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		return text[1:]
	}
	return text
}

// allDigits reports whether a text is nothing but decimal digits.
func allDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }
