// Package edit changes single settings of a scenario's tree before it is read, so that
// sweeps and searches vary what a person has written.
//
// A path names a setting as errors do: clients[0].arrivals.poisson. An item of a list
// may be named by its name, and a step by its name or its mechanism: clients.web.arrivals.poisson,
// policies.vendor.steps.retry.attempts.
package edit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/tree"
)

// Setting is a path and its new value, as YAML or JSON.
type Setting struct{ Path, Value string }

// ParseSetting reads PATH=VALUE.
func ParseSetting(text string) (Setting, error) {
	path, value, ok := strings.Cut(text, "=")
	s := Setting{Path: strings.TrimSpace(path), Value: strings.TrimSpace(value)}
	if !ok || s.Path == "" || s.Value == "" {
		return s, fmt.Errorf("found %q; allowed: PATH=VALUE, as in clients.web.arrivals.poisson=200/s", text)
	}
	return s, nil
}

// Set changes one setting of a tree. Names that are not there are added, items of lists
// and a policy for one of its settings are not. What the value means is found out when the tree is read.
func Set(root *tree.Node, s Setting) error {
	value, errs := policy.Tree("value.yaml", []byte(s.Value))
	if value == nil || len(errs) > 0 {
		return fmt.Errorf("%s: found %q; allowed: a value in YAML or JSON", s.Path, s.Value)
	}
	names, err := split(s.Path)
	if err != nil {
		return err
	}
	node := root
	for i, name := range names {
		last := i == len(names)-1
		next := child(node, name)
		switch {
		case next == nil && (node.Kind != tree.Map || i == 1 && names[0] == "policies" && !last):
			return missing(s.Path, names[:i], name, node)
		case next == nil:
			next = &tree.Node{Kind: tree.Map, Key: name, Line: node.Line, Column: node.Column, KeyLine: node.KeyLine, KeyColumn: node.KeyColumn}
			node.Add(next)
		case !last && next.Kind != tree.Map && next.Kind != tree.List:
			return missing(s.Path, names[:i+1], names[i+1], next)
		}
		if last {
			replace(next, value)
			return nil
		}
		node = next
	}
	return nil
}

// replace gives a node another value in its place.
func replace(node, value *tree.Node) {
	node.Kind, node.Text, node.Items = value.Kind, value.Text, nil
	for _, item := range value.Items {
		node.Add(item)
	}
}

// split returns the names of a path: a.b[2].c is a, b, 2, c.
func split(path string) ([]string, error) {
	var names []string
	for _, part := range strings.Split(path, ".") {
		name, rest, indexed := strings.Cut(part, "[")
		if name == "" {
			return nil, fmt.Errorf("found the path %q; allowed: names with dots between them, as in clients[0].arrivals.poisson", path)
		}
		names = append(names, name)
		for indexed {
			var index string
			if index, rest, indexed = strings.Cut(rest, "]"); !indexed {
				return nil, fmt.Errorf("found the path %q; allowed: a bracket that ends", path)
			}
			names = append(names, index)
			_, rest, indexed = strings.Cut(rest, "[")
		}
	}
	return names, nil
}

// child returns an entry of a map, or an item of a list by its number, its name or its
// only key; nil where there is none.
func child(node *tree.Node, name string) *tree.Node {
	if node.Kind == tree.Map {
		for _, entry := range node.Items {
			if entry.Key == name {
				return entry
			}
		}
		return nil
	}
	if i, err := strconv.Atoi(name); err == nil && node.Kind == tree.List && i >= 0 && i < len(node.Items) {
		return node.Items[i]
	}
	for _, item := range node.Items {
		if nameOf(item) == name {
			return item
		}
		if only := only(item); only != nil && nameOf(only) == name {
			return only
		}
	}
	for _, item := range node.Items {
		if only := only(item); only != nil && only.Key == name {
			return only
		}
	}
	return nil
}

// nameOf returns the setting name of an item, empty for none.
func nameOf(item *tree.Node) string {
	if item.Kind != tree.Map {
		return ""
	}
	for _, entry := range item.Items {
		if entry.Key == "name" {
			return entry.Text
		}
	}
	return ""
}

// only returns the only entry of an item, as of a step; nil where it has others.
func only(item *tree.Node) *tree.Node {
	if item.Kind != tree.Map || len(item.Items) != 1 {
		return nil
	}
	return item.Items[0]
}

// missing says that there is no such name, and which there are.
func missing(path string, before []string, name string, node *tree.Node) error {
	var names []string
	for i, item := range node.Items {
		name := strconv.Itoa(i)
		switch {
		case node.Kind == tree.Map:
			name = item.Key
		case nameOf(item) != "":
			name = nameOf(item)
		case only(item) != nil:
			name = only(item).Key
		}
		names = append(names, name)
	}
	allowed := "no names below a single value"
	if len(names) > 0 {
		allowed = strings.Join(names, ", ")
	}
	return fmt.Errorf("%s: found no %s in %s; allowed: %s", path, name, strings.Join(before, "."), allowed)
}
