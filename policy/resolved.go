package policy

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
)

// Resolved returns a document in YAML without defaults and extends: its policies have the
// steps that they take from there, and Parse reads the same policies from it. Comments are
// lost. The error is the error of Parse.
func Resolved(file string, src []byte) ([]byte, error) {
	root, before := read(file, src)
	if root == nil {
		return nil, before
	}
	plain, err := document.Resolved(file, root, before)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	dumper, err := yaml.NewDumper(&out, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := dumper.Dump(toYAML(plain, linesOfDocument)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := dumper.Close(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return out.Bytes(), nil
}

// The lists and maps of a document that have lines of their own, by how many such ones are
// at most inside: the document, its policies, one of them, its steps, and a step. A map or a
// list of another section has 1.
const (
	linesOfDocument = 5
	linesOfPolicies = linesOfDocument - 1
	linesOfPolicy   = linesOfPolicies - 1
)

// toYAML returns a valid tree as a node of YAML. Without lines it is on one line.
func toYAML(n *tree.Node, lines int) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text}
	switch n.Kind {
	case tree.Text:
		node.Tag = "!!str"
	case tree.List:
		node.Kind = yaml.SequenceNode
	case tree.Map:
		node.Kind = yaml.MappingNode
	}
	if lines <= 0 && node.Kind != yaml.ScalarNode {
		node.Style = yaml.FlowStyle
	}
	for _, item := range n.Items {
		inside := lines - 1
		switch {
		case lines == linesOfDocument && item.Key != "policies":
			inside = 1
		case lines == linesOfPolicy && item.Key != "steps":
			inside = 0
		}
		if n.Kind == tree.Map {
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: item.Key})
		}
		node.Content = append(node.Content, toYAML(item, inside))
	}
	return node
}
