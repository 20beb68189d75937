package simtest

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/sluice-go/sluice/policy/tree"
)

// child returns the entry of a map, nil where there is none.
func child(n *tree.Node, key string) *tree.Node {
	for _, one := range n.Items {
		if one.Key == key {
			return one
		}
	}
	return nil
}

// copyWithout returns a copy of a tree without one of its nodes.
func copyWithout(n, without *tree.Node) *tree.Node {
	one := &tree.Node{Kind: n.Kind, Text: n.Text, Key: n.Key}
	for _, item := range n.Items {
		if item != without {
			one.Add(copyWithout(item, without))
		}
	}
	return one
}

// copyWith returns a copy of a tree in which a scalar has another text.
func copyWith(n, changed *tree.Node, text string) *tree.Node {
	one := &tree.Node{Kind: n.Kind, Text: n.Text, Key: n.Key}
	if n == changed {
		one.Text = text
	}
	for _, item := range n.Items {
		one.Add(copyWith(item, changed, text))
	}
	return one
}

// wide is the longest map or list that is written on one line.
const wide = 90

// asYAML returns a tree as a document, of which a line that is long stays one.
func asYAML(n *tree.Node) string {
	// The nodes come from a document that was read, and the options are constants.
	out, err := yaml.Dump(yamlNode(n, true), yaml.WithIndent(2), yaml.WithCompactSeqIndent(false), yaml.WithLineWidth(-1))
	if err != nil {
		panic(err)
	}
	return string(out)
}

func yamlNode(n *tree.Node, block bool) *yaml.Node {
	one := &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text}
	switch n.Kind {
	case tree.Map:
		one.Kind = yaml.MappingNode
	case tree.List:
		one.Kind = yaml.SequenceNode
	case tree.Text:
		one.Tag = "!!str"
	case tree.Null:
		one.Tag, one.Value = "!!null", "null"
	}
	for _, item := range n.Items {
		// A step of a policy and a fault are one line each, a client is a block.
		below := block && (length(item) > wide || child(item, "name") != nil || item.Key == "policies" || item.Key == "services" || item.Key == "clients" || item.Key == "steps")
		if n.Kind == tree.Map {
			one.Content = append(one.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: item.Key})
		}
		one.Content = append(one.Content, yamlNode(item, below))
	}
	if !block && len(n.Items) > 0 {
		one.Style = yaml.FlowStyle
	}
	return one
}

// length returns about how long a tree is on one line.
func length(n *tree.Node) int {
	sum := len(n.Key) + len(n.Text) + 2
	for _, item := range n.Items {
		sum += length(item) + 2
	}
	return sum
}

// indented returns a text with an indent in front of each line.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
