package policy

import (
	"encoding/json"

	"github.com/sluice-go/sluice/policy/tree"
)

// ReadTree returns the tree of a source and whether all of it could be read.
func ReadTree(file string, src []byte) (*tree.Node, bool) {
	root, errs := read(file, src)
	return root, root != nil && errs == nil
}

// Plain returns a tree as encoding/json would have decoded it with numbers kept.
func Plain(n *tree.Node) any {
	switch n.Kind {
	case tree.Bool:
		return n.Text == "true"
	case tree.Number:
		return json.Number(n.Text)
	case tree.Text:
		return n.Text
	case tree.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = Plain(item)
		}
		return list
	case tree.Map:
		entries := map[string]any{}
		for _, e := range n.Items {
			entries[e.Key] = Plain(e)
		}
		return entries
	}
	return nil
}
