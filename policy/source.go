package policy

import "github.com/sluice-go/sluice/policy/tree"

// Tree returns the syntax tree of a document in YAML or JSON, for readers of documents
// of another kind, with the errors of its parts. The format is as for Parse. The tree
// is nil where the whole cannot be read.
func Tree(file string, src []byte) (*tree.Node, Errors) { return read(file, src) }
