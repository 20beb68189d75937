package policy

import (
	_ "embed" // for schema.json
	"path"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
)

// The results of a document, and its errors. See package document.
type (
	Document = document.Document
	Policy   = document.Policy
	Extra    = document.Extra
	Route    = document.Route
	Outcomes = document.Outcomes
	Class    = document.Class
	Failure  = document.Failure
	HTTP     = document.HTTP
	ByteRate = document.ByteRate
	Proxy    = document.Proxy
	Scope    = document.Scope
	Error    = document.Error
	Errors   = document.Errors
)

// Parse reads a whole document. The file names the document in errors and determines
// the format: .json is JSON; .yaml and .yml are YAML, which a document in JSON is as
// well; with any other name a document that begins as JSON does, with {", is JSON,
// and all else YAML. The error is nil or an Errors.
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

// Schema returns the JSON Schema (draft 2020-12) of the document. Parse also checks
// what the schema cannot express.
func Schema() []byte { return slices.Clone(schema) }

// read returns the tree of a source and its errors so far. Without a tree there are
// no further errors.
func read(file string, src []byte) (*tree.Node, Errors) {
	begin := trimSpace(strings.TrimPrefix(string(src), "\ufeff"))
	object := strings.HasPrefix(begin, "{")
	isJSON := object && strings.HasPrefix(trimSpace(begin[1:]), `"`)
	isYAML := false
	switch strings.ToLower(path.Ext(file)) {
	case ".json":
		isJSON = true
	case ".yaml", ".yml":
		isJSON, isYAML = false, true
	}
	// The YAML library does not accept all of JSON, so a source that may be JSON is
	// read as JSON first.
	if isJSON || isYAML && object {
		root, err := tree.ReadJSON(src)
		if err == nil {
			return root, nil
		}
		if isJSON {
			return nil, document.Unreadable(file, err)
		}
	}
	if err := tree.CheckSource(src); err != nil {
		return nil, document.Unreadable(file, err)
	}
	return readYAML(file, src)
}

// trimSpace returns a text without the white space of JSON in front.
func trimSpace(text string) string { return strings.TrimLeft(text, " \t\r\n") }
