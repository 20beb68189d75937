package policy

import (
	_ "embed" // for schema.json
	"path"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
)

// What a document becomes, and what is wrong with it. See package document.
type (
	Document = document.Document
	Policy   = document.Policy
	Extra    = document.Extra
	Route    = document.Route
	Outcomes = document.Outcomes
	Class    = document.Class
	Failure  = document.Failure
	Scope    = document.Scope
	Error    = document.Error
	Errors   = document.Errors
)

// Parse reads a whole document. The file names it in errors, and tells the
// format: .json is JSON alone, anything else is YAML, of which a document in
// JSON is read as JSON. The error is nil or an Errors.
func Parse(file string, src []byte) (*Document, error) {
	root, before := read(file, src)
	if root == nil {
		return nil, before
	}
	return document.Read(file, root, before)
}

// ParseOne reads the body of a single policy, as in {"steps": [...]}, as Parse
// does. The name of the policy is empty.
func ParseOne(file string, src []byte) (*Policy, error) {
	root, before := read(file, src)
	if root == nil {
		return nil, before
	}
	return document.ReadOne(file, root, before)
}

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of the document. What it cannot
// express, Parse checks besides.
func Schema() []byte { return slices.Clone(schema) }

// read returns the tree of a source, and what was wrong with it so far. Without
// a tree that is all that can be said.
func read(file string, src []byte) (*tree.Node, Errors) {
	if err := tree.CheckSource(src); err != nil {
		return nil, document.Unreadable(file, err)
	}
	begin := strings.TrimLeft(strings.TrimPrefix(string(src), "\ufeff"), " \t\r\n")
	ext := strings.ToLower(path.Ext(file))
	if ext != ".json" && !strings.HasPrefix(begin, "{") {
		return readYAML(file, src)
	}
	root, err := tree.ReadJSON(src)
	if err == nil {
		return root, nil
	}
	// What begins with a brace may be YAML's flow style all the same. Where it
	// is neither, the errors of JSON are the plainer ones.
	if ext != ".json" {
		yaml, errs := readYAML(file, src)
		isYAML := ext == ".yaml" || ext == ".yml"
		if yaml != nil || isYAML {
			return yaml, errs
		}
	}
	return nil, document.Unreadable(file, err)
}
