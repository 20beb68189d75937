package simtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/presets"
	"github.com/sluice-go/sluice/sim/scenario"
)

// Scenario is a scenario of a test, with its document.
type Scenario struct {
	name string
	// root is the document with its policy_file inside, so that it can be shrunken
	// and printed as a whole.
	root     *tree.Node
	scenario *sim.Scenario
}

// Load reads the scenario of a file, and the policy document that it names, as
// sim.Load does. A scenario with errors ends the test.
func Load(t testing.TB, file string) *Scenario {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	return read(t, file, src)
}

// Parse reads a scenario in YAML or JSON. Its policy_file is a name from the directory
// of the test. A scenario with errors ends the test.
func Parse(t testing.TB, text string) *Scenario {
	t.Helper()
	return read(t, "scenario", []byte(text))
}

// Preset returns a scenario of package presets, as retry-storm. An unknown name ends the
// test.
func Preset(t testing.TB, name string) *Scenario {
	t.Helper()
	src, err := presets.Open(name)
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	return read(t, name+".yaml", src)
}

func read(t testing.TB, file string, src []byte) *Scenario {
	t.Helper()
	root, before := policy.Tree(file, src)
	if root == nil {
		t.Fatalf("simtest: %v", before)
	}
	s, err := scenario.Read(file, root, before, sim.Beside(file))
	if err != nil {
		t.Fatalf("simtest: %v", err)
	}
	return &Scenario{name: file, root: whole(root, file), scenario: s}
}

// whole returns the tree of a valid scenario with the policies of its policy_file
// in place of the file's name.
func whole(root *tree.Node, file string) *tree.Node {
	name := child(root, "policy_file")
	if name == nil {
		return root
	}
	path := name.Text
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return root // it was there a moment ago: the scenario stays as it is
	}
	other, _ := policy.Tree(path, src)
	all := copyWithout(child(other, "policies"), nil)
	if own := child(root, "policies"); own != nil {
		for _, one := range own.Items {
			all.Add(copyWithout(one, nil))
		}
	}
	inside := &tree.Node{Kind: tree.Map}
	for _, item := range root.Items {
		switch item.Key {
		case "policies":
		case "policy_file":
			inside.Add(all)
		default:
			inside.Add(copyWithout(item, nil))
		}
	}
	return inside
}

// reread returns the scenario of a changed tree, nil where it is not valid.
func reread(root *tree.Node) *sim.Scenario {
	noFile := func(string) ([]document.Policy, error) { return nil, os.ErrNotExist }
	s, err := scenario.Read("", root, nil, noFile)
	if err != nil {
		return nil
	}
	return s
}
